package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	dsync "github.com/dogwooddb/dogwood/sync"
)

// An answer stays in memory for as long as its client takes to read it. So
// large answers share a budget, and only a few are made at a time (dsync.NewReadTurns): until a value
// has been read, nobody knows how large it is.
const (
	smallAnswer = 64 << 10 // up to here an answer needs no room
	roomWait    = 5 * time.Second
	roomPoll    = 10 * time.Millisecond

	makingAnswer = 2 // times the size of a value is taken until it is an answer: both are there
)

// A noRoomError says that an answer does not fit beside those in memory.
type noRoomError struct {
	claim *claim // of the request
	size  int64  // that it has to reach
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
			q.countWait(full)
			ctx, cancel := context.WithTimeout(q.r.Context(), roomWait)
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
	defer q.making.Leave()
	defer q.work.end()
	return f()
}

func (q *request) takeTurn() error {
	if q.making.TryEnter() { // the context needs a timer to wait
		return nil
	}
	ctx, cancel := q.readContext()
	defer cancel()
	return q.making.Enter(ctx)
}

// await is reserve for requests that can wait a while for room. A write must
// have its room before it is committed, since a 503 says that it was not.
func (q *request) await(size int) error {
	err := q.reserve(size)
	if full := (*noRoomError)(nil); errors.As(err, &full) {
		q.countWait(full)
		ctx, cancel := context.WithTimeout(q.r.Context(), roomWait)
		defer cancel()
		return q.waitFor(ctx, full)
	}
	return err
}

// waitFor waits until a claim is what it could not become.
func (q *request) waitFor(ctx context.Context, full *noRoomError) error {
	for {
		select {
		case <-time.After(roomPoll):
		case <-ctx.Done():
			return full
		}
		if full.claim.reach(full.size) {
			return nil
		}
	}
}

// reserve takes room for an answer of about the given size, beyond what the
// request has. An answer that is larger than the whole budget can have all of
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
	if need := makingAnswer * size; need <= q.work.of.most() {
		return q.claim(&q.work, need)
	}
	return dsync.ErrTooBig
}

// claim makes a claim of the request reach a size. After a *noRoomError the request has
// nothing of what it claims for its answer.
func (q *request) claim(c *claim, size int64) error {
	if c.reach(size) {
		return nil
	}
	q.room.end()
	q.work.end()
	return &noRoomError{c, size}
}

// settle makes the room of the request what its answer came to need, which is
// more than was reserved where the answer is pretty.
func (q *request) settle(body []byte) {
	need := int64(cap(body))
	if need <= smallAnswer {
		need = 0
	}
	q.room.settle(need)
}
