package replica

import (
	"slices"

	"github.com/dogwooddb/dogwood/tree"
)

// A change is a part of a pending write as seen from a place: at or below it.
type change struct {
	target tree.Target
	node   tree.Node
}

// seen returns writes as seen from the place p. covers is the index behind the
// last one that replaces the place as a whole, 0 for none.
func seen(writes []tree.ResolvedWrite, p tree.Path) (list []change, covers int) {
	for _, w := range writes {
		switch {
		case p.Contains(w.Path):
			t := tree.Target{Path: p.Rel(w.Path), Priority: w.Priority}
			list = append(list, change{t, w.Node})
			if t.Path.IsRoot() && !t.Priority {
				covers = len(list)
			}
		case w.Priority: // of a place above
		default:
			list = append(list, change{node: w.Node.Get(w.Path.Rel(p))})
			covers = len(list)
		}
	}
	return list, covers
}

// overlay returns a node as it is after changes, one after the other. It goes
// over the children of a large node only once, unless there is a priority: that
// is lost when there are no children in between.
func overlay(n tree.Node, changes []change) tree.Node {
	for i, c := range slices.Backward(changes) {
		if c.target == (tree.Target{}) {
			return overlay(c.node, changes[i+1:])
		}
	}
	if len(changes) > 1 && n.IsObject() && n.Priority().IsEmpty() {
		if byKey, ok := group(changes); ok {
			return merge(n, byKey)
		}
	}
	for _, c := range changes {
		n = n.WithTarget(c.target, c.node)
	}
	return n
}

// group sorts changes below a node by child. ok is false if one is of its
// priority.
func group(changes []change) (byKey map[string][]change, ok bool) {
	byKey = make(map[string][]change)
	for _, c := range changes {
		key, rest, below := c.target.Path.Cut()
		if !below {
			return nil, false
		}
		c.target.Path = rest
		byKey[key] = append(byKey[key], c)
	}
	return byKey, true
}

// byRank sorts changes that happen at once.
func byRank(changes []change) {
	slices.SortStableFunc(changes, func(a, b change) int { return rank(a.target, a.node) - rank(b.target, b.node) })
}

// merge returns an object without a priority with changes made to its children.
func merge(n tree.Node, byKey map[string][]change) tree.Node {
	var b tree.Builder
	added := added(n, byKey)
	for key, child := range n.Children() {
		for len(added) > 0 && tree.CompareKeys(added[0], key) < 0 {
			b.Child(added[0], overlay(tree.Empty, byKey[added[0]]))
			added = added[1:]
		}
		if changes := byKey[key]; changes != nil {
			child = overlay(child, changes)
		}
		b.Child(key, child)
	}
	for _, key := range added {
		b.Child(key, overlay(tree.Empty, byKey[key]))
	}
	return b.Node()
}

// added returns the keys that are not those of children, in key order.
func added(n tree.Node, byKey map[string][]change) []string {
	keys := make([]string, 0, len(byKey))
	for key := range byKey {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, tree.CompareKeys)
	next := 0
	kept := keys[:0]
	for key := range n.Children() {
		for next < len(keys) && tree.CompareKeys(keys[next], key) < 0 {
			kept = append(kept, keys[next])
			next++
		}
		if next < len(keys) && keys[next] == key {
			next++
		}
	}
	return append(kept, keys[next:]...)
}

// overlayPart is overlay for a node with some children missing, such as a window. A
// change inside of a missing child says too little of the child to show it, unless an
// earlier change set the whole child.
func overlayPart(n tree.Node, changes []change) tree.Node {
	set := make(map[string]bool)
	kept := make([]change, 0, len(changes))
	for _, c := range changes {
		key, rest, below := c.target.Path.Cut()
		if below && rest.IsRoot() && !c.target.Priority {
			set[key] = true
		}
		if !below || set[key] || !n.Child(key).IsEmpty() {
			kept = append(kept, c)
		}
	}
	return overlay(n, kept)
}
