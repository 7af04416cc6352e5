package sync

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/quota"
	"github.com/dogwooddb/dogwood/sync/trace"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A Write is a change that a client asks for: one location, or several at once.
type Write struct {
	Caller Caller
	Update tree.Update  // disjoint; of one element for a set
	Merge  bool         // it was sent as an update of the children of Base
	Base   tree.Path    // where it was sent to
	If     *string      // hash of the value that must be at Update[0] ("" for none); nil: whatever is there. The caller must be able to read it
	Turn   *limit.Share // in whose turn a large value is read and hashed for If, and a large write is decided, or explained; nil: that of all callers

	Returns bool // the Commit is to have what became of its server values

	Quota *quota.Quota // that the write shares the committer by; nil: it is alone

	ID *store.WriteID // under which it is carried out once, however often it is sent; nil: each time

	left *leaving // that it carries out, once; nil: none
}

// A Commit is a write that took effect.
type Commit struct {
	Writes []tree.ResolvedWrite // as in the Update, with server values replaced
	Now    time.Time            // the server's time of the write

	// Returned are the resolved server values of a Write that Returns them, but for
	// increments that its caller may not read. nil: it was carried out before, under
	// its ID.
	Returned []Returned
}

// A writer carries out writes. It prepares large values and conditions outside of the
// committer, and queues what is left for it.
type writer struct {
	db      *Database
	readers *limit.Share // with whom conditional writes without a Turn take turns
	large   largeTurns
}

// Write carries out a write and returns when it is on disk and its events are
// queued. Errors: ErrDenied, *StaleError, *TooManyError, ErrClosed, ErrUnavailable, ErrUnknown, those of
// package tree for values that can't be resolved, and that of the context, with
// which the write may still take effect.
func (d *Database) Write(ctx context.Context, w Write) (*Commit, error) {
	if err := errors.Join(checkPaths(w), checkReturns(w)); err != nil {
		return nil, err
	}
	c, err := d.write(ctx, w)
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
	if isLarge(w) {
		return wr.writeLarge(ctx, w, wr.db.newSpan(true), new(line))
	}
	return wr.carryOut(ctx, w, true)
}

type syncWrite struct {
	writeTask
	waiter
	line line
	span span
}

func (t *syncWrite) sender() (*quota.Quota, *line) { return t.write.Quota, &t.line }

func (t *syncWrite) apply(b *batch) error {
	return t.span.apply(func() error { return t.writeTask.apply(b) })
}

func (t *syncWrite) finish(err error) {
	if !errors.Is(err, errUnprepared) { // it comes again
		t.span.finish(&t.write, err)
	}
	t.waiter.finish(err)
}

// An asyncWrite is a write of a session. done is called by the committer: it
// must not block.
type asyncWrite struct {
	writeTask
	session *Session
	message int // bytes of the message, which the paths keep in memory
	done    func(error)
	span    span
}

func (t *asyncWrite) sender() (*quota.Quota, *line) { return t.session.sender() }

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

// A writeTask applies one write.
type writeTask struct {
	write  Write
	commit Commit
	ready  *prepared // what was done before; nil: nothing
	probe  bool      // only its condition is checked, and whether it was carried out before
}

// taskOverhead is what a task without data counts for in the bounds of the
// queue.
const taskOverhead = 256

func (t *writeTask) size() int64 {
	size := int64(taskOverhead)
	for _, w := range t.write.Update {
		size += int64(len(w.Value.Text())) + 64
	}
	return size
}

func (t *writeTask) apply(b *batch) error {
	t.commit = Commit{} // of an attempt that was given up
	switch w := &t.write; {
	case w.ID != nil:
		return b.once(*w.ID, w.Caller, func() error { return t.carryOut(b) })
	case w.left != nil:
		return b.carryOutLeft(w.left, func() error { return t.carryOut(b) })
	}
	return t.carryOut(b)
}

func (t *writeTask) carryOut(b *batch) error {
	w := &t.write
	if len(w.Update) == 0 {
		return nil
	}
	compares, err := b.mayCompareFor(w)
	if err != nil {
		return err
	}
	var v decidedWrite
	if !t.probe {
		if v, err = t.verdict(b); err != nil {
			return err
		}
	}
	if compares {
		if err := b.compare(w); err != nil {
			return err
		}
	}
	if t.probe {
		return errToDo
	}
	if v.denied != nil {
		return v.denied
	}
	t.commit = Commit{Writes: v.writes, Now: v.now}
	if err := b.change(v.writes, w.Merge, w.Base, t.ready); err != nil || !w.Returns {
		return err
	}
	t.commit.Returned, err = b.returned(w, v.writes)
	return err
}

// A decidedWrite is a write whose server values are resolved, with what the rules say.
type decidedWrite struct {
	writes []tree.ResolvedWrite
	now    time.Time
	denied error // why it is refused; nil: it is not
}

// verdict decides the write, or returns what was decided before if that is still true.
func (t *writeTask) verdict(b *batch) (decidedWrite, error) {
	if t.ready == nil {
		return b.decide(&t.write, b.db.options.Now())
	}
	if !t.ready.holds(b) {
		return decidedWrite{}, errOutdated
	}
	return t.ready.decidedWrite, nil
}

// decide decides a write: v.denied tells whether it may be made.
func (b *batch) decide(w *Write, now time.Time) (v decidedWrite, err error) {
	v.now = now
	v.writes, err = b.allow(w.Update, w.Caller, now)
	if errors.Is(err, fault.ErrDenied) || errors.Is(err, tree.ErrIncrement) {
		v.denied, err = err, nil
	}
	return v, err
}

// allow resolves the server values of an update and asks the rules. That an increment
// leaves the range of numbers depends on what is there, so it is an error only of a caller
// who may write it; the rules see the number nearest to the sum.
func (b *batch) allow(u tree.Update, c Caller, now time.Time) ([]tree.ResolvedWrite, error) {
	writes, overflow, err := b.resolve(u, now)
	if err != nil || len(writes) == 0 {
		return writes, err
	}
	if err := b.authorizeWrite(c, writes, now); err != nil {
		return writes, err
	}
	return writes, overflow
}

// resolve replaces the server values of an update. overflow tells that an increment
// leaves the range of numbers.
func (b *batch) resolve(u tree.Update, now time.Time) (resolved []tree.ResolvedWrite, overflow, err error) {
	resolved = make([]tree.ResolvedWrite, len(u))
	for i, w := range u {
		if n, ok := w.Value.Node(); ok {
			resolved[i] = tree.ResolvedWrite{Target: w.Target, Node: n}
			continue
		}
		var failed error
		n, err := w.Value.Resolve(now.UnixMilli(), func(rel tree.Path) (tree.Node, error) {
			n, err := b.existing(w.Target, rel)
			failed = err
			return n, err
		})
		switch {
		case failed != nil:
			return nil, nil, fault.Broken(failed)
		case errors.Is(err, tree.ErrIncrement):
			overflow = err
		case err != nil:
			return nil, nil, err
		}
		resolved[i] = tree.ResolvedWrite{Target: w.Target, Node: n}
	}
	return resolved, overflow, nil
}

// existing returns what an increment below a target adds to: a number, something
// else, or a priority. For an object or a long string, whose size must not matter, it
// returns a short string with the same priority.
func (b *batch) existing(t tree.Target, rel tree.Path) (tree.Node, error) {
	if t.Priority {
		return b.reader().Priority(t.Path)
	}
	p := t.Path.Join(rel)
	if b.noted != nil {
		b.noted.Note(p)
	}
	n, err := b.Tx.GetLimit(p, 1) // no more than the row of the node, or of its first child
	if err == nil && !n.IsObject() {
		return n, nil
	}
	if err != nil && !errors.Is(err, store.ErrTooBig) {
		return n, err
	}
	priority, err := b.Tx.Priority(p)
	return tree.String("").WithPriority(priority), err
}

func (b *batch) authorizeWrite(c Caller, writes []tree.ResolvedWrite, now time.Time) error {
	b.request = rules.Request{ // not a new one: nobody keeps it, and each write makes one
		Op:     rules.OpWrite,
		Path:   writes[0].Path,
		Writes: writes,
		Data:   b.reader(),
		Now:    now,
		Budget: &b.budget,
	}
	return b.db.access.Authorize(b.Ctx, b.Rules, c, &b.request)
}

// change makes writes that were allowed: it puts them into the transaction and
// notes the events and the record. ready has the rows of those that were stored before;
// nil: of none.
func (b *batch) change(writes []tree.ResolvedWrite, merge bool, base tree.Path, ready *prepared) error {
	if err := ready.claim(b.Tx); err != nil {
		return fault.Broken(err)
	}
	writes = inOrder(writes)
	p := audience.Change{Batch: &b.Batch, Writes: writes, Merge: merge, Base: base}
	if ready != nil {
		p.Measured = ready.excess
	}
	if err := p.Before(); err != nil {
		return fault.Broken(err)
	}
	changed := false
	for _, w := range byKey(writes) {
		did, err := b.put(w, ready)
		if err != nil {
			return fault.Broken(err)
		}
		changed = changed || did
	}
	if !changed {
		return nil
	}
	b.dirty = true
	b.note(writes)
	b.hashes.Touch(writes)
	return fault.Broken(p.After())
}

// inOrder returns the writes of one update in the order in which they are made
// and told: values, then removals, then priorities. So a node that loses all
// its children and gets others is never empty in between, which would cost it
// its priority.
func inOrder(writes []tree.ResolvedWrite) []tree.ResolvedWrite {
	if len(writes) == 1 {
		return writes
	}
	ordered := slices.Clone(writes)
	slices.SortStableFunc(ordered, func(a, b tree.ResolvedWrite) int { return writeRank(a) - writeRank(b) })
	return ordered
}

func writeRank(w tree.ResolvedWrite) int {
	switch {
	case w.Priority:
		return 2
	case w.Node.IsEmpty():
		return 1
	}
	return 0
}

// manyWrites is from when on it pays to put the writes of an update in the order
// of their keys.
const manyWrites = 64

// byKey returns the writes of an update in the order in which the store is told:
// of many that are alike, in the order of their keys. In another order each would
// move half of those that were put before it, as bbolt does not split a page
// before the commit.
func byKey(writes []tree.ResolvedWrite) []tree.ResolvedWrite {
	if len(writes) < manyWrites {
		return writes
	}
	sorted := slices.Clone(writes) // no two are equal in this order
	slices.SortFunc(sorted, func(a, b tree.ResolvedWrite) int {
		return cmp.Or(writeRank(a)-writeRank(b), tree.ComparePaths(a.Path, b.Path))
	})
	return sorted
}

func (b *batch) put(w tree.ResolvedWrite, ready *prepared) (changed bool, err error) {
	if w.Priority {
		return b.Tx.PutPriority(w.Path, w.Node)
	}
	if i, ok := ready.part(w.Path); ok {
		return ready.load.PutNode(b.Tx, i, w.Path)
	}
	return b.Tx.Put(w.Path, w.Node)
}

// maxRecord bounds the record of one batch. A larger one is kept without its
// values: who follows the log has to read the state instead.
const maxRecord = 4 << 20

// cutRecord is the record of such a batch. It names no target: those begin with
// a slash.
const cutRecord = "{\"cut\":true}\n"

// note appends writes to the batch's record: a JSON object a line, mapping
// targets to values.
func (b *batch) note(writes []tree.ResolvedWrite) {
	if string(b.record) == cutRecord {
		return
	}
	size := len(b.record)
	for _, w := range writes {
		size += len(w.Path.Clean()) + len(w.Node.Text()) + 16
	}
	if size > maxRecord {
		b.record = append(b.record[:0], cutRecord...)
		return
	}
	b.record = append(b.record, '{')
	for i, w := range writes {
		if i > 0 {
			b.record = append(b.record, ',')
		}
		b.record = wire.AppendString(b.record, w.Target.String())
		b.record = append(append(b.record, ':'), w.Node.JSON()...)
	}
	b.record = append(b.record, "}\n"...)
}

// A span says where the time of one write went.
type span struct {
	db     *Database // nil: nobody wants to know
	rest   bool      // the write came by REST
	queued time.Time
	began  time.Time // to be applied, for the last time; zero if nobody watched
	took   time.Duration
	bytes  int // of a value that is not in the write
}

// newSpan returns the span of a write that is queued now.
func (d *Database) newSpan(rest bool) span { return span{db: d, rest: rest, queued: time.Now()} }

// apply measures f if somebody watches.
func (l *span) apply(f func() error) error {
	if l.db == nil {
		return f()
	}
	if l.began = l.db.watchers.Begin(); l.began.IsZero() {
		return f()
	}
	defer func() { l.took = time.Since(l.began) }()
	return f()
}

// finish counts a write that is done, and tells of it.
func (l *span) finish(w *Write, err error) {
	if l.db == nil {
		return
	}
	l.db.stats.acks.Observe(time.Since(l.queued))
	if l.began.IsZero() {
		return
	}
	op := trace.Operation{Name: l.name(w), Path: ownPath(w.Base), Took: l.took, Waited: l.began.Sub(l.queued), Denied: errors.Is(err, fault.ErrDenied), Bytes: l.bytes}
	for _, u := range w.Update {
		if text := u.Value.Text(); text != "null" {
			op.Bytes += len(text)
		}
	}
	l.db.watchers.Tell(op)
}

func (l *span) name(w *Write) string {
	switch {
	case l.rest && w.Merge:
		return trace.OpRESTUpdate
	case l.rest:
		return trace.OpRESTWrite
	case w.Merge:
		return trace.OpUpdate
	case w.If != nil:
		return trace.OpTransaction
	}
	return trace.OpWrite
}
