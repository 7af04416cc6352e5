package sync

import (
	"errors"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

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

// A publisher works out which groups see a change and what they are sent. It
// looks at the state before and after the change is put into the transaction,
// so that every event is exact even if later writes of the batch change the
// same place.
type publisher struct {
	*batch
	writes []tree.ResolvedWrite
	merge  bool
	base   tree.Path
	views  []*view
	found  map[*group]*view // the views of an update of several writes

	entries map[entryKey]lookedUp // of children, when there are many views to ask for them

	meter *meter    // of what is read; nil if there are no views
	ready *prepared // what was done before; nil: nothing

	excess [][]*rules.Excess // for each write, what may have become larger than the rules allow
}

// A view is one group that may see the change.
type view struct {
	group    *group
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

// before finds the groups and notes what must be known of the state before the
// change.
func (p *publisher) before() error {
	if p.hub.listeners.Load() == 0 {
		return nil
	}
	for i, w := range p.writes {
		for g := range p.hub.Above(w.Path) {
			v := p.view(g)
			v.inside = append(v.inside, i)
		}
		if w.Priority {
			continue
		}
		for g := range p.hub.Below(w.Path) {
			p.view(g)
		}
	}
	if len(p.views) == 0 {
		return nil
	}
	p.meter = &meter{tx: p.tx, most: p.db.publishRows}
	p.meter.run()
	defer p.meter.stop()
	for _, v := range p.views {
		if err := p.lookBefore(v); errors.Is(err, errLag) {
			v.lags = true
		} else if err != nil {
			return err
		}
	}
	return nil
}

// view returns the view of a group, which several writes of an update may
// touch. A single write finds every group once, so there is nothing to search.
func (p *publisher) view(g *group) *view {
	if v := p.found[g]; v != nil {
		return v
	}
	v := &view{group: g}
	p.views = append(p.views, v)
	if len(p.writes) > 1 {
		if p.found == nil {
			p.found = make(map[*group]*view)
		}
		p.found[g] = v
	}
	return v
}

func (p *publisher) lookBefore(v *view) error {
	g := v.group
	if !g.query.IsAll() && !g.live {
		return nil
	}
	if len(v.inside) == 0 || !g.query.IsAll() && p.replaces(v) {
		if err := p.affords(g); err != nil {
			return err
		}
		n, err := p.tx.Window(g.path, g.query, maxCompare)
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
	p.touch(v)
	if g.query.Limit > 0 && !p.hasMany() {
		return nil // the window tells what was in it
	}
	for i := range v.children {
		c := &v.children[i]
		e, exists, err := p.entry(g, c.key)
		if err != nil {
			return err
		}
		if g.query.Limit > 0 {
			c.before, c.existed = e, exists
		} else {
			c.was = exists && g.query.InRange(e)
		}
	}
	v.looked = true
	return nil
}

// hasMany reports whether there are so many views that entries are looked up once
// for all of them.
func (p *publisher) hasMany() bool { return len(p.views) > 8 }

// An entryKey is a child in an order.
type entryKey struct {
	path       tree.Path
	order, key string
}

type lookedUp struct {
	entry  tree.Entry
	exists bool
}

// entry returns a child's entry in a group's order, as it is now.
func (p *publisher) entry(g *group, key string) (e tree.Entry, exists bool, err error) {
	order := g.query.Order()
	at := entryKey{g.path, order, key}
	if l, ok := p.entries[at]; ok {
		return l.entry, l.exists, nil
	}
	v, exists, err := p.tx.Indexes().Value(g.path.Child(key), order)
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
func (p *publisher) after() error {
	clear(p.entries)
	if len(p.views) == 0 {
		return nil
	}
	p.meter.run()
	defer p.meter.stop()
	if err := p.bound(); err != nil {
		return err
	}
	for _, v := range p.views {
		e, err := p.event(v)
		switch {
		case errors.Is(err, errLag):
			p.lag(v.group)
		case err != nil:
			return err
		case e != nil:
			e.Measure()
			p.events = append(p.events, delivery{v.group, e})
		}
	}
	return nil
}

func (p *publisher) event(v *view) (*outbox.Event, error) {
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
func (p *publisher) replaces(v *view) bool {
	w := p.writes[v.inside[0]]
	return !w.Priority && w.Path == v.group.path
}

// whole is the event of a view that a write at or above it replaced.
func (p *publisher) whole(v *view) (*outbox.Event, error) {
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
func (p *publisher) wholeNode(v *view) (tree.Node, error) {
	g := v.group
	switch {
	case g.query.IsAll() && len(v.inside) > 0:
		return p.writes[v.inside[0]].Node, nil
	case g.query.IsAll():
		// Not a part of what was written, which may be very large: to find it
		// there takes time for each of many views.
		return p.entering(g.path)
	case g.query.Limit > 0:
		if err := p.refill(g); err != nil {
			return tree.Empty, err
		}
		return lagsIfLarge(p.tx.Children(g.path, g.window, maxEntering))
	}
	if err := p.affords(g); err != nil {
		return tree.Empty, err
	}
	return lagsIfLarge(p.tx.Window(g.path, g.query, maxEntering))
}

// parts is the event of changes inside a view that shows everything.
func (p *publisher) parts(v *view) *outbox.Event {
	g := v.group
	if len(v.inside) == 1 && !(p.merge && g.path.Contains(p.base)) {
		w := p.writes[v.inside[0]]
		return outbox.Put(w.Target, w.Node)
	}
	e := &outbox.Event{Path: g.path, Merge: true}
	if p.merge && g.path.Contains(p.base) {
		e.Path = p.base
	}
	for _, i := range v.inside {
		w := p.writes[i]
		e.Add(tree.Target{Path: e.Path.Rel(w.Path), Priority: w.Priority}, w.Node)
	}
	return e
}

// The committer works out the events of a write as long as that takes few rows. The
// listeners of all other views that see the write lag: their views are read again when it
// is their turn to be sent, on a snapshot, as after an import.

const (
	// maxPublishRows is how many rows one write may read for its listeners.
	maxPublishRows = 4096
	// maxEntering is the size of the largest value that is read for an event. A client
	// that does not keep up would be sent the view in place of a larger one anyway.
	maxEntering = outbox.DefaultBytes
)

// errLag is the error of a view that takes too many rows, or bytes, to make its event.
var errLag = errors.New("the view is to be read outside of the committer")

// A meter counts the rows that are read for the listeners of one write, and ends reads that
// take too many.
type meter struct {
	tx        *store.Tx
	most      int
	rows      int // read so far, when the meter does not run
	start     int // rows that the transaction had read without these, when it does
	interrupt func() error
}

func (m *meter) run() {
	m.start = m.tx.Stats().Read - m.rows
	m.interrupt = m.tx.Interrupt
	m.tx.Interrupt = m.ended
}

func (m *meter) stop() {
	m.rows = m.tx.Stats().Read - m.start
	m.tx.Interrupt = m.interrupt
}

// left returns how many rows may still be read.
func (m *meter) left() int { return m.most - (m.tx.Stats().Read - m.start) }

func (m *meter) ended() error {
	if m.left() < 0 {
		return errLag
	}
	if m.interrupt != nil {
		return m.interrupt()
	}
	return nil
}

// affords returns errLag if the query of a group would read too many rows. With an index
// that shows when it does.
func (p *publisher) affords(g *group) error {
	left := p.meter.left()
	if left <= 0 {
		return errLag
	}
	indexed, err := p.tx.Indexed(g.path, g.query)
	if err != nil || indexed {
		return err
	}
	children, err := p.tx.Count(g.path, tree.Query{OrderBy: tree.ByKey, Limit: left + 1})
	if err == nil && children > left {
		return errLag
	}
	return err
}

// entering returns a value that is sent whole.
func (p *publisher) entering(at tree.Path) (tree.Node, error) {
	if p.meter.left() <= 0 {
		return tree.Empty, errLag
	}
	return lagsIfLarge(p.tx.GetLimit(at, maxEntering))
}

func lagsIfLarge(n tree.Node, err error) (tree.Node, error) {
	if errors.Is(err, store.ErrTooBig) {
		err = errLag
	}
	return n, err
}

// lag has the views of a group read again.
func (b *batch) lag(g *group) {
	b.forget(g)
	b.events = append(b.events, delivery{group: g})
}

// forget makes a group as if no listener had been sent its view. The first that
// is sent it brings the window.
func (b *batch) forget(g *group) {
	if !g.live {
		return
	}
	b.setWindow(g, nil)
	b.undo = append(b.undo, func() { g.live = true })
	g.live = false
}
