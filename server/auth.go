package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/server/auth"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// This file passes credentials to package auth. It turns the answers into those
// that clients know (REST §6, protocol §9).

// newAuthority returns what decides about credentials.
func newAuthority(o Options) (*auth.Authority, error) {
	a := o.Auth
	a.Secrets = allSecrets(o.AdminSecrets, a.Secrets)
	a.Dev, a.DataDir, a.Now, a.Log = o.Dev, o.Dir, o.Now, o.Log
	return auth.New(a)
}

func allSecrets(admin []string, others []Secret) (all []auth.Secret) {
	for _, s := range admin {
		all = append(all, auth.Secret{Value: s})
	}
	return append(all, others...)
}

// SetSecrets replaces Options.AdminSecrets and Options.Auth.Secrets for credentials that
// come later. Connections that are signed in stay so.
func (s *Server) SetSecrets(admin []string, others []Secret) {
	s.auth.SetSecrets(allSecrets(admin, others))
}

// ReloadKeys reads the key sets of ID tokens in files again (see auth.Authority).
func (s *Server) ReloadKeys() map[string]error { return s.auth.ReloadKeys() }

// An identity is a caller with the credential that made it one.
type identity struct {
	dsync.Caller
	credential auth.Identity
}

// identify returns on whose behalf a request is made, in a namespace or, with "", for the
// server as a whole. The first kind of credential that is present decides. One that is
// not acceptable is an error even where the rules would let anybody in (REST §6). It must
// not fall back to a caller without a credential: a client with a mistyped token would be
// served other data than it expects, instead of being told.
func (s *Server) identify(h http.Header, ps params, ns string) (identity, error) {
	id, err := s.credential(h, ps, ns, s.credentials.Add)
	if err != nil {
		return identity{}, err
	}
	caller := callerOf(id)
	if override, ok := ps.get("auth_variable_override"); ok {
		if !id.Admin {
			return identity{}, errUnauthorized
		}
		if caller, ok = overridden(override); !ok {
			return identity{}, badRequest("auth_variable_override must be a JSON object or null")
		}
	}
	return identity{caller, id}, nil
}

// credential decides the credential of a request, and calls refused for one that is not
// acceptable.
func (s *Server) credential(h http.Header, ps params, ns string, refused func(ns, text string, why error)) (auth.Identity, error) {
	bearer := bearerToken(h)
	if token, _ := ps.get("access_token"); bearer == "" {
		bearer = token
	}
	if bearer != "" {
		id, err := s.auth.Bearer(ns, bearer)
		if err != nil {
			refused(ns, bearer, err)
			if errors.Is(err, auth.ErrUnavailable) {
				return auth.Identity{}, errOverloaded
			}
			if strings.Count(bearer, ".") == 2 {
				return auth.Identity{}, &detailedError{errUnauthorized, detailBearer}
			}
			return auth.Identity{}, errUnauthorized
		}
		return id, nil
	}
	token, _ := ps.get("auth")
	if token == "" {
		return auth.Identity{}, nil
	}
	id, err := s.auth.Token(ns, token)
	if err != nil {
		refused(ns, token, err)
	}
	return id, restTokenError(err)
}

// Details of refused credentials: which kind of token is accepted where.
const (
	detailBearer   = "a Bearer credential is the secret or an access token of an administrator; the token of a user goes into auth="
	detailUnsigned = "it is not signed, and only dogwood dev accepts such tokens"
)

// restTokenError returns what REST answers to a token that is not acceptable.
func restTokenError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, auth.ErrExpired):
		return errExpiredToken
	case errors.Is(err, auth.ErrMissingKid):
		return errMissingKid
	case errors.Is(err, auth.ErrUnknownKid):
		return errUnknownKid
	case errors.Is(err, auth.ErrUnsigned):
		return &detailedError{errBadToken, detailUnsigned}
	case errors.Is(err, auth.ErrUnavailable):
		return errOverloaded
	}
	return errBadToken
}

// wireTokenError is restTokenError for the realtime protocol, whose text for
// expired tokens ends with a full stop.
func wireTokenError(err error) *fault.TokenError {
	switch {
	case errors.Is(err, auth.ErrExpired):
		return &fault.TokenError{Status: wire.StatusExpiredToken, Text: wire.TextExpiredToken}
	case errors.Is(err, auth.ErrUnavailable):
		return &fault.TokenError{Status: wire.StatusUnavailable, Text: textUnavailable}
	}
	text := restTokenError(err).Error()
	if errors.Is(err, auth.ErrUnsigned) {
		text += " (" + detailUnsigned + ")"
	}
	return &fault.TokenError{Status: wire.StatusInvalidToken, Text: text}
}

func bearerToken(h http.Header) string {
	scheme, token, _ := strings.Cut(h.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// callerOf returns the caller that the rules decide about.
func callerOf(id auth.Identity) dsync.Caller {
	if id.Admin {
		return dsync.Admin
	}
	if id.Auth == nil {
		return dsync.Caller{}
	}
	return dsync.Caller{Auth: authOf(id.Auth)}
}

// overridden returns the caller that an administrator wants to act as: auth is
// the given JSON object, or null. The rules apply to it.
func overridden(variable string) (c dsync.Caller, ok bool) {
	if strings.TrimSpace(variable) == "null" {
		return dsync.Caller{}, true
	}
	vars, ok := auth.ParseClaims([]byte(variable))
	if !ok {
		return dsync.Caller{}, false
	}
	return dsync.Caller{Auth: authOf(vars)}, true
}

// authOf returns the auth variable that consists of the given members.
func authOf(vars auth.Claims) rules.Auth {
	return rules.NewAuth(vars.JSON())
}

// signIn decides a credential that came over the realtime protocol
// (protocol §9). A refusal is a *fault.TokenError.
func (s *Server) signIn(ns string, c dsync.Credential) (id identity, err error) {
	if c.Admin {
		id.credential, err = s.auth.Bearer(ns, c.Token)
	} else {
		id.credential, err = s.auth.Token(ns, c.Token)
	}
	if err != nil {
		s.credentials.Add(ns, c.Token, err)
		return identity{}, wireTokenError(err)
	}
	if !c.NoAuth && c.AuthVar == "" {
		id.Caller = callerOf(id.credential)
		return id, nil
	}
	override := c.AuthVar
	if c.NoAuth {
		override = "null"
	}
	// An override that is refused anyway is not parsed: that takes many times the memory of its text.
	ok := id.credential.Admin && len(override) <= auth.MaxTokenBytes
	if ok {
		id.Caller, ok = overridden(override)
	}
	if !ok {
		return identity{}, &fault.TokenError{Status: wire.StatusPermissionDenied, Text: wire.TextPermissionDenied}
	}
	return id, nil
}

// data returns what a client is told about its own sign-in.
func (id identity) data() string {
	auth := "null"
	if !id.Auth.IsNull() {
		auth = id.Auth.JSON
	}
	data := `{"auth":` + auth
	if exp, ok := id.credential.Claims["exp"].(json.Number); ok {
		if _, err := strconv.ParseInt(exp.String(), 10, 64); err == nil {
			data += `,"expires":` + exp.String()
		}
	}
	return data + "}"
}
