package sync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/dogwooddb/dogwood/sync/access"
	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/pending"
	"github.com/dogwooddb/dogwood/sync/quota"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// onDisconnect registers or cancels writes for the end of the session.
func (s *Session) onDisconnect(ctx context.Context, r wire.Request) error {
	t := &registerTask{session: s, caller: s.as(), proof: s.proof, message: len(r.Body.Raw)}
	if err := s.reserve(ctx, r.Body.Data); err != nil {
		return err
	}
	if err := t.read(ctx, r); err != nil {
		return err
	}
	if err := t.decideApart(ctx); err != nil {
		return err
	}
	return s.submit(ctx, r, noData, nil, func(done func(error)) task {
		t.done = done
		return t
	})
}

// read reads what a request registers or cancels.
func (t *registerTask) read(ctx context.Context, r wire.Request) (err error) {
	var base tree.Path
	switch r.Action {
	case wire.ActionDisconnectPut:
		if t.update, err = t.session.readPut(ctx, r.Body); err == nil {
			base = t.update[0].Path
		}
	case wire.ActionDisconnectMerge:
		base, t.update, err = t.session.readMerge(ctx, r.Body)
	default:
		t.cancel, err = readCancel(r.Body)
		return err
	}
	if err == nil {
		t.only, err = pending.ReadCondition(r.Body, base)
	}
	return err
}

func readCancel(b wire.Body) (*tree.Target, error) {
	if !b.HasPath {
		return nil, fmt.Errorf("%w: no path", fault.ErrMalformed)
	}
	t, err := tree.ParseTarget(b.Path)
	return &t, err
}

// A registerTask changes what a session leaves for its disconnect. It is on
// disk before it is acknowledged.
//
// The rules are asked twice: now, so that the client learns at once what it may
// not leave, and when it is carried out, since data and rules may have changed
// by then. So may the credential have been revoked, which is asked by its proof. The client may
// have signed in anew meanwhile, and the server may have been killed.
type registerTask struct {
	session *Session
	caller  Caller
	proof   string
	update  tree.Update
	only    *pending.Condition // condition of the update
	decided bool               // the rules allowed the update already
	cancel  *tree.Target
	message int // as in an asyncWrite
	done    func(error)
}

func (t *registerTask) size() int64 {
	return (&writeTask{write: Write{Update: t.update}}).size() + int64(t.message)
}

func (t *registerTask) sender() (*quota.Quota, *line) { return t.session.sender() }

func (t *registerTask) finish(err error) { t.done(err) }

func (t *registerTask) apply(b *batch) error {
	s := t.session
	next := s.pending.Snapshot()
	e := next.Edit()
	if t.cancel != nil {
		e.Cancel(*t.cancel)
	} else if err := t.register(b, e); err != nil {
		return err
	}
	if next.TooLarge() {
		return &fault.LimitError{Bound: fault.BoundPending}
	}
	if e.None() {
		return nil
	}
	return b.setPending(s, e)
}

// pendingCost is about what the records take in memory.
func pendingCost(p *pending.Writes) int { return p.Bytes + taskOverhead*p.At.Len() }

// setPending gives a session the records of an edit, also in the store, if there is room
// for them; and those that it had again if the batch does not commit.
//
// The records are in the session and in the file. Both change with the batch, and go back
// together if it does not commit.
func (b *batch) setPending(s *Session, e *pending.Edit) error {
	before := s.pending
	grown := pendingCost(e.Writes) - pendingCost(&before)
	if err := s.takePending(grown); err != nil {
		return err
	}
	b.Undo = append(b.Undo, func() {
		s.untakePending(grown)
		s.pending = before
	})
	s.pending = *e.Writes
	b.dirty = true
	return fault.Broken(b.save(e, s.id))
}

// decideApart checks the rules as for a write now, outside of the committer, if it is a large one.
func (t *registerTask) decideApart(ctx context.Context) error {
	s := t.session
	w := Write{Caller: t.caller, Update: t.update, Turn: s.out.Readers()}
	if large, err := largeOf(ctx, s, w); err != nil || !large {
		return err
	}
	if err := s.waitAcked(ctx, 0); err != nil {
		return err
	}
	return s.db.turnOf(w).Do(ctx, func() error {
		return s.db.snapshot(func(tx *store.Tx) error {
			tx.Interrupt = ctx.Err
			b := &batch{Batch: audience.Batch{Ctx: ctx, Tx: tx, Rules: s.db.rules.Load()}, db: s.db.core, data: s.db.data.Load()}
			t.decided = true
			return t.allow(b)
		})
	})
}

// allow decides the update. It stores nothing.
func (t *registerTask) allow(b *batch) error {
	v, err := b.allow(t.update, t.caller, b.db.options.Now())
	if err == nil && stores(v.asked) {
		err = b.db.mayStore()
	}
	return deniedIfTaken(err)
}

// register checks the rules as for a write now, and records it.
func (t *registerTask) register(b *batch, e *pending.Edit) error {
	if !t.decided {
		if err := t.allow(b); err != nil {
			return err
		}
	}
	if err := b.mayCompare(t.only, t.caller); err != nil {
		return err
	}
	for _, w := range t.update {
		target := tree.Target{Path: w.Path.Clone(), Priority: w.Priority}
		if err := e.Put(pending.Record{Target: target, Value: w.Value, Caller: t.caller, Proof: t.proof, Only: t.only}); err != nil {
			return err
		}
	}
	return nil
}

// A disconnectTask carries out one operation that a session left. It may be late.
//
// Nothing waits for its result, and no client repeats it. That is why it is the one kind
// of write that the server tries again by itself.
type disconnectTask struct {
	writeTask
	retry
	session *Session
	proof   string      // of the credential that it was left with
	done    func(error) // called after the first try
}

func (t *disconnectTask) finish(err error) {
	first := t.tries == 0
	if t.again(t.session.db.core, t, err) {
		if !waitsForText(err) {
			t.session.late++
		}
	} else {
		endPart(t.session)
	}
	if first { // not before: the session has then given back what it held
		t.done(err)
	}
}

// endPart notes that an operation that a session left is done or given up, or that all were
// begun. After the last one nothing changes the records any more. Those that remain were not
// carried out, mostly as the database is closed: they are in the file, and take no memory here.
func endPart(s *Session) {
	if s.ending.Add(-1) > 0 || s.pendingBytes == nil {
		return
	}
	s.pendingBytes.Release(int64(pendingCost(&s.pending)))
	s.pending = pending.Writes{}
}

// errBehind is for operations of a session that come behind a late one. They are late, too.
var errBehind = fmt.Errorf("%w: an operation before it was not", fault.ErrUnavailable)

// apply carries out the operation, unless one that the session left before it waits for the
// store to work.
func (t *disconnectTask) apply(b *batch) error {
	if t.session.late > 0 && b.db.stats.failing.Load() {
		return errBehind
	}
	return t.writeTask.apply(b)
}

func (t *disconnectTask) sender() (*quota.Quota, *line) { return t.session.sender() }

// writeOf returns an operation that a session left as a write.
func (s *Session) writeOf(o *pending.Operation) Write {
	u := o.Update()
	return Write{Caller: o.Caller(), Update: u, Merge: len(u) > 1, Quota: s.quota, Door: DoorSocket, left: func(b *batch, f func() error) error {
		return b.carryOutLeft(s, o, f)
	}}
}

// carryOutLeft carries out an operation by f if its condition holds, and removes its
// records: so that is done once. f decides in the state that the operations before it
// have made. An operation that is refused is skipped (protocol §10).
//
// The records are removed in the transaction that has the writes. So a crash at any
// moment leaves either the record, and the next start carries it out, or its effect.
func (b *batch) carryOutLeft(s *Session, o *pending.Operation, f func() error) error {
	next := s.pending.Snapshot()
	e := next.Edit()
	if !e.Drop(o) {
		return nil // it was carried out before
	}
	if b.Rules.Refused() != nil && !o.Caller().Admin {
		return errRules
	}
	holds, err := b.holds(o.Only(), o.Caller())
	if holds && err == nil {
		err = f()
	}
	if fault.IsBroken(err) || errors.Is(err, errOutdated) || errors.Is(err, fault.ErrDocument) {
		return err
	}
	return b.setPending(s, e)
}

// runDisconnect carries out what a session left, and returns when it is on disk. The
// operations are writes of the session like any other: so they take turns with those of
// other sessions, and few of them are on their way at a time. What was not carried out
// when the database is closed is still on record. The error is the worst one. As one task
// they would delay all other writes, and a session may leave thousands.
func (wr *writer) runDisconnect(s *Session) error {
	s.ending.Add(1)
	defer endPart(s)
	failed := make(chan error, 1) // the worst error so far
	failed <- nil
	asked := make(map[string]error)
	for _, o := range s.pending.Operations() {
		w := s.writeOf(o)
		if known := w.stands(askRevoked(s, o.Proof(), asked)); !known {
			continue
		}
		if err := wr.leave(s, w, o.Proof(), failed); errors.Is(err, fault.ErrClosed) {
			break
		}
	}
	_ = s.waitAcked(context.Background(), 0) // which does not end
	return <-failed
}

// worse returns the error of two that tells more: one for which an open fails, then that the disk has no room.
func worse(a, b error) error {
	grave := func(err error) int {
		switch {
		case err == nil:
			return 0
		case errors.Is(err, errBehind):
			return 1 // the one before it tells why
		case store.NoRoom(err):
			return 3
		case waits(err):
			return 2
		}
		return 4
	}
	if grave(b) > grave(a) {
		return b
	}
	return a
}

// errRevoked says that the credential was revoked that an operation was left with.
var errRevoked = errors.New("the credential was revoked")

// askRevoked asks Options.Revoked about a credential, once: asked has the answers. They are nil, errRevoked, or
// that it is not known.
func askRevoked(s *Session, proof string, asked map[string]error) error {
	ask := s.db.options.Revoked
	if proof == "" || ask == nil {
		return nil
	}
	if answer, ok := asked[proof]; ok {
		return answer
	}
	revoked, err := ask(proof)
	if err != nil {
		s.db.log.Error("onDisconnect operations stay on record until the next start: it is not known whether their credential was revoked", "connection", s.name, "err", err)
	} else if revoked {
		err = errRevoked
	}
	asked[proof] = err
	return err
}

// stands has the write of an operation be what an answer of askRevoked leaves of it. If the answer is not known, to
// carry it out could be wrong, and so could be to drop it.
func (w *Write) stands(answer error) (known bool) {
	if errors.Is(answer, errRevoked) {
		w.Update = nil // so its records go, and nothing is written
		return true
	}
	return answer == nil
}

// unshelve makes the operations on the shelf late ones. It is the committer's.
func unshelve(d *core) {
	for _, t := range d.shelf {
		left := t.(*disconnectTask)
		if known := left.write.stands(d.asked[left.proof]); !known {
			endPart(left.session) // it stays on record
			continue
		}
		left.session.late++
		d.late = append(d.late, t)
	}
	d.shelf, d.asked = nil, nil
}

// askAgain asks about the credentials of the operations on the shelf, which may have been revoked since, if a text
// may be about to replace one that is refused. The committer does not ask: that may block. Those that come to the shelf
// meanwhile have just been asked about.
func askAgain(ctx context.Context, d *core) error {
	if d.rules.Load().Refused() == nil && d.data.Load().Document().Refused() == nil {
		return nil
	}
	var shelf []task // what it has is not changed
	if err := d.do(ctx, &call{f: func(b *batch) error { shelf = b.db.shelf; return nil }}); err != nil {
		return err
	}
	asked := make(map[string]error)
	for _, t := range shelf {
		if err := ctx.Err(); err != nil {
			return err
		}
		left := t.(*disconnectTask)
		_ = askRevoked(left.session, left.proof, asked)
	}
	return d.do(ctx, &call{f: func(b *batch) error { b.db.asked = asked; return nil }})
}

// leave has an operation carried out. If it is large it is prepared, as other writes are;
// or else, and where that fails, it is one task. failed has the worst error.
func (wr *writer) leave(s *Session, w Write, proof string, failed chan error) error {
	ctx := context.Background() // does not end: only closing the database ends this
	if s.out != nil {
		w.Turn = s.out.Readers()
	}
	if large, err := largeOf(ctx, s, w); err == nil && large {
		_ = s.waitAcked(ctx, 0)
		if _, err := wr.writeLarge(ctx, w, span{}, &s.line); err == nil {
			return nil
		}
	}
	_ = s.waitAcked(ctx, maxUnacked-1)
	t := &disconnectTask{writeTask: writeTask{write: w}, session: s, proof: proof}
	size := int(t.size())
	s.begin(size)
	t.done = func(err error) {
		failed <- worse(<-failed, err)
		s.forget(size)
	}
	s.ending.Add(1)
	err := wr.db.add(ctx, t)
	if err != nil { // it is ErrClosed
		t.finish(err)
	}
	return err
}

// runOrphans carries out what sessions of an earlier run left: the server went
// down before it could. If some of it is late, the error is one that waits reports true for.
//
// The sessions have no outbox and no quota: their clients are gone, and nothing
// is answered.
func (d *Database) runOrphans() error {
	if d.store.ReadOnly() {
		return nil // they stay on record
	}
	left := make(map[string]*Session)
	err := d.store.View(func(tx *store.Tx) error {
		for p, err := range tx.Disconnects().All() {
			if err != nil {
				return err
			}
			s := left[p.Session]
			if s == nil {
				s = d.NewSession(SessionOptions{ID: p.Session})
				left[p.Session] = s
			}
			if err := s.pending.Restore(p); err != nil {
				return fmt.Errorf("onDisconnect record of session %s: %w", p.Session, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(left)) {
		err = worse(err, d.runDisconnect(left[id]))
	}
	return err
}

// mayCompare decides whether a caller may make something depend on a condition,
// which tells him what is there.
func (b *batch) mayCompare(o *pending.Condition, c Caller) error {
	if o == nil {
		return nil
	}
	return b.authorizeRead(access.Whole(c, o.Path, false))
}

// holds reports whether a condition holds for a caller.
func (b *batch) holds(o *pending.Condition, c Caller) (bool, error) {
	if o == nil {
		return true, nil
	}
	if err := b.mayCompare(o, c); err != nil {
		if errors.Is(err, fault.ErrDenied) {
			err = nil
		}
		return false, err
	}
	const priority = 1 << 10 // of the value that is there
	n, err := b.Tx.GetLimit(o.Path, int64(len(o.Value.Text()))+priority)
	if errors.Is(err, store.ErrTooBig) {
		return false, nil
	}
	return n.Value() == o.Value, fault.Broken(err)
}
