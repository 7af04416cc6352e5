package audience

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/expression"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/trace"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A Batch is the part of a batch of writes that an audience has.
//
// It ends in one of two ways. After the commit is durable, Publish queues the
// events and runs Committed. Otherwise Rollback puts windows back and runs
// Undo, from the last to the first, since later steps may rest on earlier ones.
// Both are called with the lock held.
type Batch struct {
	*Audience
	Ctx       context.Context
	Tx        *store.Tx
	Rules     *rules.Ruleset // in force for the next task
	Committed []func()       // to be run after the commit
	Undo      []func()       // to be run if the batch does not commit, last first
	Writes    uint32         // so many are in the entry of the log by now
	Revision  uint64         // of the commit; 0: it has none of its own
	Apart     bool           // it is a draft and not the committer's, and holds up no other write

	events  []delivery    // to be published in order
	revoked []revocation  // listens that end with the commit
	saved   []savedWindow // windows as they were before the batch
	told    int           // listeners of the events, each as often as it is told
}

// A delivery is an event with the group it goes to.
type delivery struct {
	group *group
	event *outbox.Event // nil: the listeners lag, and are sent their views
}

func (e delivery) size() int {
	if e.event == nil {
		return 0
	}
	return e.event.Size()
}

// A Change works out which groups see the writes of one task and what they are sent, and
// whose permission they change. It looks at the state before and after they are put into the
// transaction, so that every event is exact even if later writes of the batch change the
// same place.
//
// The order is Before, the puts, After. Before finds the groups and notes what has to be
// known of the old state; After decides about permissions first, so that a listener which
// loses its view by this write does not see it, and then makes the events.
//
// Its reads of the store are bounded by a meter. A group whose event would cost more
// lags: its window is forgotten and its listeners are sent the whole view, each in its own
// turn and outside of the committer.
type Change struct {
	*Batch
	Writes []tree.ResolvedWrite
	Merge  bool // they are an update of the children of Base
	Base   tree.Path
	Whole  bool // views are read again whole, as they may be large

	// Measured is what is larger than the rules allow of the values that were prepared; nil:
	// they were not.
	Measured map[tree.Path]*rules.Excess

	touched reviewing
	visits  []visit
	lagging []*pathGroups // below the writes, if these are more than rows may be read
	indexed bool          // only some of the groups of a path are visited
	looked  int           // children of views
	views   []*view

	entries  map[entryKey]lookedUp          // of children, when there are many views to ask for them
	filtered map[childKey]*expression.Child // the children that filters have looked at
	looks    *tree.Looks                    // of all filters; nil if there are no views

	meter *meter // of what is read; nil if there are no views

	excess [][]*rules.Excess // for each write, what may have become larger than the rules allow
}

// A view is one group that may see the change.
type view struct {
	group    *group
	visit    int         // in Change.visits
	inside   []int       // writes at or below the group's path; none: one above covers it
	old      tree.Node   // covered, or filtered and replaced: the view before
	known    bool        // old is not too large to be known
	children []viewChild // of a filtered view: those that the change touches
	own      bool        // of a filtered view: the change sets its own priority
	looked   bool        // of a limited view: before and existed of its children are known
	lags     bool        // too much would have to be read to make an event
}

// maxCompare is the largest view that is compared to find out that a write
// above it left it as it was. Larger ones are sent again.
const maxCompare = 256 << 10

// Before notes what must be known of the state before the change.
func (p *Change) Before() error {
	if !p.Whole {
		if err := p.before(); err != nil {
			return err
		}
	}
	p.touched = p.reviewing(p.Writes)
	return nil
}

// After decides about the listens whose permission the change may have changed, and makes
// the events of the others from the state after it.
func (p *Change) After() error {
	p.watches.Touch(p.Writes)
	p.review(p.touched)
	for _, at := range p.lagging {
		for _, g := range at.groups {
			p.lag(g)
		}
	}
	if !p.Whole {
		return p.after()
	}
	for _, w := range p.Writes {
		for g := range p.hub.Above(w.Path) {
			p.lag(g)
		}
		for g := range p.hub.Below(w.Path) {
			p.lag(g)
		}
	}
	return nil
}

// before finds the groups.
func (p *Change) before() error {
	p.visit()
	if len(p.visits) == 0 {
		return nil
	}
	p.looks = &tree.Looks{Most: maxSpent}
	p.meter = &meter{tx: p.Tx, most: p.PublishRows, looks: p.looks}
	p.meter.run()
	defer p.meter.stop()
	if err := p.choose(); err != nil {
		return err
	}
	for _, v := range p.views {
		if err := p.lookBefore(v); makesLag(err) {
			v.lags = true
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (p *Change) lookBefore(v *view) error {
	g := v.group
	if !g.query.IsAll() && !g.live {
		return nil
	}
	if len(v.inside) == 0 || !g.query.IsAll() && p.replaces(v) {
		if err := p.affords(g); err != nil {
			return err
		}
		n, err := p.Tx.Window(g.path, g.query, maxCompare)
		v.old, v.known = n, err == nil
		if errors.Is(err, store.ErrTooBig) {
			return nil
		}
		return err
	}
	if g.query.IsAll() {
		return nil
	}
	if p.meter.left() <= 0 {
		return errLag
	}
	at := &p.visits[v.visit]
	children, err := p.touch(at)
	if err != nil {
		return err
	}
	v.children, v.own = children, at.whole
	if g.query.Limit > 0 && !p.hasMany() {
		return nil // the window tells what was in it
	}
	for i := range v.children {
		c := &v.children[i]
		e, exists, err := p.entry(g.path, g.query.Order(), c.key)
		if err != nil {
			return err
		}
		if g.query.Limit > 0 {
			c.before, c.existed = e, exists
		} else {
			if c.was, err = p.selects(g, e, exists); err != nil {
				return err
			}
		}
	}
	v.looked = true
	return nil
}

// hasMany reports whether there are so many views that entries are looked up once
// for all of them, and for the index.
func (p *Change) hasMany() bool { return p.indexed || len(p.views) > 8 }

// An entryKey is a child in an order.
type entryKey struct {
	path       tree.Path
	order, key string
}

type lookedUp struct {
	entry  tree.Entry
	exists bool
}

// entry returns a child's entry in an order, as it is now.
func (p *Change) entry(path tree.Path, order, key string) (e tree.Entry, exists bool, err error) {
	at := entryKey{path, order, key}
	if l, ok := p.entries[at]; ok {
		return l.entry, l.exists, nil
	}
	v, exists, err := p.Tx.Indexes().Value(path.Child(key), order)
	e = tree.Entry{Key: key, Value: v}
	if err == nil && p.hasMany() {
		if p.entries == nil {
			p.entries = make(map[entryKey]lookedUp)
		}
		p.entries[at] = lookedUp{e, exists}
	}
	return e, exists, err
}

// after makes the events from the state after the change.
func (p *Change) after() error {
	clear(p.entries)
	p.unsee()
	defer p.unsee()
	if len(p.visits) == 0 {
		return nil
	}
	p.meter.run()
	defer p.meter.stop()
	if err := p.chooseEntered(); err != nil || len(p.views) == 0 {
		return err
	}
	if err := p.bound(); err != nil {
		return err
	}
	for _, v := range p.views {
		e, err := p.event(v)
		switch {
		case makesLag(err):
			p.lag(v.group)
		case err != nil:
			return err
		case e != nil:
			e.Measure()
			e.Position.Writes = p.Batch.Writes
			p.tell(delivery{v.group, e})
		}
	}
	return nil
}

func (p *Change) event(v *view) (*outbox.Event, error) {
	g := v.group
	switch {
	case !g.query.IsAll() && !g.live:
		return nil, nil // no listener has been sent the view yet
	case v.lags:
		return nil, errLag
	case len(v.inside) == 0 || p.replaces(v):
		return p.whole(v)
	case g.query.IsAll():
		return p.parts(v), nil
	case p.meter.left() <= 0:
		return nil, errLag
	}
	return p.windowEvent(v)
}

// replaces reports whether the change replaces the whole node of a view.
func (p *Change) replaces(v *view) bool {
	w := p.Writes[v.inside[0]]
	return !w.Priority && w.Path == v.group.path
}

// whole is the event of a view that a write at or above it replaced.
func (p *Change) whole(v *view) (*outbox.Event, error) {
	g := v.group
	n, err := p.wholeNode(v)
	if err != nil {
		return nil, err
	}
	if v.known && n == v.old {
		return nil, nil
	}
	return outbox.Put(tree.Target{Path: g.path}, n), nil
}

// wholeNode returns the view after the change.
func (p *Change) wholeNode(v *view) (tree.Node, error) {
	g := v.group
	switch {
	case g.query.IsAll() && len(v.inside) > 0:
		return p.Writes[v.inside[0]].Node, nil
	case g.query.IsAll():
		// Not a part of what was written, which may be very large: to find it
		// there takes time for each of many views.
		return p.entering(g.path)
	case g.query.Limit > 0:
		if err := p.refill(g); err != nil {
			return tree.Empty, err
		}
		return lagsIfLarge(p.Tx.Children(g.path, g.window, maxEntering))
	}
	if err := p.affords(g); err != nil {
		return tree.Empty, err
	}
	return lagsIfLarge(p.Tx.Window(g.path, g.query, maxEntering))
}

// parts is the event of changes inside a view that shows everything.
func (p *Change) parts(v *view) *outbox.Event {
	g := v.group
	if len(v.inside) == 1 && !(p.Merge && g.path.Contains(p.Base)) {
		w := p.Writes[v.inside[0]]
		return outbox.Put(w.Target, w.Node)
	}
	e := &outbox.Event{Path: g.path, Merge: true}
	if p.Merge && g.path.Contains(p.Base) {
		e.Path = p.Base.Clone()
	}
	for _, i := range v.inside {
		w := p.Writes[i]
		e.Add(tree.Target{Path: e.Path.Rel(w.Path), Priority: w.Priority}, w.Node)
	}
	return e
}

// Touch tells the watches of writes that change something else than the tree at their paths.
func (b *Batch) Touch(writes []tree.ResolvedWrite) { b.watches.Touch(writes) }

// lag has the views of a group read again.
func (b *Batch) lag(g *group) {
	b.forget(g)
	b.tell(delivery{group: g})
}

func (b *Batch) tell(d delivery) {
	b.events = append(b.events, d)
	b.told += len(d.group.listeners)
}

// forget makes a group as if no listener had been sent its view. The first that
// is sent it brings the window.
func (b *Batch) forget(g *group) {
	if !g.live || g.query.IsAll() { // of everything there is no window
		return
	}
	_ = b.setWindow(g, nil) // none is not too much
	b.Undo = append(b.Undo, func() { g.live = true })
	g.live = false
	g.reindex()
}

// Events returns how many events the batch has.
func (b *Batch) Events() int { return len(b.events) }

// Deliveries returns how many events Publish has to keep and to queue: one for each listener that is
// told, and no less than Events.
func (b *Batch) Deliveries() int { return max(b.told, len(b.events)) }

// Rollback puts back what tasks changed outside of the transaction.
func (b *Batch) Rollback() {
	for _, s := range slices.Backward(b.saved) {
		s.group.show(s.window)
	}
	for _, f := range slices.Backward(b.Undo) {
		f()
	}
	for _, s := range b.saved {
		s.group.reindex()
	}
}

// Publish queues the events for their listeners, except for those that lose
// their view in this batch, and tells these. It holds no lock that a slow
// consumer could hold. It returns how many listeners were told.
//
// The events of a group go to all of its listeners before those of the next
// one, in the order of the writes. A listener whose grant is stale gets a
// marker for its whole view instead, which is read when it has been decided
// about.
func (b *Batch) Publish() (told int) {
	for _, e := range b.events {
		began := b.host.Watchers.Begin()
		if e.event != nil {
			e.event.Revision = cmp.Or(b.Revision, b.revision.Load())
		}
		if e.event != nil && b.host.History != nil {
			e.event.Position = b.host.History.Written(b.Revision, e.event.Position.Writes)
		}
		for _, l := range e.group.listeners {
			switch {
			case l.revoked:
			case e.event == nil || b.grants.isStale(l.grant):
				l.out.PushWhole(&l.shown)
			default:
				l.out.PushEvent(&l.shown, e.event)
			}
		}
		if e.event != nil {
			e.event.Told()
		}
		told += len(e.group.listeners)
		if n := len(e.group.listeners); n > 0 && !began.IsZero() {
			b.host.Watchers.Tell(trace.Operation{Name: trace.OpBroadcast, Took: time.Since(began), Path: e.group.path, Bytes: n * e.size(), Listeners: n, Query: e.group.query})
		}
	}
	for _, r := range b.revoked {
		b.revoke(r.listener, r.why)
	}
	for _, f := range b.Committed {
		f()
	}
	if b.Revision > 0 {
		b.revision.Store(b.Revision)
	}
	return told
}

// Reached returns how many listeners would be sent an event, and how many would lose their
// view.
func (b *Batch) Reached() (heard, cancelled int) {
	all := make(map[*Listener]bool)
	for _, d := range b.events {
		for _, l := range d.group.listeners {
			if !l.revoked {
				all[l] = true
			}
		}
	}
	return len(all), len(b.revoked)
}
