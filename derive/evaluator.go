package derive

import (
	"github.com/dogwooddb/dogwood/rules/expression"
	"github.com/dogwooddb/dogwood/tree"
)

// maxSkipped bounds what is said of nodes that do not match.
const maxSkipped = 20

// An evaluator evaluates the expressions of definitions before and after the update.
type evaluator struct {
	trees   expression.Trees
	skipped []Skipped
}

// holds reports whether a node passes the condition of a definition.
func (v *evaluator) holds(d *Definition, p tree.Path, after bool) bool {
	if d.where == nil {
		return true
	}
	n, fault := v.trees.Value(d.where, p, after)
	v.skip(d, p, after, fault)
	holds, _ := n.BoolValue()
	return holds
}

// skip notes that a node does not match because an expression failed.
func (v *evaluator) skip(d *Definition, p tree.Path, after bool, fault string) {
	if fault != "" && after && len(v.skipped) < maxSkipped {
		v.skipped = append(v.skipped, Skipped{d, p, fault})
	}
}

// value returns a value for the node at p, Empty if it has none.
func (v *evaluator) value(x *value, p tree.Path, after bool) (n tree.Node, fault string) {
	switch {
	case x.expr != nil:
		return v.trees.Value(x.expr, p, after)
	case x.fields == nil:
		return x.constant, ""
	}
	var b tree.Builder
	for i := range x.fields {
		n, f := v.value(&x.fields[i].value, p, after)
		if f != "" {
			return tree.Empty, f
		}
		b.Child(x.fields[i].key, n)
	}
	return b.Node(), ""
}

// fill returns the path that the pattern makes for the node at p. fault says why there is
// none. An expression without a value makes none and is no fault.
func (v *evaluator) fill(pt pattern, p tree.Path, after bool) (to tree.Path, ok bool, fault string) {
	for _, s := range pt {
		key := s.key
		switch {
		case s.capture != "":
			key = keyAt(p, s.depth)
		case s.expr != nil:
			n, fault := v.trees.Value(s.expr, p, after)
			if n.IsEmpty() {
				return tree.Root, false, fault
			}
			if key, ok = n.StringValue(); !ok {
				key = n.Text()
			}
			if !tree.ValidKey(key) {
				return tree.Root, false, "its " + s.String() + " is no valid key"
			}
		}
		to = to.Child(key)
	}
	return to, true, ""
}
