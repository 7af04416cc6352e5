package sync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/pieces"
	"github.com/dogwooddb/dogwood/sync/queue"
	"github.com/dogwooddb/dogwood/sync/quota"
	"github.com/dogwooddb/dogwood/sync/watch"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A write is large if its estimate is above this.
const costLarge = queue.MaxBatchCost / 2

// Large writes are stored in slices of so many bytes, each of them a task.
const (
	largeSlice = 256 << 10
	costSlice  = 5 * time.Millisecond
)

// largeAtOnce is how many large writes are prepared at a time, of one database. One
// address has half of them. Each of them has its value in memory, and they share the disk
// with small writes.
const largeAtOnce = 2

// largeTries is how often a large write is decided outside of the committer, if what
// the decision depends on changes meanwhile.
const largeTries = 5

func isLarge(w Write) bool { return (&writeTask{write: w}).cost() > costLarge }

// visits reports whether a write is large because the rules are asked about what is stored below
// it: their visits grow with that, and not with the write.
func visits(d *core, w Write) bool { return !w.Caller.Admin && d.rules.Load().Visits(w.Update) }

// manyLooked is how many nodes declared data may look at for a write that is not large. It also is if their
// expressions look at more than muchSpent bytes of text, or if lists move more.
const manyLooked = 64

// spreads reports whether a write is large because of declared data: it may touch any number
// of nodes, or text of any size, and now does with many or much, or is refused. That is found out on a snapshot, in the turn of
// the write, so the writes that are to come before it must be done.
func (wr *writer) spreads(ctx context.Context, w Write) (spreads bool, err error) {
	data := wr.db.data.Load()
	if !data.Spreads(w.Update) {
		return false, nil
	}
	err = wr.turnOf(w).Do(ctx, func() error {
		return wr.db.snapshot(func(tx *store.Tx) error {
			tx.Interrupt = ctx.Err
			b := &batch{Batch: audience.Batch{Ctx: ctx, Tx: tx, Rules: wr.db.rules.Load()}, db: wr.db, data: data}
			v, _, err := b.follow(w.Update, w.Caller, wr.db.options.Now())
			spreads = err != nil || v.follows != nil && (v.follows.Looked > manyLooked || v.follows.Spent > muchSpent)
			return nil
		})
	})
	return spreads, err
}

// A write that is not large is wide if its estimate is above costWide. The rows of many paths
// may lie far apart, so they take long to be put into the file. Such writes wait for that in
// front of the queue: in the committer, those of others would wait with them.
const (
	costWide = queue.MaxBatchCost / 20
	pathRows = 256 // bytes of the commit for each path, about
)

// room waits until a write can come if it is wide. left must be called when it is done; nil:
// the write is not wide.
func room(ctx context.Context, wr *writer, w Write, q *quota.Quota) (left func(), err error) {
	t := &writeTask{write: w}
	if t.cost() <= costWide {
		return nil, nil
	}
	return roomInTurn(ctx, wr, q, t.size()+int64(len(w.Update))*pathRows)
}

// roomInTurn is Store.Room in turns, like those of the queue behind it. All that wait in Room go on
// at the same moment, and the first ones get in: those would mostly be of the address with the most
// wide writes.
func roomInTurn(ctx context.Context, wr *writer, q *quota.Quota, bytes int64) (left func(), err error) {
	done, err := wr.rooms.Enter(ctx, q)
	if err != nil {
		return nil, err
	}
	defer done()
	return wr.db.store.Room(ctx, bytes)
}

// writeLarge carries out a large write: it is decided on a snapshot, its values are
// stored in slices that nothing refers to yet, and the committer only links them. If
// what the decision depends on has changed by then, it is made again. l is the line that
// the tasks are queued in. Errors are those of Write.
func (wr *writer) writeLarge(ctx context.Context, w Write, times span, l *line) (c *Commit, err error) {
	err = times.apply(func() error {
		c, err = wr.tryLarge(ctx, w, l)
		return err
	})
	times.finish(&w, err)
	return c, err
}

// A write whose data others change all the time could be decided for ever. So the tries outside are
// bounded. If not much follows from the write, it is then decided within the committer, where nothing
// changes meanwhile. The answer of others is ErrContended, which is true: nothing was written, and
// the client may try again. The building of declared data waits from the second try on.
func (wr *writer) tryLarge(ctx context.Context, w Write, l *line) (*Commit, error) {
	done, err := wr.large.Enter(ctx, w.Quota)
	if err != nil {
		return nil, err
	}
	defer done()
	p := new(prepared)
	defer func() { wr.discard(w, p, l) }()
	for try := 1; ; try++ {
		if try == 2 {
			wr.db.holds.Add(1)
			defer wr.db.holds.Add(-1)
		}
		c, err := wr.tryOnce(ctx, w, p, l)
		if try == largeTries && errors.Is(err, errOutdated) {
			c, err = wr.tryWithin(ctx, w, p, l)
		}
		switch {
		case !errors.Is(err, errOutdated) && !errors.Is(err, errUnprepared):
			return c, err
		case try < largeTries:
		case errors.Is(err, errUnprepared):
			return nil, &fault.StaleError{} // as in carryOut
		default:
			wr.db.log.Warn("a large write was given up: what it depends on changed each time that it was decided", "database", wr.db.store.String(), "path", w.Base.String(), "tries", try)
			return nil, fault.ErrContended
		}
	}
}

// tryWithin has the committer decide a write that is only large because of what follows from it, if
// that is not much. p is how it was decided last. The error is errOutdated if it is large, or has
// become so.
func (wr *writer) tryWithin(ctx context.Context, w Write, p *prepared, l *line) (*Commit, error) {
	f := p.follows
	if isLarge(w) || visits(wr.db, w) || f != nil && (len(f.Derived) > mostWithin || f.Looked > 2*mostWithin) {
		return nil, errOutdated
	}
	t := &largeTask{writeTask: writeTask{write: w, few: true}, line: l, paths: max(len(p.writes), len(w.Update))}
	left, err := roomInTurn(ctx, wr, w.Quota, int64(t.paths)*pathRows)
	if err != nil {
		return nil, err
	}
	defer left()
	if err := wr.doLarge(ctx, t); err != nil {
		return nil, err
	}
	return &t.commit, nil
}

// tryOnce prepares a large write and has the committer carry it out. Before its values
// are stored, the committer says whether there is anything to carry out.
func (wr *writer) tryOnce(ctx context.Context, w Write, p *prepared, l *line) (*Commit, error) {
	if err := wr.prepare(ctx, w); err != nil {
		return nil, err
	}
	if w.If != nil || w.ID != nil {
		t := &largeTask{writeTask: writeTask{write: w, probe: true}, line: l}
		switch err := wr.doLarge(ctx, t); {
		case err == nil:
			return &t.commit, nil // it was carried out before
		case !errors.Is(err, errToDo):
			return nil, err
		}
	}
	turn := wr.turnOf(w)
	if err := turn.Do(ctx, func() error { return wr.prepareLarge(ctx, w, p, l) }); err != nil {
		return nil, err
	}
	defer wr.db.audience.Unwatch(p.watch)
	t := &largeTask{writeTask: writeTask{write: w, ready: p}, line: l}
	left, err := roomInTurn(ctx, wr, w.Quota, int64(len(w.Update))*pathRows)
	if err != nil {
		return nil, err
	}
	defer left()
	if err := wr.doLarge(ctx, t); err != nil {
		return nil, err
	}
	if t.commit.Writes != nil { // it was carried out now
		p.load = nil
		if t.noted {
			p.text = pieces.Pieces{}
		}
	}
	return &t.commit, nil
}

// doLarge queues a task of a large write. Its outcome is known, even if the caller has
// left.
func (wr *writer) doLarge(ctx context.Context, t *largeTask) error {
	return wr.db.do(context.WithoutCancel(ctx), t)
}

// prepareLarge decides a write in the current state and stores its values, unless p has
// stored them. It runs in the turn of the write, which it leaves while it waits for the
// committer.
func (wr *writer) prepareLarge(ctx context.Context, w Write, p *prepared, l *line) error {
	before := p.writes
	if err := wr.decideLarge(ctx, w, p); err != nil {
		return err
	}
	if p.denied != nil {
		if w.If == nil && w.ID == nil && w.left == nil {
			wr.db.audience.Unwatch(p.watch)
			return p.denied
		}
		return nil // the committer knows which refusal it is, or that it was carried out before, or removes what was left
	}
	if p.load != nil && slices.Equal(before, p.writes) {
		return nil
	}
	if p.load != nil || p.text.Sent > 0 { // of the try before
		_ = wr.turnOf(w).Yield(func() error { wr.discard(w, p, l); return nil })
	}
	err := wr.loadLarge(ctx, w, p, l)
	if err != nil {
		wr.db.audience.Unwatch(p.watch)
	}
	return err
}

// decideLarge decides a write on a snapshot. From then on p.watch tells whether the
// decision is still true.
func (wr *writer) decideLarge(ctx context.Context, w Write, p *prepared) (err error) {
	tx, watched, err := wr.db.audience.WatchedSnapshot()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	tx.Interrupt = ctx.Err
	noted := &watch.Reader{Tree: tx}
	p.rules, p.data, p.watch = wr.db.rules.Load(), wr.db.data.Load(), watched
	b := &batch{Batch: audience.Batch{Ctx: ctx, Tx: tx, Rules: p.rules}, db: wr.db, data: p.data, noted: noted}
	err = fault.Guard(func() (err error) {
		if p.decidedWrite, err = b.decide(&w, wr.db.options.Now()); err == nil {
			err = p.measure()
		}
		return err
	})
	if err != nil {
		wr.db.audience.Unwatch(watched)
		return decideError(err)
	}
	wr.db.audience.Settle(watched, noted.Paths())
	return nil
}

// decideError returns what a write fails with whose decision failed.
func decideError(err error) error {
	if storage := (*fault.StorageError)(nil); errors.As(err, &storage) {
		return fault.Unavailable(err)
	}
	return err
}

// loadLarge stores the values of a write that are larger than one row.
//
// Each slice is a task of its own in the line of the write, so small writes of
// others go in between. The turn is given up while a slice waits for the
// committer (Yield): otherwise two large writes that wait for the disk would
// keep all other clients from reading large values.
func (wr *writer) loadLarge(ctx context.Context, w Write, p *prepared, l *line) error {
	var nodes []store.PathNode
	p.parts = make(map[tree.Path]int)
	for _, v := range p.writes {
		if !v.Priority && len(v.Node.Text()) > store.PackLimit {
			p.parts[v.Path] = len(nodes)
			nodes = append(nodes, store.PathNode{Path: v.Path, Node: v.Node})
		}
	}
	if err := wr.sendParts(ctx, &w, p, l); err != nil || len(nodes) == 0 {
		return err
	}
	step := func(f func(*store.Tx) error) error {
		return wr.turnOf(w).Yield(func() error {
			left, err := roomInTurn(ctx, wr, w.Quota, largeSlice)
			if err != nil {
				return err
			}
			defer left()
			return stepOfLoad(wr.db, f, &call{bytes: largeSlice, quota: w.Quota, line: l, takes: costSlice})
		})
	}
	load, err := wr.db.store.NewLoad(w.Base, store.LoadOptions{SliceBytes: largeSlice, Update: step})
	if err == nil {
		p.load = load
		err = load.Nodes(ctx, nodes)
	}
	return loadError(err)
}

// stepOfLoad carries out a step of a load as a task of the committer. Its outcome is known, even if
// the caller has left.
func stepOfLoad(d *core, f func(*store.Tx) error, t *call) error {
	t.f = func(b *batch) error {
		err := f(b.Tx)
		if errors.Is(err, store.ErrLoadEnded) {
			return err
		}
		b.dirty = b.dirty || err == nil
		return fault.Broken(err)
	}
	return d.do(context.Background(), t)
}

// loadError returns what a write fails with whose values could not be stored. Nothing
// refers to a slice of unknown outcome, so the write has no effect.
func loadError(err error) error {
	switch {
	case errors.Is(err, fault.ErrClosed):
		return fault.ErrClosed
	case errors.Is(err, fault.ErrUnknown):
		return fmt.Errorf("%w: %v", fault.ErrUnavailable, err)
	}
	return err
}

// discard leaves what was stored for a write that did not take effect to be reclaimed. It waits for
// the committer, so its caller should hold no turn. It is one small task, also for a client that
// has left.
func (wr *writer) discard(w Write, p *prepared, l *line) {
	p.text.Drop(wr.db.putDrop)
	if p.load == nil {
		return
	}
	step := func(f func(*store.Tx) error) error {
		return stepOfLoad(wr.db, f, &call{quota: w.Quota, line: l})
	}
	if err := p.load.AbortBy(step); err != nil && !wr.db.closed.Load() {
		wr.db.log.Error("a large write could not be taken back yet", "database", wr.db.store.String(), "err", err)
	}
	p.load = nil
}

// A largeTask makes a prepared write take effect, or probes whether one may.
type largeTask struct {
	writeTask
	waiter
	line  *line
	paths int // that it will write, about
}

func (t *largeTask) sender() (*quota.Quota, *line) { return t.write.Quota, t.line }

func (t *largeTask) cost() time.Duration {
	paths := max(len(t.write.Update), t.paths)
	if t.ready != nil {
		paths = len(t.ready.writes)
	}
	return queue.TaskCost + time.Duration(paths)*costPath
}
