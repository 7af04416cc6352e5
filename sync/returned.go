package sync

import (
	"slices"

	"github.com/dogwooddb/dogwood/sync/access"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// maxReturned bounds the server values of a write that returns them: the rules are
// asked about each, while all other writes wait.
const maxReturned = 1_000

// checkReturns refuses a write that has too many server values to return them.
func checkReturns(w Write) error {
	if !w.Returns {
		return nil
	}
	count := 0
	for _, u := range w.Update {
		for range u.Value.ServerValues() {
			if count++; count > maxReturned {
				return &fault.TooManyError{Request: "a write that returns its server values", What: "of them", Max: maxReturned}
			}
		}
	}
	return nil
}

// returned returns the resolved server values of a Write that Returns them, without
// increments that its caller may not read: their sums reveal the old values. It walks the
// values, so it is not for the committer if they are large. nil: the write was carried out
// before, under its ID.
func (c *Commit) returned(w *Write) []Returned {
	if c.Writes == nil {
		return nil
	}
	list := []Returned{}
	for i, u := range w.Update {
		for v, n := range u.Value.ServerValuesIn(c.Writes[i].Node) {
			p := u.Path.Join(v.At.Path)
			if v.Increment && c.hides(p) {
				continue
			}
			at := tree.Target{Path: w.Base.Rel(p), Priority: u.Priority || v.At.Priority}
			list = append(list, Returned{at, n})
		}
	}
	return list
}

// appendReturned appends the data of the response to a write that returns its
// server values. A write that had been carried out before has none any more: nil.
func appendReturned(dst []byte, list []Returned) []byte {
	if list == nil {
		return dst
	}
	dst = append(dst, `{"v":{`...)
	for i, r := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = wire.AppendString(dst, r.At.String()[1:])
		dst = append(append(dst, ':'), r.Value.JSON()...)
	}
	return append(dst, `}}`...)
}

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
	may, err := b.db.access.MayRead(b.Ctx, at, access.Whole(w.Caller, w.Base, w.Door == DoorREST))
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
		may, err := b.db.access.MayRead(b.Ctx, at, access.Whole(w.Caller, p, w.Door == DoorREST))
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

// Stays reports whether Writes[i] is what was stored. Declared data may keep something else there:
// what was written above a place that they keep has the place's value put into it.
func (c *Commit) Stays(i int) bool { return c.stored == nil || slices.Contains(c.stored, c.Writes[i]) }

// hides reports whether the caller does not see an increment at a path.
func (c *Commit) hides(p tree.Path) bool {
	h := c.hidden
	return h != nil && (h.paths == nil || h.paths[p])
}
