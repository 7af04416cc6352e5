package sync

import (
	"context"
	"errors"
	"fmt"

	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// put replaces a value (protocol §4, §8.2).
func (s *Session) put(ctx context.Context, r wire.Request) error {
	if err := s.reserve(ctx, r.Body.Data); err != nil {
		return err
	}
	u, err := s.readPut(ctx, r.Body)
	if err != nil {
		return err
	}
	w := Write{Caller: s.as(), Update: u, Base: u[0].Path}
	if r.Body.HasHash {
		hash := r.Body.Hash // a copy, so that r is kept for no longer than it is handled
		w.If = &hash
	}
	return s.write(ctx, r, w)
}

// merge updates children (protocol §4).
func (s *Session) merge(ctx context.Context, r wire.Request) error {
	if err := s.reserve(ctx, r.Body.Data); err != nil {
		return err
	}
	base, u, err := s.readMerge(ctx, r.Body)
	if err != nil {
		return err
	}
	if len(u) == 0 {
		none := noData()
		if r.Body.Returns {
			none = appendReturned(nil, []Returned{})
		}
		s.reply(wire.AppendOK(nil, r.ID, none))
		return nil
	}
	return s.write(ctx, r, Write{Caller: s.as(), Update: u, Merge: true, Base: base})
}

// Small writes do not wait for one another: the next request is read while they are in
// the queue, and their order is that of the session's line. Large and prepared ones do
// wait, for the earlier ones and before the next one, because they look at the state
// outside of that line.
func (s *Session) write(ctx context.Context, r wire.Request, w Write) error {
	if r.Body.HasWriteID {
		id, err := parseWriteID(r.Body.WriteID)
		if err != nil {
			return err
		}
		w.ID = id
	}
	w.Returns, w.Conflicts = r.Body.Returns, r.Body.Conflicts
	if err := errors.Join(checkPaths(w), checkReturns(w)); err != nil {
		return err
	}
	w.sums = sumsOf(w)
	w.Turn, w.Door = s.out.Readers(), DoorSocket
	if large, err := largeOf(ctx, s, w); err != nil || large {
		if err == nil {
			err = s.writeLarge(ctx, r, w)
		}
		return err
	}
	if large, err := s.comparesLarge(ctx, w); err != nil || large {
		if err == nil {
			err = s.writePrepared(ctx, r, w)
		}
		return err
	}
	left, err := room(ctx, &s.db.writer, w, s.quota)
	if err != nil {
		return err
	}
	t := &asyncWrite{writeTask: writeTask{write: w}, quota: s.quota, line: &s.line, message: len(r.Body.Raw), span: s.db.newSpan(false)}
	answer := noData
	if w.Returns {
		answer = func() []byte { return appendReturned(nil, t.commit.returned(&t.write)) }
	}
	return s.submit(ctx, r, answer, left, func(done func(error)) task {
		t.done = done
		return t
	})
}

// largeOf reports whether a write of a session is large. Declared data are asked about it after
// the writes that were sent before it.
func largeOf(ctx context.Context, s *Session, w Write) (bool, error) {
	if isLarge(w) || !s.db.data.Load().Spreads(w.Update) {
		return isLarge(w), nil
	}
	if err := s.waitAcked(ctx, 0); err != nil {
		return false, err
	}
	return s.db.spreads(ctx, w)
}

// writeLarge carries out a large write, after those that were sent before it. Requests
// that are sent after it wait. The client may leave meanwhile, as with other writes.
func (s *Session) writeLarge(ctx context.Context, r wire.Request, w Write) error {
	if err := s.waitAcked(ctx, 0); err != nil {
		return err
	}
	w.Quota = s.quota
	c, err := s.db.writeLarge(context.WithoutCancel(ctx), w, s.db.newSpan(false), &s.line)
	if err != nil {
		return err
	}
	s.written(r, w, c)
	return nil
}

// comparesLarge reports whether a write has a condition about a large value.
func (s *Session) comparesLarge(ctx context.Context, w Write) (bool, error) {
	if w.If == nil {
		return false, nil
	}
	if err := s.waitSmall(ctx, comparedAtOnce/2); err != nil {
		return false, err
	}
	return s.db.needsPreparing(ctx, w)
}

// writePrepared carries out a write whose condition has to be prepared. That looks at
// what is stored, so the earlier writes of the session come before it; and the next
// request waits, so that later ones come after it.
func (s *Session) writePrepared(ctx context.Context, r wire.Request, w Write) error {
	if err := s.waitAcked(ctx, 0); err != nil {
		return err
	}
	w.Quota = s.quota
	c, err := s.db.carryOut(ctx, w, false)
	if err != nil {
		return err
	}
	s.written(r, w, c)
	return nil
}

// written answers a write that took effect.
func (s *Session) written(r wire.Request, w Write, c *Commit) {
	answer := noData()
	if w.Returns {
		answer = appendReturned(nil, c.returned(&w))
	}
	s.reply(wire.AppendOK(nil, r.ID, answer))
}

// submit queues a task that answers a request when it is done, if it went well
// with the data that answer returns then. left is called when the task is done, or is not
// queued; nil: nothing is.
func (s *Session) submit(ctx context.Context, r wire.Request, answer func() []byte, left func(), make func(done func(error)) task) error {
	if err := s.waitRoom(ctx); err != nil {
		if left != nil {
			left()
		}
		return err
	}
	done := s.sent(r.ID, len(r.Body.Raw), s.takeReserved(), answer)
	if left != nil {
		answered := done
		done = func(err error) {
			left()
			answered(err)
		}
	}
	if err := s.db.add(ctx, make(done)); err != nil {
		done(err)
	}
	return nil
}

// noData is the answer of what has nothing to tell.
func noData() []byte { return nil }

// parsing runs f, which parses the data of a request, in the client's turn if it is long.
func (s *Session) parsing(ctx context.Context, b wire.Body, f func() error) error {
	turn := s.out.Readers()
	if len(b.Data) < outbox.LongText || turn == nil {
		return f()
	}
	return turn.Do(ctx, f)
}

// readPut reads the target and value of a put. A missing value is malformed,
// not a removal.
func (s *Session) readPut(ctx context.Context, b wire.Body) (u tree.Update, err error) {
	t, err := readTarget(b)
	if err != nil {
		return nil, err
	}
	err = s.parsing(ctx, b, func() error {
		w, err := tree.ParseWrite(t, b.Data, tree.Lenient)
		u = tree.Update{w}
		return err
	})
	return u, err
}

func readTarget(b wire.Body) (tree.Target, error) {
	switch {
	case !b.HasPath:
		return tree.Target{}, fmt.Errorf("%w: no path", fault.ErrMalformed)
	case !b.HasData:
		return tree.Target{}, fmt.Errorf("%w: no data", fault.ErrMalformed)
	}
	return tree.ParseTarget(b.Path)
}

func (s *Session) readMerge(ctx context.Context, b wire.Body) (base tree.Path, u tree.Update, err error) {
	t, err := readTarget(b)
	switch {
	case err != nil:
		return tree.Root, nil, err
	case t.Priority:
		return tree.Root, nil, tree.ErrInvalidPath
	}
	err = s.parsing(ctx, b, func() error {
		u, err = ParseUpdate(s.as(), t.Path, b.Data, tree.Lenient)
		return err
	})
	return t.Path, u, err
}

// reserve takes the memory for a write with the given text. It is released when the write
// is done, or with the request if that does not become one. It comes before the text is
// parsed, by an estimate, because parsing is what takes the memory.
func (s *Session) reserve(ctx context.Context, text string) error {
	if err := CheckValues(s.as(), text); err != nil || s.memory == nil {
		return err
	}
	n := CostOf(text)
	if err := s.memory.Reserve(ctx, n); err != nil {
		if errors.Is(err, fault.ErrTooBig) {
			err = &fault.LimitError{Bound: fault.BoundMemory}
		}
		return err
	}
	s.reserved += n
	return nil
}

// takeReserved returns what the request has reserved, for who releases it.
func (s *Session) takeReserved() int64 {
	n := s.reserved
	s.reserved = 0
	return n
}
