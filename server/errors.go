package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/dogwooddb/dogwood/server/peer"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree"
)

// A statusError is an answer that is not a success: what the client is told.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

// A detailedError adds to an answer what people need and no client compares.
// Texts that clients compare must stay as they are; the detail may be worded
// anew at any time.
type detailedError struct {
	error
	detail string
}

func (e *detailedError) Unwrap() error { return e.error }

func badRequest(text string) error { return &statusError{http.StatusBadRequest, text} }

// Errors of namespaces (REST §1.2).
var (
	errNoNamespace       = errors.New("no such namespace")
	errBadNamespace      = errors.New("not the name of a database, which has at most 63 small letters, digits and hyphens, and no hyphen first")
	errDeactivated       = errors.New("the namespace is deactivated")
	errTooManyNamespaces = errors.New("too many namespaces")
	errBeingDropped      = fmt.Errorf("%w: it is being dropped", errNoNamespace)
	errDropped           = &statusError{http.StatusNotFound, textDropped} // during a read
	errExists            = &statusError{http.StatusConflict, "There is a database of this name."}
)

// Texts that clients and tests compare (REST §6 and §8).
const (
	textDenied        = "Permission denied"
	textUnauthorized  = "Unauthorized request."
	textBadToken      = "Could not parse auth token."
	textExpiredToken  = "Auth token is expired"
	textMissingKid    = "Missing claim 'kid' in auth header."
	textUnknownKid    = "Invalid claim 'kid' in auth header."
	textBadPath       = "Invalid path: Invalid token in path"
	textTooDeep       = "Path exceeds the maximum depth (32)"
	textNoData        = "Error: No data supplied."
	textBadJSON       = "Invalid data; couldn't parse JSON object, array, or value."
	textBadObject     = "Invalid data; couldn't parse JSON object. Are you sending a JSON object with valid key names?"
	textBadKey        = "Invalid data; couldn't parse key beginning at %d:%d. Key value can't be empty or contain $ # [ ] / or ."
	textReadTooBig    = "Data requested exceeds the maximum size that can be accessed with a single request."
	textWriteTooBig   = "Data to write exceeds the maximum size that can be modified with a single request."
	textRulesTooBig   = "1:1: Rules are larger than 1 MiB.\n"
	textPayloadTooBig = "The specified payload is too large, please request a location with less data."
	textNotFound      = "404 Not Found"
	textDamaged       = "The stored data are damaged here; see the log of the server."
	textInternal      = "Internal server error."
	textUnavailable   = "The service is temporarily unavailable."
	textUnknown       = "The disk failed. It is unknown whether the write was stored: read before you write again."
	textTimeout       = "The request did not finish within its timeout."
	textTooCostly     = "The body takes more memory than the server has for one write."
	textDropped       = "The database was dropped."
	textRange         = "readable=true has no startAt, startAfter, endAt, endBefore or equalTo where the node itself may not be read."
	textTooMany       = "Too many requests from this address."
)

var (
	errUnauthorized = &statusError{http.StatusUnauthorized, textUnauthorized}
	errBadToken     = &statusError{http.StatusUnauthorized, textBadToken}
	errExpiredToken = &statusError{http.StatusUnauthorized, textExpiredToken}
	errMissingKid   = &statusError{http.StatusUnauthorized, textMissingKid}
	errUnknownKid   = &statusError{http.StatusUnauthorized, textUnknownKid}
	errNotFound     = &statusError{http.StatusNotFound, textNotFound}
	errMethod       = &statusError{http.StatusMethodNotAllowed, "Method Not Allowed"}
	errURLTooLong   = &statusError{http.StatusRequestURITooLong, "URI Too Long"}
	errCoding       = &statusError{http.StatusUnsupportedMediaType, "Content-Encoding must be gzip or identity"}
	errCostly       = &statusError{http.StatusRequestEntityTooLarge, textTooCostly}
	errOverloaded   = &statusError{http.StatusServiceUnavailable, textUnavailable}
)

// statusOf is the one table from errors to what REST answers (REST §8). An
// error that is not in it is ours, and its text stays here.
//
// It is a table and not a method of the errors, so that packages below know
// nothing of HTTP, and so that one place shows what clients can be told. The
// order matters where an error wraps another one.
func (q *request) statusOf(err error) *statusError {
	if known := typedStatusOf(err); known != nil {
		return known
	}
	for _, row := range []struct {
		err    error
		status int
		text   string
	}{
		{peer.ErrTooMany, http.StatusTooManyRequests, textTooMany},
		{fault.ErrDenied, http.StatusUnauthorized, textDenied},
		{dsync.ErrRulesChanged, http.StatusPreconditionFailed, "The rules have changed."},
		{declared.ErrChanged, http.StatusPreconditionFailed, "The data document has changed."},
		{dsync.ErrNoDefinition, http.StatusNotFound, "There is no such definition."},
		{versions.ErrNoDataVersion, http.StatusNotFound, "There is no such version of the data document."},
		{versions.ErrNoVersion, http.StatusNotFound, "There is no such version of the rules."},
		{dsync.ErrRange, http.StatusBadRequest, textRange},
		{fault.ErrTooBig, http.StatusBadRequest, tooBigText(q.method)},
		{fault.ErrLimit, http.StatusServiceUnavailable, textUnavailable},
		{fault.ErrDamaged, http.StatusInternalServerError, textDamaged},
		{fault.ErrBusy, http.StatusServiceUnavailable, textUnavailable},
		{fault.ErrReadOnly, http.StatusServiceUnavailable, "The database is read-only."},
		{fault.ErrUnknown, http.StatusServiceUnavailable, textUnknown},
		{fault.ErrFailed, http.StatusServiceUnavailable, textUnavailable},
		{fault.ErrUnavailable, http.StatusServiceUnavailable, textUnavailable},
		{fault.ErrClosed, http.StatusServiceUnavailable, textUnavailable},
		{tree.ErrInvalidPath, http.StatusBadRequest, textBadPath},
		{tree.ErrTooDeep, http.StatusBadRequest, textTooDeep},
		{tree.ErrIncrement, http.StatusBadRequest, "Invalid data; increment leaves the range of a number"},
		{tree.ErrPriority, http.StatusBadRequest, "Invalid data; " + tree.ErrPriority.Error()},
		{errNoNamespace, http.StatusNotFound, textNotFound},
		{errBadNamespace, http.StatusBadRequest, "Invalid namespace"},
		{errDeactivated, http.StatusLocked, fmt.Sprintf("The Firebase database '%s' has been deactivated.", q.ns)},
		{errTooManyNamespaces, http.StatusServiceUnavailable, "Too many databases."},
		{os.ErrDeadlineExceeded, http.StatusRequestTimeout, "The request body did not arrive in time."},
		{context.DeadlineExceeded, http.StatusBadRequest, textTimeout},
	} {
		if errors.Is(err, row.err) {
			return &statusError{row.status, row.text}
		}
	}
	if e := (*http.MaxBytesError)(nil); errors.As(err, &e) {
		return &statusError{http.StatusRequestEntityTooLarge, textPayloadTooBig}
	}
	return &statusError{http.StatusInternalServerError, textInternal}
}

// typedStatusOf returns the answer to an error that says more than its kind, nil for others.
func typedStatusOf(err error) *statusError {
	var known *statusError
	if errors.As(err, &known) {
		return known
	}
	if e := (*tree.ParseError)(nil); errors.As(err, &e) {
		return &statusError{http.StatusBadRequest, parseErrorText(e)}
	}
	if e := (*tree.LooksError)(nil); errors.As(err, &e) {
		return &statusError{http.StatusBadRequest, e.Error()}
	}
	if e := (*fault.UnboundedError)(nil); errors.As(err, &e) {
		return &statusError{http.StatusBadRequest, e.Error()}
	}
	if e := (*fault.TakenError)(nil); errors.As(err, &e) {
		return &statusError{http.StatusConflict, e.Text}
	}
	if e := (*fault.NoIndexError)(nil); errors.As(err, &e) {
		return &statusError{http.StatusBadRequest, e.Error()}
	}
	return nil
}

func tooBigText(method string) string {
	if method == http.MethodGet || method == http.MethodHead {
		return textReadTooBig
	}
	return textWriteTooBig
}

func parseErrorText(e *tree.ParseError) string {
	switch e.Kind {
	case tree.BadKey, tree.LongKey:
		return fmt.Sprintf(textBadKey, e.Line, e.Col)
	case tree.BadObject:
		return textBadObject
	case tree.BadServerValue:
		return "Invalid data; unrecognized server value"
	case tree.TooDeep:
		return textTooDeep
	case tree.BadPriority, tree.BadValue, tree.BadUpdatePath, tree.TooLong:
		return "Invalid data; " + e.Msg
	}
	return textBadJSON
}
