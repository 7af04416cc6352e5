package audience

import (
	"context"
	"iter"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/access"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// end ends the listens of a group that show more than the rules allow, but those of
// administrators.
func (b *Batch) end(g *group, x *rules.Excess) {
	b.Undo = append(b.Undo, b.grants.restoring(g.listeners))
	for _, l := range g.listeners {
		if !l.read.Caller.Admin && !l.revoked {
			l.revoked = true
			b.revoked = append(b.revoked, revocation{l, &fault.UnboundedError{Excess: x}})
		}
	}
}

// boundGroups ends the listens whose views are too large for new rules. The views of those
// that take many rows are read again, and measured then.
func (b *Batch) boundGroups() error {
	if !b.Rules.Limited() {
		return nil
	}
	m := &meter{tx: b.Tx, most: b.PublishRows, looks: &tree.Looks{Most: maxSpent}}
	m.run()
	defer m.stop()
	for g := range b.hub.All() {
		if err := b.boundGroup(m, g); err != nil {
			return err
		}
	}
	return nil
}

func (b *Batch) boundGroup(m *meter, g *group) error {
	if b.Rules.Limits(g.path) == nil {
		return nil
	}
	x, err := (*rules.Excess)(nil), errLag
	if m.left() > 0 {
		x, err = b.Rules.Excess(b.Tx, g.path, g.query, false)
	}
	switch {
	case makesLag(err):
		b.lag(g)
	case err != nil:
		return err
	case x != nil:
		b.end(g, x)
	}
	return nil
}

// bound measures what a listener shows that was attached just now, or has no
// administrator any more. It need not be repeated: what writes add is measured by them.
func (a *Audience) bound(turn *limit.Share, r access.Read) error {
	if r.Caller.Admin || a.host.Rules().Limits(r.Path) == nil {
		return nil
	}
	if err := turn.Acquire(context.Background(), 1); err != nil {
		return err
	}
	defer turn.Release(1)
	return a.snapshot(func(tx *store.Tx) error { return access.WithinLimits(a.host.Rules(), tx, r) })
}

// boundAll ends those listeners whose views are too large for callers that are no
// administrators.
func (a *Audience) boundAll(turn *limit.Share, listeners []*Listener) {
	for _, l := range listeners {
		if err := a.bound(turn, l.read); err != nil {
			l.outgrow(err)
		}
	}
}

// What listens show may become more than a .limit of the rules allows. A write measures
// what it writes, the nodes on the way to it, and what enters a window. It does not measure
// what was shown before. A view that is read whole is measured then.

// bound finds what the writes have made larger than the rules allow, and ends the listens
// that show all of it. It never measures a whole view for each write: that would make
// small writes as dear as the views are large.
func (p *Change) bound() error {
	if !p.Rules.Limited() {
		return nil
	}
	p.excess = make([][]*rules.Excess, len(p.Writes))
	var grown error
	for i := range p.Writes {
		list, err := p.grown(i)
		if p.excess[i] = list; err != nil {
			grown = err
		}
	}
	for _, v := range p.views {
		err := grown
		if err == nil {
			err = p.boundView(v)
		}
		if makesLag(err) { // the view is measured when it is read
			v.lags = true
		} else if err != nil {
			return err
		}
	}
	return nil
}

// grown returns the nodes that are larger than their limit and that a write may have made
// so: those on the way to it, and the first one of those that it brings.
func (p *Change) grown(i int) (list []*rules.Excess, err error) {
	w := p.Writes[i]
	if w.Priority || w.Node.IsEmpty() {
		return nil, nil
	}
	l, at, rest := p.Rules.Limits(tree.Root), tree.Root, w.Path
	for l != nil {
		key, below, ok := rest.Cut()
		if !ok {
			return p.brought(i, list)
		}
		x, err := l.Excess(p.Tx, at, tree.Query{})
		if err != nil {
			return nil, err
		}
		if x != nil {
			list = append(list, x)
		}
		l, at, rest = l.Child(key), at.Child(key), below
	}
	return list, nil
}

// brought adds what is too large in what was written. Of a large write that was found when
// it was prepared.
func (p *Change) brought(i int, list []*rules.Excess) ([]*rules.Excess, error) {
	w := p.Writes[i]
	if !w.Node.IsObject() {
		return list, nil
	}
	x, err := (*rules.Excess)(nil), error(nil)
	if p.Measured != nil {
		x = p.Measured[w.Path]
	} else {
		x, err = Excess(p.Rules, w)
	}
	if x != nil {
		list = append(list, x)
	}
	return list, err
}

// Excess returns the first node of a written value that is too large.
func Excess(rs *rules.Ruleset, w tree.ResolvedWrite) (*rules.Excess, error) {
	if rs.Limits(w.Path) == nil {
		return nil, nil
	}
	return rs.Excess(writtenChildren(w), w.Path, tree.Query{}, false)
}

// boundView ends the listens of a view, which the write may have changed, if it shows a
// node that is too large for sure. What it may show is looked at when its event is made, or
// the view is read.
func (p *Change) boundView(v *view) error {
	g := v.group
	if len(v.inside) == 0 {
		v.lags = v.lags || p.broughtTo(g.path)
		return nil
	}
	for _, i := range v.inside {
		for _, x := range p.excess[i] {
			switch {
			case !g.path.Contains(x.Path):
			case g.query.IsAll():
				p.end(g, x)
				return nil
			case x.Path == g.path && !p.replaces(v):
				x, err := p.Rules.Limits(g.path).Excess(p.Tx, g.path, g.query)
				if err != nil {
					return err
				}
				if x != nil {
					p.end(g, x)
					return nil
				}
			case p.replaces(v):
				v.lags = true
			}
		}
	}
	return nil
}

// broughtTo reports whether a write at or above a path brought what is too large somewhere,
// and there are limits at the path or below it.
func (p *Change) broughtTo(at tree.Path) bool {
	for i, w := range p.Writes {
		for _, x := range p.excess[i] {
			if w.Path.Contains(at) && w.Path.Contains(x.Path) && p.Rules.Limits(at) != nil {
				return true
			}
		}
	}
	return false
}

// boundChild ends the listens of a filtered view if a child that it shows now is too large:
// one that was written, or one that has come in.
func (p *Change) boundChild(v *view, c viewChild) error {
	if !p.Rules.Limited() {
		return nil
	}
	g := v.group
	for _, i := range c.writes {
		for _, x := range p.excess[i] {
			if x.Path != g.path && g.path.Contains(x.Path) {
				p.end(g, x)
				return nil
			}
		}
	}
	if c.was {
		return nil
	}
	x, err := p.Rules.Excess(p.Tx, g.path.Child(c.key), tree.Query{}, false)
	if x != nil {
		p.end(g, x)
	}
	return err
}

// writtenChildren are the children of what is written, for the limits.
type writtenChildren tree.ResolvedWrite

func (w writtenChildren) at(p tree.Path) tree.Node { return w.Node.Get(w.Path.Rel(p)) }

func (w writtenChildren) Keys(p tree.Path) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for key := range w.at(p).Children() {
			if !yield(key, nil) {
				return
			}
		}
	}
}

func (w writtenChildren) Count(p tree.Path, q tree.Query) (int, error) {
	if !q.Start.Set && !q.End.Set {
		return w.at(p).NumChildren(), nil
	}
	return len(q.Entries(w.at(p))), nil
}

func (w writtenChildren) Query(p tree.Path, q tree.Query) ([]tree.Entry, error) {
	return q.Entries(w.at(p)), nil
}

// withinLimits measures a view that is about to be read.
func (v viewing) withinLimits(rs *rules.Ruleset, p tree.Path, q tree.Query) error {
	if v.admin || rs.Limits(p) == nil {
		return nil
	}
	children := rules.Children(v.tx)
	if q.Limit > 0 {
		children = windowChildren{v.tx, p, v.window}
	}
	x, err := rs.Excess(children, p, q, false)
	if x != nil {
		return &fault.UnboundedError{Excess: x}
	}
	return err
}

// windowChildren is a tree in which the window at a path is known.
type windowChildren struct {
	rules.Children
	path   tree.Path
	window []tree.Entry
}

func (w windowChildren) Count(p tree.Path, q tree.Query) (int, error) {
	if p == w.path {
		return len(w.window), nil
	}
	return w.Children.Count(p, q)
}

func (w windowChildren) Query(p tree.Path, q tree.Query) ([]tree.Entry, error) {
	if p == w.path {
		return w.window, nil
	}
	return w.Children.Query(p, q)
}
