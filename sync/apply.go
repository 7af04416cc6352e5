package sync

import (
	"errors"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/queue"
	"github.com/dogwooddb/dogwood/sync/quota"
	"github.com/dogwooddb/dogwood/tree"
)

// A writeTask applies one write.
//
// The steps of carryOut are in an order that gives nothing away: first whether
// the caller may know the outcome of the condition, then the decision of the
// rules, then the condition itself. So the answer tells a caller no more than
// mayCompareFor allows.
type writeTask struct {
	write   Write
	commit  Commit
	ready   *prepared         // what was done before; nil: nothing
	noted   bool              // it changed something
	follows *declared.Follows // by declared data; nil: nothing can
	probe   bool              // only its condition is checked, and whether it was carried out before
	few     bool              // it was outdated each time: see decideWithin
}

func (t *writeTask) size() int64 {
	size := int64(taskOverhead)
	for _, w := range t.write.Update {
		size += int64(len(w.Value.Text())) + 64
	}
	return size
}

// cost estimates a write from the values and paths that it has.
func (t *writeTask) cost() time.Duration {
	cost := queue.TaskCost
	for i, w := range t.write.Update {
		if i > 0 {
			cost += costPath
		}
		cost += costOfText(w.Value.Text())
	}
	return cost
}

// costOfText estimates a value from its JSON text. Commas in strings count as values: to
// tell them apart takes longer than this is worth.
func costOfText(text string) time.Duration {
	if len(text) <= costFree {
		return 0
	}
	return time.Duration(strings.Count(text, ","))*costValue + time.Duration(len(text)>>10)*costKiB
}

func (t *writeTask) apply(b *batch) error {
	t.commit, t.noted, t.follows = Commit{}, false, nil // of an attempt that was given up
	switch w := &t.write; {
	case w.ID != nil:
		return b.once(*w.ID, w.Caller, func() error { return t.carryOut(b) })
	case w.left != nil:
		return w.left(b, func() error { return t.carryOut(b) })
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
	t.commit = Commit{Writes: v.asked, Now: v.now}
	if t.follows = v.follows; t.follows != nil {
		t.commit.Kept, t.commit.stored = t.follows.Kept, v.writes
	}
	if t.noted, err = b.change(w, v, t.ready); err != nil {
		return err
	}
	if len(w.sums) > 0 {
		t.commit.hidden, err = b.hide(w)
	}
	return err
}

// verdict decides the write, or returns what was decided before if that is still true.
func (t *writeTask) verdict(b *batch) (decidedWrite, error) {
	switch {
	case t.few:
		return b.decideWithin(&t.write)
	case t.ready == nil:
		return b.decide(&t.write, b.db.options.Now())
	}
	if !t.ready.holds(b) {
		return decidedWrite{}, errOutdated
	}
	return t.ready.decidedWrite, nil
}

// change makes writes that were allowed, and reports whether they change anything: it puts them into the transaction and
// notes the events and the change. ready has the rows of those that were stored before;
// nil: of none.
//
// Before and After of the audience stand around the puts: an event is made from the state right
// before and right after this write, so later writes of the batch cannot blur it. The notes for
// the log and the hashes are only touched when something changed.
func (b *batch) change(w *Write, v decidedWrite, ready *prepared) (changed bool, err error) {
	if err := ready.claim(b.Tx); err != nil {
		return false, fault.Broken(err)
	}
	writes, stored := ready.orders(v.writes)
	p := audience.Change{Batch: &b.Batch, Writes: writes, Merge: w.Merge && !v.spreads(), Base: w.Base}
	if ready != nil {
		p.Measured = ready.excess
	}
	if err := p.Before(); err != nil {
		return false, fault.Broken(err)
	}
	if changed, err = b.putAll(stored, ready); err == nil && !changed {
		err = b.renew(v.follows)
	}
	if err != nil || !changed {
		return false, fault.Broken(err)
	}
	b.dirty = true
	if v.follows != nil {
		if err := v.follows.Store(b.Tx); err != nil {
			return false, fault.Broken(err)
		}
		b.Committed = append(b.Committed, v.follows.Count)
		b.noteDue(v.follows.Due())
		b.noteAbove(v.follows.Above)
		b.Touch(v.follows.SharedPlaces())
	}
	b.notes.write(w, v, writes, ready)
	b.Writes = b.notes.count()
	b.hashes.Touch(writes)
	return true, fault.Broken(p.After())
}

// renew stores when nodes expire that were written as they are: they expire some time after the
// last write, whatever that brought.
func (b *batch) renew(f *declared.Follows) error {
	if f == nil {
		return nil
	}
	changed, err := f.StoreTimers(b.Tx)
	b.dirty = b.dirty || changed
	b.noteDue(f.Due())
	return err
}

// inOrder returns the writes of one update in the order in which they are made
// and told: values, then removals, then priorities. So a node that loses all
// its children and gets others is never empty in between, which would cost it
// its priority.
func inOrder(writes []tree.ResolvedWrite) []tree.ResolvedWrite {
	byRank := func(a, b tree.ResolvedWrite) int { return writeRank(a) - writeRank(b) }
	if slices.IsSortedFunc(writes, byRank) {
		return writes
	}
	ordered := slices.Clone(writes)
	sort.SliceStable(ordered, func(i, j int) bool { return byRank(ordered[i], ordered[j]) < 0 })
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
	order := make([]*tree.ResolvedWrite, len(writes)) // to move pointers, not writes
	for i := range writes {
		order[i] = &writes[i]
	}
	slices.SortFunc(order, func(a, b *tree.ResolvedWrite) int { // no two are equal
		if by := writeRank(*a) - writeRank(*b); by != 0 {
			return by
		}
		return tree.ComparePaths(a.Path, b.Path)
	})
	sorted := make([]tree.ResolvedWrite, len(writes))
	for i, w := range order {
		sorted[i] = *w
	}
	return sorted
}

// putAll tells the store of writes, of neighbours that are values together.
func (b *batch) putAll(writes []tree.ResolvedWrite, ready *prepared) (changed bool, err error) {
	for len(writes) > 0 {
		n, did := 1, false
		w := writes[0]
		switch i, large := ready.part(w.Path); {
		case w.Priority:
			did, err = b.Tx.PutPriority(w.Path, w.Node)
		case large:
			did, err = ready.load.PutNode(b.Tx, i, w.Path)
		default:
			n = ready.values(writes)
			did, err = b.Tx.PutAll(writes[:n])
		}
		if err != nil {
			return false, err
		}
		changed = changed || did
		writes = writes[n:]
	}
	return changed, nil
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

// atOnce is how many nodes definitions may look at, with places and rows that they change, when
// their document is put in force. More are looked at in the background, stepNodes at a time.
const (
	atOnce    = 1_000
	stepNodes = 1
)

// enforceData puts data in force for the tasks that follow.
func (b *batch) enforceData(data *declared.Data) {
	if data == b.data {
		return
	}
	b.last = b.last || b.data.Document().Refused() != nil
	b.dirty, b.data = true, data
	b.Committed = append(b.Committed, func() {
		if b.db.data.Swap(data).Document().Refused() != nil {
			expireFrom(b.db, data)
			b.db.hurry = true
		}
		b.db.work = true
	})
}

// stepsOfData works on definitions until it has come to a number of nodes, or has to wait for an index.
func (b *batch) stepsOfData(nodes int) error {
	for nodes > 0 && b.data.Working() {
		now := b.db.options.Now()
		step, err := b.data.Step(b.Tx, now)
		if err != nil || step.Waits {
			return fault.Broken(err)
		}
		if step.Follows != nil {
			if err := b.changeByItself(step.Follows, now, causeData); err != nil {
				return err
			}
		}
		if step.Failed != "" {
			b.Committed = append(b.Committed, func() {
				b.db.log.Warn("a definition of the data document has failed and is not in force: see dogwood data status", "database", b.db.store.String(), "definition", step.Failed)
			})
		}
		b.enforceData(step.Data)
		nodes -= step.Cost
	}
	return nil
}

// changeByItself makes an update that no client has asked for.
func (b *batch) changeByItself(f *declared.Follows, now time.Time, cause string) error {
	changed := false
	if len(f.Writes) > 0 {
		var err error
		w := &Write{Caller: Admin, internal: cause}
		if changed, err = b.change(w, decidedWrite{asked: f.Writes, writes: f.Writes, follows: f, now: now}, nil); err != nil {
			return err
		}
	}
	if changed {
		return nil
	}
	b.dirty = true
	b.noteDue(f.Due())
	b.Touch(f.SharedPlaces())
	return fault.Broken(f.Store(b.Tx))
}

// noteAbove notes places whose nodes may be gone, with their timers left.
func (b *batch) noteAbove(paths []tree.Path) {
	if len(paths) > 0 && !b.Apart {
		b.db.sweep.Add(paths...)
		b.db.work = true
	}
}

// noteDue notes when a node expires, 0 for never. In a draft none does.
func (b *batch) noteDue(due int64) {
	if due != 0 && !b.Apart && (b.db.due == 0 || due < b.db.due) {
		b.db.due = due
	}
}
