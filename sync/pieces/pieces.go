// Package pieces brings a value that is too long for one entry of the log there in pieces, before
// it takes effect. The commit then only names them, so its cost does not grow with the value.
// Readers of the log keep the pieces until the commit comes, and forget them when they are
// dropped or the database was closed in between.
package pieces

import (
	"math/rand/v2"
	"strconv"

	"github.com/dogwooddb/dogwood/tree/store/entry"
)

// Bytes is the length of a piece.
const Bytes = 60 << 10

// most is how many pieces of a value are on their way: they are written while the next ones are
// made.
const most = 16

// A Put queues a piece for the log. wait waits until it is there.
type Put func(op entry.Operation) (wait func() error, err error)

// Pieces are those of one value. The zero value has none.
//
// At most 16 are on their way to the committer at a time, so a long value
// takes bounded memory there, and its sender is slowed down to the speed of the
// log.
type Pieces struct {
	ID   string
	Sent int

	way []func() error // the pieces that are on their way, oldest first
}

// New returns the pieces of a value. None was sent.
func New() Pieces { return Pieces{ID: strconv.FormatUint(rand.Uint64(), 36)} }

// Send has a piece put into the log. Errors are those of put, also of pieces before it.
func (p *Pieces) Send(op entry.Operation, put Put) error {
	if err := p.Settle(most - 1); err != nil {
		return err
	}
	wait, err := put(op)
	if err != nil {
		return err
	}
	p.Sent++
	p.way = append(p.way, wait)
	return nil
}

// Settle waits until no more than some pieces are on their way to the log.
func (p *Pieces) Settle(some int) (err error) {
	for len(p.way) > some && err == nil {
		err = p.way[0]()
		p.way = p.way[1:]
	}
	return err
}

// Drop says that the pieces are void, by an operation for the log. If that is not stored, readers
// forget them when the database is closed.
func (p *Pieces) Drop(put func(op entry.Operation)) {
	for len(p.way) > 0 {
		_ = p.Settle(0)
	}
	if p.Sent == 0 {
		return
	}
	id := p.ID
	*p = Pieces{}
	put(&entry.Drop{ID: id})
}
