package sync

import (
	"context"
	"errors"

	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/quota"
)

// Write carries out a write and returns when it is on disk and its events are
// queued. Errors: ErrDenied, *StaleError, *TooManyError, ErrClosed, ErrUnavailable, ErrUnknown, those of
// package tree for values that can't be resolved, and that of the context, with
// which the write may still take effect.
//
// The current value of a failed condition is read here and not in the committer: it may be
// large, and only this caller waits for it.
func (d *Database) Write(ctx context.Context, w Write) (*Commit, error) {
	if err := errors.Join(checkPaths(w), checkReturns(w)); err != nil {
		return nil, err
	}
	w.sums = sumsOf(w)
	c, err := d.write(ctx, w)
	if err == nil && w.Returns {
		c.Returned = c.returned(&w)
	}
	if stale := (*fault.StaleError)(nil); errors.As(err, &stale) && !stale.Known {
		n, err := d.current(ctx, w)
		if err != nil {
			return nil, err
		}
		return nil, &fault.StaleError{Current: n, Known: true}
	}
	return c, err
}

// write carries out a write in the way that its size asks for.
func (wr *writer) write(ctx context.Context, w Write) (*Commit, error) {
	spreads, err := wr.spreads(ctx, w)
	if err != nil {
		return nil, err
	}
	if spreads || isLarge(w) {
		return wr.writeLarge(ctx, w, wr.db.newSpan(true), new(line))
	}
	left, err := room(ctx, wr, w, w.Quota)
	if err != nil {
		return nil, err
	}
	if left != nil {
		defer left()
	}
	return wr.carryOut(ctx, w, true)
}

// An asyncWrite is a write of a session. done is called by the committer: it
// must not block. It does not wait: a goroutine for each write on its way would
// cost a stack each.
type asyncWrite struct {
	writeTask
	quota   *quota.Quota
	line    *line
	message int // bytes of the message, which the paths keep in memory
	done    func(error)
	span    span
}

func (t *asyncWrite) sender() (*quota.Quota, *line) { return t.quota, t.line }

func (t *asyncWrite) size() int64 { return t.writeTask.size() + int64(t.message) }

// apply takes a value that became too large to be compared at once, since the write
// was queued, for one that differs: it was small when the condition was received.
func (t *asyncWrite) apply(b *batch) error {
	err := t.span.apply(func() error { return t.writeTask.apply(b) })
	if errors.Is(err, errUnprepared) {
		return &fault.StaleError{}
	}
	return err
}

func (t *asyncWrite) finish(err error) {
	t.span.finish(&t.write, err)
	t.done(err)
}
