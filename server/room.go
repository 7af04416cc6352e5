package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/server/peer"
	dsync "github.com/dogwooddb/dogwood/sync"
)

// An answer stays in memory for as long as its client takes to read it. So large answers
// share a meter, and only a few are made at a time (dsync.NewReaders): the size of a value
// is known only after it was read.
const (
	smallAnswer  = 64 << 10 // up to here an answer needs no memory of the meter
	makingAnswer = 2        // times the size of a value is taken until it is an answer: both are there
)

// A noRoomError says that an answer does not fit beside those in memory.
type noRoomError struct {
	hold    *limit.Hold // of the request
	size    int64       // that it has to reach
	refusal error
}

func (e *noRoomError) Error() string { return fmt.Sprintf("no room for an answer of %d bytes", e.size) }
func (e *noRoomError) Unwrap() error { return errOverloaded }

// make runs f, which reads a value and answers with it. Where f finds no room,
// what it read is forgotten, and f runs again once there is room, so that
// nothing large is held while waiting.
func (q *request) make(f func() (answer, error)) (answer, error) {
	a, err := q.inTurn(f)
	var until context.Context
	for full := (*noRoomError)(nil); errors.As(err, &full); {
		if until == nil {
			q.countWait(full.hold, full.refusal)
			ctx, cancel := context.WithTimeout(q.r.Context(), peer.MemoryTimeout)
			defer cancel()
			until = ctx
		}
		if err := q.waitFor(until, full); err != nil {
			return answer{}, err
		}
		a, err = q.inTurn(f)
	}
	return a, err
}

// inTurn runs f when it is its turn among what others read, and what the same address
// does. Waiting counts as reading slowly: it ends with the time that the request
// allows for it.
func (q *request) inTurn(f func() (answer, error)) (answer, error) {
	if err := q.takeTurn(); err != nil {
		return answer{}, err
	}
	defer q.readers.Release(1)
	defer q.work.End()
	return f()
}

func (q *request) takeTurn() error {
	if q.readers.Try(1) == nil { // the context needs a timer to wait
		return nil
	}
	ctx, cancel := q.readContext()
	defer cancel()
	return q.readers.Acquire(ctx, 1)
}

// await is reserve for requests that can wait a while for room. A write must
// have its room before it is committed, since a 503 says that it was not.
func (q *request) await(size int) error {
	err := q.reserve(size)
	if full := (*noRoomError)(nil); errors.As(err, &full) {
		q.countWait(full.hold, full.refusal)
		ctx, cancel := context.WithTimeout(q.r.Context(), peer.MemoryTimeout)
		defer cancel()
		return q.waitFor(ctx, full)
	}
	return err
}

// waitFor waits until a hold is as large as it could not become.
func (q *request) waitFor(ctx context.Context, full *noRoomError) error {
	n := full.hold.Missing(full.size)
	if full.hold.Of.Acquire(ctx, n) != nil {
		return full
	}
	full.hold.Take(n)
	return nil
}

// reserve takes room for an answer of about the given size, beyond what the
// request has. An answer that is larger than the whole meter can have all of
// it. After a *noRoomError the request has no room.
func (q *request) reserve(size int) error {
	if size <= smallAnswer || q.form.silent {
		return nil
	}
	return q.claim(&q.room, int64(size))
}

// hold takes memory for a value of about the given size that is about to be read, and for
// the answer that is made of it, until it is made.
func (q *request) hold(size int64) error {
	if need := makingAnswer * size; need <= q.work.Of.Most() {
		return q.claim(&q.work, need)
	}
	return dsync.ErrTooBig
}

// claim makes a hold of the request reach a size. After a *noRoomError the request holds
// nothing for its answer.
func (q *request) claim(h *limit.Hold, size int64) error {
	refusal := h.Grow(h.Missing(size))
	if refusal == nil {
		return nil
	}
	q.room.End()
	q.work.End()
	return &noRoomError{h, size, refusal}
}

// settle makes the room of the request what its answer came to need, which is
// more than was reserved where the answer is pretty.
func (q *request) settle(body []byte) {
	need := int64(cap(body))
	if need <= smallAnswer {
		need = 0
	}
	q.room.Settle(need)
}
