package auth

import (
	"errors"
	"fmt"
)

// Errors of credentials. They say what a client may be told, and no more.
var (
	ErrInvalid    = errors.New("invalid credential")                      // unreadable, forged, or for another audience
	ErrExpired    = errors.New("the credential is no longer valid")       // it was: it has expired or was revoked
	ErrMissingKid = errors.New("the token does not name its key")         // no kid in the header
	ErrRevoked    = fmt.Errorf("%w: it was revoked", ErrExpired)          // clients are not told which
	ErrUnsigned   = fmt.Errorf("%w: the token is not signed", ErrInvalid) // its alg is none
	ErrUnknownKid = errors.New("the token names a key that is not known") // its kid is in no key set

	// ErrUnavailable is no refusal: files of ours cannot be read now.
	ErrUnavailable = errors.New("the credential cannot be decided now")
)

// A refusal is an ErrInvalid with the reason for the log. Each place that refuses a credential
// says why, so that the log cannot say anything else than what was decided. Clients are told
// the class alone. A client that learns why its token is refused could improve it; an
// administrator has to know.
type refusal struct{ reason string }

func (r *refusal) Error() string { return ErrInvalid.Error() }
func (r *refusal) Unwrap() error { return ErrInvalid }

// invalid returns a refusal.
func invalid(reason string) error { return &refusal{reason} }

// Errors of the commands that manage accounts and tokens.
var (
	ErrName    = errors.New("not a name of letters a-z, digits and hyphens, of at most 30")
	ErrExists  = errors.New("there is one of this name already")
	ErrNoSuch  = errors.New("there is none of this name")
	ErrNoClaim = errors.New("not a JSON object of claims")
)
