package sync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// onDisconnect registers or cancels writes for the end of the session.
func (s *Session) onDisconnect(ctx context.Context, r wire.Request) error {
	t := &registerTask{session: s, caller: s.caller, message: len(r.Body.Raw)}
	if err := s.reserve(ctx, r.Body.Data); err != nil {
		return err
	}
	if err := t.read(r); err != nil {
		return err
	}
	return s.submit(ctx, r, noData, func(done func(error)) task {
		t.done = done
		return t
	})
}

// read reads what a request registers or cancels.
func (t *registerTask) read(r wire.Request) (err error) {
	var base tree.Path
	switch r.Action {
	case wire.ActionDisconnectPut:
		if t.update, err = readPut(r.Body); err == nil {
			base = t.update[0].Path
		}
	case wire.ActionDisconnectMerge:
		base, t.update, err = readMerge(r.Body)
	default:
		t.cancel, err = readCancel(r.Body)
		return err
	}
	if err == nil {
		t.only, err = readOnlyIf(r.Body, base)
	}
	return err
}

func readCancel(b wire.Body) (*tree.Target, error) {
	if !b.HasPath {
		return nil, fmt.Errorf("%w: no path", errMalformed)
	}
	t, err := tree.ParseTarget(b.Path)
	return &t, err
}

// A registerTask changes what a session leaves for its disconnect. It is on
// disk before it is acknowledged.
type registerTask struct {
	session *Session
	caller  Caller
	update  tree.Update
	only    *onlyIf // condition of the update
	cancel  *tree.Target
	message int // as in an asyncWrite
	done    func(error)
}

func (t *registerTask) size() int64 {
	return (&writeTask{write: Write{Update: t.update}}).size() + int64(t.message)
}

func (t *registerTask) sender() (*Quota, *line) { return t.session.sender() }

func (t *registerTask) finish(err error) { t.done(err) }

func (t *registerTask) apply(b *batch) error {
	s := t.session
	next := s.pending.snapshot()
	e := next.edit()
	if t.cancel != nil {
		e.cancel(*t.cancel)
	} else if err := t.register(b, e); err != nil {
		return err
	}
	if next.at.Len() > maxPending || next.bytes > maxPendingBytes {
		return &LimitError{BoundPending}
	}
	if !s.quota.fitsPending(next.cost() - s.pending.cost()) {
		return &LimitError{BoundQuotaPending}
	}
	if len(e.added) == 0 && len(e.removed) == 0 {
		return nil
	}
	if err := e.save(b.tx, s.id); err != nil {
		return broken(err)
	}
	b.dirty = true
	b.setPending(s, next)
	return nil
}

// cost is about what the records take in memory.
func (p *pendingWrites) cost() int { return p.bytes + taskOverhead*p.at.Len() }

// setPending gives a session other records, and those that it had again if the
// batch does not commit.
func (b *batch) setPending(s *Session, next pendingWrites) {
	before := s.pending
	grown := next.cost() - before.cost()
	s.quota.addPending(grown)
	b.undo = append(b.undo, func() {
		s.quota.addPending(-grown)
		s.keepPending(before)
	})
	s.keepPending(next)
}

func (s *Session) keepPending(p pendingWrites) {
	s.pending = p
	s.pendingBytes.Store(int64(p.bytes))
}

// register checks the rules as for a write now, and records it.
func (t *registerTask) register(b *batch, e *pendingEdit) error {
	now := b.db.options.Now()
	writes, err := b.resolve(t.update, now)
	if err != nil {
		return err
	}
	if len(writes) > 0 {
		if err := b.authorizeWrite(t.caller, writes, now); err != nil {
			return err
		}
	}
	if err := b.mayCompare(t.only, t.caller); err != nil {
		return err
	}
	for _, w := range t.update {
		target := tree.Target{Path: ownPath(w.Path), Priority: w.Priority}
		if err := e.put(target, w.Value, t.caller, t.only); err != nil {
			return err
		}
	}
	return nil
}

// A disconnectTask carries out what a session left, once: it removes the
// records in the same transaction. If the store fails it is tried again after a
// later commit. Nobody waits for that, and if there is none the records are still
// there when the database is opened again.
type disconnectTask struct {
	waiter
	id      string
	session *Session // nil: of an earlier run
	pending pendingWrites
	tries   int
}

// maxTries bounds how often a disconnectTask is tried again: the store may fail
// for its records alone.
const maxTries = 100

func (t *disconnectTask) finish(err error) {
	if t.tries == 0 {
		t.waiter.finish(err)
	}
	failed := errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUnknown)
	if t.tries++; t.session != nil && failed && t.tries <= maxTries {
		t.session.db.late = append(t.session.db.late, t)
	}
}

func (t *disconnectTask) sender() (*Quota, *line) { return t.session.sender() }

// size is that of what the session has left by now, which the task takes when it is
// carried out.
func (t *disconnectTask) size() int64 {
	if t.session != nil {
		return taskOverhead + t.session.pendingBytes.Load()
	}
	return int64(taskOverhead + t.pending.bytes)
}

func (t *disconnectTask) apply(b *batch) error {
	if s := t.session; s != nil {
		t.pending = s.pending
		if t.pending.at.Len() == 0 {
			return nil
		}
		b.setPending(s, pendingWrites{})
	}
	if err := b.tx.DeleteAllPending(t.id); err != nil {
		return broken(err)
	}
	b.dirty = true
	allowed, err := t.allowed(b)
	if err != nil || len(allowed) == 0 {
		return err
	}
	return b.change(allowed, len(allowed) > 1, tree.Root, nil)
}

// allowed returns the writes of the records that can be carried out now, and whose
// conditions hold in the state before any of them. Others are skipped (wire
// protocol §10).
func (t *disconnectTask) allowed(b *batch) (allowed []tree.ResolvedWrite, err error) {
	now := b.db.options.Now()
	for w := range t.pending.all() {
		holds, err := b.holds(w.only, w.caller)
		if isBroken(err) {
			return nil, err
		}
		if !holds {
			continue
		}
		writes, err := b.resolve(tree.Update{{Target: w.target, Value: w.value}}, now)
		if err == nil {
			err = b.authorizeWrite(w.caller, writes, now)
		}
		switch {
		case isBroken(err):
			return nil, err
		case err == nil:
			allowed = append(allowed, writes...)
		}
	}
	return allowed, nil
}

// runDisconnect carries out what a session left and waits until it is on disk.
func (d *Database) runDisconnect(s *Session) error {
	return d.do(context.Background(), &disconnectTask{id: s.id, session: s})
}

// runOrphans carries out what sessions of an earlier run left: the server went
// down before it could.
func (d *Database) runOrphans() error {
	if d.store.ReadOnly() {
		return nil // they stay on record
	}
	left := make(map[string]*disconnectTask)
	err := d.store.View(func(tx *store.Tx) error {
		for p, err := range tx.Pending() {
			if err != nil {
				return err
			}
			t := left[p.Session]
			if t == nil {
				t = &disconnectTask{id: p.Session}
				left[p.Session] = t
			}
			if err := t.pending.edit().restore(p.Data); err != nil {
				return fmt.Errorf("onDisconnect record of session %s: %w", p.Session, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(left)) {
		if err := d.do(context.Background(), left[id]); err != nil {
			return err
		}
	}
	return nil
}
