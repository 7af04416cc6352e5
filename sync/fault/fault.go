// Package fault has the errors that operations on a database end with, and what the
// realtime protocol says about each of them. Callers decide on the sentinels with errors.Is,
// and on the types with errors.As. The cause of a StorageError or a PanicError costs
// the transaction that it happened in; every other error is a refusal, which changed nothing.
package fault

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Errors that callers decide on.
var (
	ErrDenied = errors.New("permission denied")           // the rules refused the operation
	ErrClosed = errors.New("the database is closed")      // it is shutting down
	ErrTooBig = errors.New("data exceeds a size limit")   // a read or write above the limits
	ErrLong   = errors.New("the read takes long")         // and had to be brief
	ErrBusy   = errors.New("too much is written at once") // try again later
	ErrLimit  = errors.New("too many listens or pending operations on this connection")
)

// ErrContended is the ErrBusy of a large write whose data others changed each time that it was decided.
var ErrContended = fmt.Errorf("%w: %s", ErrBusy, contended)

const contended = "other writes changed each time what this large one depends on; try again, or write in smaller parts"

// ErrFailed is returned for all that asks for the database's data after a commit with
// an unknown outcome, until the file is as it was before that commit.
var ErrFailed = store.ErrFailed

// A StaleError says that the condition of a conditional write did not hold.
type StaleError struct {
	Current tree.Node // the value; of a Write as it was when the write failed, or later

	Known bool // Current was read
}

func (e *StaleError) Error() string { return "the value has changed" }

// A NoIndexError says that a one-shot query needs an index that the rules do
// not declare (protocol §5.2).
type NoIndexError struct {
	Path  tree.Path
	Order string
}

func (e *NoIndexError) Error() string {
	return wire.TextNoIndex(e.Order, e.Path.String())
}

// ErrUnavailable is returned for writes that could not be made durable.
var ErrUnavailable = errors.New("the write could not be stored")

// ErrReadOnly is wrapped by ErrUnavailable for writes to a database whose file
// system is read-only.
var ErrReadOnly = store.ErrReadOnly

// ErrDocument is the class of DocumentError.
var ErrDocument = errors.New("this version of Dogwood refuses the data document")

// A DocumentError is the ErrUnavailable of a write that may meet what a data document is about that this
// version of Dogwood refuses.
type DocumentError struct{ Text string }

// Error says what administrators can do.
func (e *DocumentError) Error() string { return e.Text }

// Is reports whether err is a class of e.
func (e *DocumentError) Is(err error) bool { return err == ErrDocument || err == ErrUnavailable }

// ErrUnknown is returned for writes of which it cannot be told whether they are on
// disk: a sync failed, and what it was for could not be taken back. A restart finds
// all writes of the batch or none.
var ErrUnknown = errors.New("it is unknown whether the write was stored")

// ErrDamaged is returned for what is damaged in the file.
var ErrDamaged = store.ErrDamaged

// ErrNoFile is returned for a backup of a database that is kept in memory.
var ErrNoFile = store.ErrNoFile

// ErrQuery is the class of errors of query objects.
var ErrQuery = errors.New("invalid query")

// ErrMalformed is the class of errors of requests that lack what they need.
var ErrMalformed = errors.New("malformed request")

// ErrOnlyIf is the error of an operation inside of what is left for a disconnect
// under another condition: both can't be one write.
var ErrOnlyIf = errors.New("what is left for the disconnect above has another condition")

// A Bound is one that clients of the realtime protocol may reach, for counters
// of how often that happens.
type Bound uint8

// The bounds: those of one session, those of a Quota, and those of a database.
const (
	BoundListens Bound = iota
	BoundWindows
	BoundPending
	BoundWrites // the next write waits until others are done
	BoundQuotaListens
	BoundQuotaWindows
	BoundQuotaPending
	BoundPathWindows
	BoundValues // of one write
	BoundPaths  // of one update
	BoundMemory // that one write takes

	BoundCommonPending // of all sessions of a server
	BoundQuotaKept     // of what windows keep in memory
	BoundCommonListens // of all sessions of a server
)

// A LimitError says which bound an operation would exceed.
type LimitError struct {
	Bound Bound

	// Of the size of one write:
	Most  int64
	Given int64 // 0: it was not counted to its end
}

func (e *LimitError) Error() string {
	switch e.Bound {
	case BoundValues, BoundPaths, BoundMemory:
		return TextWriteTooBig
	case BoundListens, BoundPending:
		return ErrLimit.Error()
	case BoundWindows:
		return "too many queries at this path on this connection"
	case BoundQuotaListens, BoundQuotaPending:
		return "too many listens or pending operations from this address"
	case BoundCommonPending:
		return "the server has no room for more onDisconnect operations now; try again later"
	case BoundCommonListens:
		return "the server has no room for more listens now; try again later"
	case BoundQuotaKept:
		return "the queries from this address have too many long keys and values in their windows"
	case BoundQuotaWindows:
		return "too many different queries at this path from this address"
	}
	return "too many different queries at this path"
}

// detail names the bound of the size of one write: how much it is, and what was given.
func (e *LimitError) detail() string {
	what := map[Bound]string{
		BoundValues: "one write has at most %d values",
		BoundPaths:  "one update has at most %d paths",
		BoundMemory: "one write takes at most %d bytes of memory while it is carried out",
	}[e.Bound]
	if what == "" || e.Most == 0 {
		return ""
	}
	return withGiven(fmt.Sprintf(what, e.Most), e.Given)
}

func withGiven(bound string, given int64) string {
	if given == 0 {
		return bound
	}
	return fmt.Sprintf("%s, and this has %d", bound, given)
}

// MostRead is what the bound of one read, in bytes, becomes with much memory.
const MostRead = 256 << 20

// A ReadLimitError is the ErrTooBig of a read or a listen, with the bound.
type ReadLimitError struct{ Most int64 } // in bytes

// Error names the bound. It is short enough for a frame that closes a WebSocket.
func (e *ReadLimitError) Error() string { return ErrTooBig.Error() + ": " + e.bound() }

func (e *ReadLimitError) bound() string { return fmt.Sprintf("one read has at most %d bytes", e.Most) }

// detail names the bound and what can be done: not more memory if that would not raise it.
func (e *ReadLimitError) detail() string {
	text := e.bound() + "; read parts of it, such as with limitToFirst or limitToLast"
	if e.Most < MostRead {
		text += ", or give the server more memory"
	}
	return text
}

// Unwrap returns ErrTooBig.
func (e *ReadLimitError) Unwrap() error { return ErrTooBig }

// Detail returns what an error can say beyond the text that clients compare: which limit it
// is about, how much that is, and what was given if that is known. "" is nothing.
func Detail(err error) string {
	if limit := (*LimitError)(nil); errors.As(err, &limit) {
		return limit.detail()
	}
	if read := (*ReadLimitError)(nil); errors.As(err, &read) {
		return read.detail()
	}
	if follows := (*FollowsError)(nil); errors.As(err, &follows) {
		return follows.Text
	}
	if document := (*DocumentError)(nil); errors.As(err, &document) {
		return document.Text
	}
	if errors.Is(err, ErrContended) {
		return contended
	}
	if long := (*tree.LongKeyError)(nil); errors.As(err, &long) {
		return long.Error()
	}
	if parse := (*tree.ParseError)(nil); errors.As(err, &parse) && parse.Kind == tree.LongKey {
		return parse.Msg
	}
	return ""
}

// Is reports whether err is the class of e: ErrTooBig for the size of one write, which
// will not do later either, and ErrLimit for all others.
func (e *LimitError) Is(err error) bool {
	if e.Bound == BoundValues || e.Bound == BoundPaths || e.Bound == BoundMemory {
		return err == ErrTooBig
	}
	return err == ErrLimit
}

// A DeniedError is an ErrDenied that tells the client the reason.
type DeniedError struct {
	Detail string
	Rule   string // that decided, such as "/rooms/$room/.write"; "" for none

	Definition string // of declared data, that refused a write; "" for none
}

// Error returns the text of ErrDenied and the reason.
func (e *DeniedError) Error() string { return ErrDenied.Error() + ": " + e.Detail }

// Unwrap returns ErrDenied.
func (e *DeniedError) Unwrap() error { return ErrDenied }

// Denied returns the error of an operation that a rule denied.
func Denied(rule, detail string) error {
	if detail == "" {
		return ErrDenied
	}
	return &DeniedError{Detail: detail, Rule: rule}
}

// Definition returns the name of the definition of declared data that refused a write, "" for
// an error that is of none.
func Definition(err error) string {
	if denied := (*DeniedError)(nil); errors.As(err, &denied) {
		return denied.Definition
	}
	if taken := (*TakenError)(nil); errors.As(err, &taken) {
		return taken.Definition
	}
	if follows := (*FollowsError)(nil); errors.As(err, &follows) {
		return follows.Definition
	}
	return ""
}

// A TakenError says that two source nodes of declared data would have one place.
type TakenError struct{ Text, Definition string }

// Error says which place is taken.
func (e *TakenError) Error() string { return e.Text }

// A FollowsError is the ErrTooBig of a write from which too much would follow by declared data.
type FollowsError struct{ Text, Definition string }

// Error says how much would follow, and what can be done.
func (e *FollowsError) Error() string { return e.Text }

// Unwrap returns ErrTooBig.
func (e *FollowsError) Unwrap() error { return ErrTooBig }

// An UnboundedError says that a read would show more children of a node than its
// .limit in the rules allows. It is never answered with a part of them.
type UnboundedError struct{ *rules.Excess }

// Error says what is wrong with the read and what would be allowed.
func (e *UnboundedError) Error() string { return e.Excess.String() }

// Unwrap returns ErrTooBig.
func (e *UnboundedError) Unwrap() error { return ErrTooBig }

// A TooManyError says that a request exceeds one of the bounds of what it may
// name.
type TooManyError struct {
	Request string // "a batch get"
	What    string // "entries", "keys"
	Max     int
}

func (e *TooManyError) Error() string {
	return fmt.Sprintf("%s may have at most %d %s", e.Request, e.Max, e.What)
}

// A TokenError is the refusal of a credential, in the words of the protocol.
type TokenError struct{ Status, Text string }

func (e *TokenError) Error() string { return e.Text }

// A StorageError is a failure of the store. The transaction is lost with it.
type StorageError struct{ err error }

func (e *StorageError) Error() string { return "storage: " + e.err.Error() }

func (e *StorageError) Unwrap() error { return e.err }

// Broken marks an error of apply as a failure of the store, not a refusal.
func Broken(err error) error {
	if err == nil {
		return nil
	}
	return &StorageError{err}
}

// IsBroken reports whether an error of apply costs the transaction.
func IsBroken(err error) bool {
	if err == nil {
		return false
	}
	var storage *StorageError
	var panicked *PanicError
	return errors.As(err, &storage) || errors.As(err, &panicked)
}

// A PanicError is a panic that was turned into an error: a fault of ours, or of
// what we call, that must not take the database down with it.
type PanicError struct {
	Value any
	stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.stack) }

// Guard calls f and turns a panic into a *panicError.
func Guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{v, debug.Stack()}
		}
	}()
	return f()
}

// Unavailable is what a task fails with when err happened to it. A panic is
// no hint to try again, so it stays what it is.
func Unavailable(err error) error {
	if p := (*PanicError)(nil); errors.As(err, &p) {
		return err
	}
	if errors.Is(err, store.ErrUnknown) {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
