package audience

import (
	"errors"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Queries with a filter. A view with one is a view like any other: what begins to match comes
// in, and what ceases to match leaves. But a child has to be looked at,
// before and after the write, and that this takes time in the committer.

// maxSpent is how much the filters of all views together may spend on one write: bytes of
// text, steps of regular expressions, and lookCost for each look. Views beyond it lag.
const (
	maxSpent = 1 << 20
	lookCost = 64
)

// maxLooked is the largest child that is read into memory for the filters of a change. In a
// larger one they look for what they need.
const maxLooked = 16 << 10

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
	if p.spent += lookCost; p.spent > maxSpent {
		return false, errLag
	}
	data, parent, err := p.child(g.path, e.Key)
	if err != nil {
		return false, err
	}
	ok, spent, err := g.query.Filter.Match(data, parent, e.Key)
	p.spent += spent
	return ok, err
}

// child returns where filters look at a child: at its node in memory, once for all of them.
func (p *Change) child(path tree.Path, key string) (data tree.Reader, parent tree.Path, err error) {
	at := childKey{path, key}
	if data := p.filtered[at]; data != nil {
		return data, tree.Root, nil
	}
	n, err := p.Tx.GetLimit(path.Child(key), maxLooked)
	if errors.Is(err, store.ErrTooBig) {
		return p.Tx, path, nil
	}
	if err != nil {
		return nil, path, err
	}
	if p.filtered == nil {
		p.filtered = make(map[childKey]tree.Reader)
	}
	data = tree.OneChild{Key: key, Child: n}
	p.filtered[at] = data
	return data, tree.Root, nil
}

// makesLag reports whether a view is to be read outside of the committer: to make its event
// takes too much, or its filter does.
func makesLag(err error) bool {
	return errors.Is(err, errLag) || errors.As(err, new(*tree.LooksError))
}

// selects is Change.selects for one look.
func selects(tx *store.Tx, path tree.Path, q tree.Query, e tree.Entry, exists bool) (bool, error) {
	if !exists || !q.InRange(e) {
		return false, nil
	}
	looks := tree.Looks{Data: tx, Path: path, Filter: q.Filter}
	return looks.At(e.Key)
}
