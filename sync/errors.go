package sync

import (
	"errors"

	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// Errors that callers decide on.
var (
	ErrDenied = errors.New("permission denied")           // the rules refused the operation
	ErrClosed = errors.New("the database is closed")      // it is shutting down
	ErrTooBig = errors.New("data exceeds a size limit")   // a read or write above the limits
	ErrBusy   = errors.New("too much is written at once") // try again later
	ErrLimit  = errors.New("too many listens or pending operations on this connection")
)

// A StaleError says that the condition of a conditional write did not hold.
type StaleError struct{ Current tree.Node }

func (e *StaleError) Error() string { return "the value has changed" }

// A NoIndexError says that a one-shot query needs an index that the rules do
// not declare (wire protocol §5.2).
type NoIndexError struct {
	Path  tree.Path
	Order string
}

func (e *NoIndexError) Error() string {
	return wire.TextNoIndex(e.Order, e.Path.String())
}
