package server

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// An answer stays in memory for as long as its client takes to read it. So
// large answers share a budget, and only a few are made at a time (dsync.NewReadTurns): until a value
// has been read, nobody knows how large it is.
const (
	smallAnswer = 64 << 10 // up to here an answer needs no room
	roomWait    = 5 * time.Second
	roomPoll    = 10 * time.Millisecond
)

// A noRoomError says that an answer does not fit beside those in memory.
type noRoomError struct{ size int }

func (e *noRoomError) Error() string { return fmt.Sprintf("no room for an answer of %d bytes", e.size) }
func (e *noRoomError) Unwrap() error { return errOverloaded }

// make runs f, which reads a value and answers with it. Where f finds no room,
// what it read is forgotten, and f runs again once there is room, so that
// nothing large is held while waiting.
func (q *request) make(f func() (answer, error)) (answer, error) {
	a, err := q.inTurn(f)
	if full := (*noRoomError)(nil); errors.As(err, &full) {
		if err := q.await(full.size); err != nil {
			return answer{}, err
		}
		return q.inTurn(f)
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
	if err := q.reserve(size); err == nil {
		return nil
	}
	q.countWait(size)
	ctx, cancel := context.WithTimeout(q.r.Context(), roomWait)
	defer cancel()
	for {
		select {
		case <-time.After(roomPoll):
		case <-ctx.Done():
			return &noRoomError{size}
		}
		if err := q.reserve(size); err == nil {
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
	more := min(int64(size), q.answers.max) - q.room
	if more <= 0 {
		return nil
	}
	if !q.answers.take(more) {
		q.answers.give(q.room)
		q.room = 0
		return &noRoomError{size}
	}
	q.room += more
	return nil
}

// settle makes the room of the request what its answer came to need, which is
// more than was reserved where the answer is pretty.
func (q *request) settle(body []byte) {
	need := int64(cap(body))
	if need <= smallAnswer {
		need = 0
	}
	q.answers.add(need - q.room)
	q.room = need
}
