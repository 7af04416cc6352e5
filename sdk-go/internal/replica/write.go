package replica

import (
	"slices"

	"github.com/dogwooddb/dogwood/tree"
)

// A Write is a change that the server has not answered yet.
type Write struct {
	writes []tree.ResolvedWrite // disjoint, by rank; server values are replaced by guesses

	// A write that was acknowledged is still shown by views whose source has not
	// arrived, or not since it was asked for again: it may not know of the write.
	acked bool
	after []*Source // whose answer the acknowledged write waits for
}

func newWrite(writes []tree.ResolvedWrite) *Write {
	w := &Write{writes: slices.Clone(writes)}
	slices.SortStableFunc(w.writes, func(a, b tree.ResolvedWrite) int { return rank(a.Target, a.Node) - rank(b.Target, b.Node) })
	return w
}

// rank sorts changes that happen at once, as servers do: values, then removals, then
// priorities. So no place is empty, and loses or refuses a priority, that is not in the end.
func rank(t tree.Target, n tree.Node) int {
	switch {
	case t.Priority:
		return 2
	case n.IsEmpty():
		return 1
	}
	return 0
}

// shownOver reports whether views of a source show the write.
func (w *Write) shownOver(s *Source) bool { return !w.acked || slices.Contains(w.after, s) }

// at returns the parts of the write that touch the place p.
func (w *Write) at(p tree.Path) []tree.ResolvedWrite {
	for i, one := range w.writes {
		if overlap(one.Path, p) {
			list := make([]tree.ResolvedWrite, 0, len(w.writes)-i)
			for _, one := range w.writes[i:] {
				if overlap(one.Path, p) {
					list = append(list, one)
				}
			}
			return list
		}
	}
	return nil
}

func overlap(p, q tree.Path) bool { return p.Contains(q) || q.Contains(p) }
