package audience

import (
	"errors"

	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// The committer works out the events of a write as long as that takes few rows. The
// listeners of all other views that see the write lag: their views are read again when it
// is their turn to be sent, on a snapshot, as after an import.

const (
	// MaxPublishRows is how many rows one write may read for its listeners.
	MaxPublishRows = 4096
	// maxEntering is the size of the largest value that is read for an event. A client
	// that does not keep up would be sent the view in place of a larger one anyway.
	maxEntering = outbox.DefaultBytes
)

// errLag is the error of a view that takes too many rows, or bytes, to make its event.
var errLag = errors.New("the view is to be read outside of the committer")

// A meter counts the rows that are read for the listeners of one write, and what filters spend
// in these reads, and ends those that take too much.
//
// It counts what the transaction reads, over all views of a change. The bounds make
// the time that one write may cost the committer independent of how many clients listen to
// what.
type meter struct {
	tx        *store.Tx
	most      int
	rows      int // read so far, when the meter does not run
	start     int // rows that the transaction had read without these, when it does
	interrupt func() error
	looks     *tree.Looks // of the filters of the change
}

// rowsRead returns how many rows a transaction has read. Long strings count as if they were in rows.
func rowsRead(tx *store.Tx) int {
	s := tx.Stats()
	return s.Read + s.Long/store.PackLimit
}

func (m *meter) run() {
	m.start = rowsRead(m.tx) - m.rows
	m.interrupt = m.tx.Interrupt
	m.tx.Interrupt, m.tx.Looked = m.ended, m.looks
}

func (m *meter) stop() {
	m.rows = rowsRead(m.tx) - m.start
	m.tx.Interrupt, m.tx.Looked = m.interrupt, nil
}

// left returns how many rows may still be read.
func (m *meter) left() int { return m.most - (rowsRead(m.tx) - m.start) }

func (m *meter) ended() error {
	if m.left() < 0 {
		return errLag
	}
	if m.interrupt != nil {
		return m.interrupt()
	}
	return nil
}

// affords returns errLag if the query of a group would read too many rows. With an index
// that shows when it does.
func (p *Change) affords(g *group) error {
	left := p.meter.left()
	if left <= 0 {
		return errLag
	}
	indexed, err := p.Tx.Indexed(g.path, g.query)
	if err != nil || indexed {
		return err
	}
	children, err := p.Tx.Count(g.path, tree.Query{OrderBy: tree.ByKey, Limit: left + 1})
	if err == nil && children > left {
		return errLag
	}
	return err
}

// entering returns a value that is sent whole.
func (p *Change) entering(at tree.Path) (tree.Node, error) {
	if p.meter.left() <= 0 {
		return tree.Empty, errLag
	}
	n, err := lagsIfLarge(p.Tx.GetLimit(at, maxEntering))
	if len(n.Text()) < smallPart {
		n = n.Clone()
	}
	return n, err
}

// smallPart is the size up to which a value of an event is not a part of a longer text: of a
// row, which has some 2 KiB.
const smallPart = 1 << 10

func lagsIfLarge(n tree.Node, err error) (tree.Node, error) {
	if errors.Is(err, store.ErrTooBig) {
		err = errLag
	}
	return n, err
}
