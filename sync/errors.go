package sync

import (
	"errors"

	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Errors that callers decide on.
var (
	ErrDenied = errors.New("permission denied")           // the rules refused the operation
	ErrClosed = errors.New("the database is closed")      // it is shutting down
	ErrTooBig = errors.New("data exceeds a size limit")   // a read or write above the limits
	ErrBusy   = errors.New("too much is written at once") // try again later
	ErrLimit  = errors.New("too many listens or pending operations on this connection")
)

// ErrFailed is returned for all that asks for the database's data after a commit with
// an unknown outcome, until the file is as it was before that commit.
var ErrFailed = store.ErrFailed

// A StaleError says that the condition of a conditional write did not hold.
type StaleError struct {
	Current tree.Node // the value; of a Write as it was when the write failed, or later

	known bool // Current was read
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
