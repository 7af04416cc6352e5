package sync

import (
	"github.com/dogwooddb/dogwood/sync/access"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree"
)

// hidden says which increments of a write its caller does not see.
type hidden struct {
	update tree.Update
	paths  map[tree.Path]bool // nil: all of them
}

// sumsOf returns the paths of the increments of a write whose answer has their sums, or
// those of the first ones if there are more than the rules are asked about.
func sumsOf(w Write) (paths []tree.Path) {
	if w.Caller.Admin || !w.Shown && !w.Returns {
		return nil
	}
	for _, u := range w.Update {
		for v := range u.Value.ServerValues() {
			if !v.Increment {
				continue
			}
			if paths = append(paths, u.Path.Join(v.At.Path)); len(paths) > maxReturned {
				return paths
			}
		}
	}
	return paths
}

// hide returns the increments of a write that its caller may not read after it: a sum
// reveals the old value. nil: the caller may read all of them. A caller that may read the
// path of the request may read everything below it, so this is one decision for most
// writes. If there are too many increments to decide about each, all are hidden.
func (b *batch) hide(w *Write) (*hidden, error) {
	at := access.State{Rules: b.Rules, Data: b.Tx, Budget: &b.budget}
	may, err := b.db.access.MayRead(b.Ctx, at, w.Caller, w.Base)
	if err != nil {
		return nil, fault.Broken(err) // the write is made already, and must not stay
	}
	if may {
		return nil, nil
	}
	if len(w.sums) > maxReturned {
		return &hidden{update: w.Update}, nil
	}
	paths := make(map[tree.Path]bool)
	for _, p := range w.sums {
		may, err := b.db.access.MayRead(b.Ctx, at, w.Caller, p)
		if err != nil {
			return nil, fault.Broken(err)
		}
		if !may {
			paths[p] = true
		}
	}
	if len(paths) == 0 {
		return nil, nil
	}
	return &hidden{update: w.Update, paths: paths}, nil
}

// Shown returns the value of Writes[i] as the caller of a Write that is Shown may see it:
// without increments that the caller may not read. whole is false if there are any.
func (c *Commit) Shown(i int) (n tree.Node, whole bool) {
	n = c.Writes[i].Node
	if c.hidden == nil {
		return n, true
	}
	w := c.hidden.update[i]
	return w.Value.WithoutIncrements(n, func(p tree.Path) bool { return c.hides(w.Path.Join(p)) })
}

// hides reports whether the caller does not see an increment at a path.
func (c *Commit) hides(p tree.Path) bool {
	h := c.hidden
	return h != nil && (h.paths == nil || h.paths[p])
}
