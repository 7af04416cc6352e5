package dogwood

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/dogwooddb/dogwood/sync/wire"
)

// Errors that callers decide on. Those of a server come as an *Error.
var (
	ErrPermissionDenied = errors.New("permission denied")             // the rules refused the operation
	ErrStale            = errors.New("the value has changed")         // SetIf and Create: it is not what it should be
	ErrConflict         = errors.New("taken")                         // declared data: another node has a place that is unique, such as a login name
	ErrMaxRetries       = errors.New("too many concurrent changes")   // Transaction gave up
	ErrTooBig           = errors.New("too big")                       // above a limit of the server, or Options.MaxMessage
	ErrInvalid          = errors.New("invalid parameters")            // the server does not understand the path or value
	ErrUnauthorized     = errors.New("invalid or expired token")      // the server refused the credential
	ErrUnavailable      = errors.New("the server is not available")   // try again later
	ErrDisconnected     = errors.New("the connection was lost")       // it is not known whether the operation was carried out
	ErrNoDatabase       = errors.New("no such database")              // the server does not have it
	ErrShutdown         = errors.New("the server ended the client")   // for good; the text says why
	ErrUnsupported      = errors.New("not supported by the server")   // an extension that it does not have
	ErrNotReturned      = errors.New("done, but not returned")        // SetReturning and so on: it is not known what became of the values
	ErrClosed           = errors.New("the client is closed")          // by Close
	ErrPath             = errors.New("invalid path")                  // it has keys that no database can have, or too many; or is that of a zero Ref
	ErrQuery            = errors.New("invalid query")                 // it cannot be answered as it is
	ErrValue            = errors.New("value can't be stored or read") // it does not fit the data model or the Go type
)

// An Error is what a server answered to an operation, or why there is no answer.
type Error struct {
	Op     string // what was tried: "set", "listen"
	Path   string // where: "/rooms/r1"
	Status string // in the protocol's words: "permission_denied"
	Text   string // what the server said about it
	Rule   string // that refused it: "/rooms/$room/.write"; only servers for development tell

	// Definition of declared data that refused a write: "logins"; "" for none.
	Definition string

	cause error
}

// Error says what was tried and how it went: "set /rooms/r1: permission denied:
// the text of the server".
func (e *Error) Error() string {
	s := e.Op
	if e.Path != "" {
		s += " " + e.Path
	}
	switch {
	case e.cause != nil:
		s += ": " + e.cause.Error()
	default:
		s += ": " + e.Status
	}
	if text := e.news(); text != "" {
		s += ": " + text
	}
	if e.Rule != "" {
		s += " (" + e.Rule + ")"
	}
	if e.Definition != "" && !strings.Contains(s, strconv.Quote(e.Definition)) {
		s += " (by the definition " + strconv.Quote(e.Definition) + ")"
	}
	return s
}

// news is the text without what the class of the error says already.
func (e *Error) news() string {
	if e.Text == e.Status {
		return ""
	}
	if e.cause == nil {
		return e.Text
	}
	n := len(e.cause.Error())
	if len(e.Text) < n || !strings.EqualFold(e.Text[:n], e.cause.Error()) {
		return e.Text
	}
	return strings.TrimPrefix(e.Text[n:], ": ")
}

// Unwrap returns the class of the error, such as ErrPermissionDenied.
func (e *Error) Unwrap() error { return e.cause }

// classes are the errors that statuses stand for (protocol §13).
var classes = map[string]error{
	wire.StatusPermissionDenied:  ErrPermissionDenied,
	wire.StatusDataStale:         ErrStale,
	wire.StatusTooBig:            ErrTooBig,
	wire.StatusConflict:          ErrConflict,
	wire.StatusInvalidParameters: ErrInvalid,
	wire.StatusInvalidToken:      ErrUnauthorized,
	wire.StatusExpiredToken:      ErrUnauthorized,
	wire.StatusUnavailable:       ErrUnavailable,
	statusUnsupported:            ErrUnsupported,
}

// statusUnsupported is the status that this side gives to what a server lacks.
const statusUnsupported = "unsupported"

// refusal returns the error of a response that is not ok.
func refusal(op, path string, m wire.ServerMessage) *Error {
	e := &Error{Op: op, Path: path, Status: m.Status, Text: textOf(m.Data), cause: classes[m.Status]}
	if m.Rule != nil {
		e.Rule = textOf(m.Rule)
	}
	if m.Definition != nil {
		e.Definition = textOf(m.Definition)
	}
	return e
}

// textOf returns the text of raw JSON that should be a string.
func textOf(raw []byte) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return string(raw)
	}
	return text
}

// failed wraps an error of this side with what was tried.
func failed(op, path string, err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &Error{Op: op, Path: path, cause: err}
}

// failed wraps an error of this side with what was tried at the query's place.
func (q Query) failed(op string, err error) error {
	if errors.Is(q.err, ErrPath) {
		return failed(op, "", err) // which says what the path was
	}
	return failed(op, q.path.String(), err)
}

// A lateError is the end of a context, and why there was no connection when it came.
type lateError struct {
	error   // of the context
	failure error
}

func (e *lateError) Error() string {
	return e.error.Error() + ", without a connection: " + e.failure.Error()
}

func (e *lateError) Unwrap() error { return e.error }

// Is lets callers ask for the failure too. It is not unwrapped: an *Error in it was for
// connecting, not for what has failed now.
func (e *lateError) Is(target error) bool { return errors.Is(e.failure, target) }

// late returns the error of a context that has ended.
func (c *Client) late(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link != nil || c.offline || c.failure == nil {
		return ctx.Err()
	}
	return &lateError{ctx.Err(), c.failure}
}

// errAnswer is the error of an answer that is none to what was asked.
var errAnswer = fmt.Errorf("%w: its answer cannot be read", ErrUnavailable)

// errNoClient is the error of a zero Ref or Query, and of those of a nil Client.
var errNoClient = fmt.Errorf("%w: a zero Ref or Query belongs to no client", ErrPath)

func invalidValue(err error) error { return fmt.Errorf("%w: %w", ErrValue, err) }
