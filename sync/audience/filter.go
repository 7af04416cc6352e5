package audience

import (
	"errors"

	"github.com/dogwooddb/dogwood/rules/expression"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Queries with a filter. A view with one is a view like any other: what begins to match comes
// in, and what ceases to match leaves. But a child has to be looked at,
// before and after the write, and that this takes time in the committer.

// maxSpent is how much the filters of all views together may spend on one write: bytes of
// text, steps of regular expressions, and lookCost for each look. Views beyond it lag. It is also
// how much may be spent on bringing a window up to date while the lock is held.
const (
	maxSpent = 1 << 20
	lookCost = 64
)

// maxLooked is the largest child that is read into memory for the filters of a change. In a
// larger one they look for what they need.
const maxLooked = 16 << 10

// A look is that of filters at a child as it is now.
type look struct {
	path   tree.Path // of its parent
	order  string
	entry  tree.Entry  // in the order
	data   tree.Reader // nil: no filter has looked yet
	parent tree.Path   // where data has the child
}

// A childKey is a child of a path.
type childKey struct {
	path tree.Path
	key  string
}

// selects reports whether the query of a group shows a child, as it is now, if its limit
// does. It is the range first, which costs nothing.
func (p *Change) selects(g *group, e tree.Entry, exists bool) (bool, error) {
	if !exists || !g.query.InRange(e) {
		return false, nil
	}
	if g.query.Filter == nil {
		return true, nil
	}
	return p.matches(&look{path: g.path, entry: e}, g.query.Filter)
}

// matches reports whether a filter matches.
func (p *Change) matches(l *look, f tree.Filter) (bool, error) {
	if err := p.look(l); err != nil {
		return false, err
	}
	ok, spent, err := f.Match(l.data, l.parent, l.entry.Key, maxSpent-p.looks.Spent)
	if p.looks.Spent += spent; p.looks.Spent > maxSpent && err == nil {
		err = errLag
	}
	return ok, err
}

// look prepares for a look at a child, and counts it.
func (p *Change) look(l *look) error {
	if p.looks.Spent += lookCost; p.looks.Spent > maxSpent {
		return errLag
	}
	if l.data != nil {
		return nil
	}
	return p.see(l)
}

// see finds where filters look at a child: at its node in memory, once for all of them.
func (p *Change) see(l *look) error {
	at := childKey{l.path, l.entry.Key}
	if c := p.filtered[at]; c != nil {
		l.data = c
		return nil
	}
	n, err := p.Tx.GetLimit(l.path.Child(at.key), maxLooked)
	if errors.Is(err, store.ErrTooBig) {
		l.data, l.parent = p.Tx, l.path
		return nil
	}
	if err != nil {
		return err
	}
	if p.filtered == nil {
		p.filtered = make(map[childKey]*expression.Child)
	}
	c := expression.NewChild(tree.OneChild{Key: at.key, Child: n})
	p.filtered[at], l.data = c, c
	return nil
}

// unsee forgets the children that filters have looked at: they change, or are not asked for any more.
func (p *Change) unsee() {
	for _, c := range p.filtered {
		c.Close()
	}
	clear(p.filtered)
}

// makesLag reports whether a view is to be read outside of the committer: to make its event
// takes too much, or its filter does.
func makesLag(err error) bool {
	return errors.Is(err, errLag) || errors.As(err, new(*tree.LooksError))
}

// selects is Change.selects for the looks of a read.
func selects(looks *tree.Looks, q tree.Query, e tree.Entry, exists bool) (bool, error) {
	if !exists || !q.InRange(e) {
		return false, nil
	}
	return looks.At(e.Key)
}
