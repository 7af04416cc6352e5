package derive

import (
	"github.com/dogwooddb/dogwood/rules/expression"
	"github.com/dogwooddb/dogwood/tree"
)

// maxSkipped bounds what is said of nodes that do not match.
const maxSkipped = 20

// An evaluator evaluates the expressions of definitions before and after the update. It is part of
// a run, and of one goroutine. "After" is the update as it is at the moment, so an expression
// of a later level sees what earlier ones have put into it.
type evaluator struct {
	before  tree.Reader
	update  update // over it
	trees   expression.Trees
	begun   bool
	skipped []Skipped           // the first of
	misses  map[*Definition]int // nodes that do not match because an expression failed
}

// states returns the trees with the update as it is now. They begin when they are asked for:
// most definitions have no expression.
func (v *evaluator) states() *expression.Trees {
	if !v.begun {
		v.begun, v.trees.Most.Text = true, MaxText
		v.trees.Begin(v.before, v.update.list())
	}
	return &v.trees
}

// close ends the trees, since the update changes. It returns the first error of reading. compare has
// changed the update before that, but only at targets of the level, and no definition of the level
// looks at these.
func (v *evaluator) close() (err error) {
	if v.begun {
		err = v.trees.Err()
		v.trees.End()
		v.begun = false
	}
	return err
}

// An outcome is what one source node has a definition say. It depends on that node alone, so it is
// the same whenever it is computed: the outcome before a write is not stored, but computed again
// from the stored node. The value is Empty if the definition has no expression for it, as a count.
type outcome struct {
	place tree.Path
	value tree.Node
}

// outcome returns what the node at p says, before or after the write. ok is false if it does
// not match.
func (r *run) outcome(d *Definition, p tree.Path, t touched, after bool) (o outcome, ok bool) {
	if !after && r.comes(d, p) || !r.affordable(d) || !r.exists(p, t, after) || !r.holds(d, p, after) {
		return o, false
	}
	var fault string
	if o.place, ok, fault = r.fill(d.target, p, after); !ok {
		r.skip(d, p, after, fault)
		return o, false
	}
	if d.value != nil {
		if o.value, fault = r.value(d.value, p, after); o.value.IsEmpty() {
			r.skip(d, p, after, fault)
			return o, false
		}
	}
	return o, true
}

// exists reports whether there is a node at p, which was touched.
func (v *evaluator) exists(p tree.Path, t touched, after bool) bool {
	if after && t.known && !v.update.altered {
		return !t.node.IsEmpty()
	}
	return v.states().Exists(p, after)
}

// affordable reports whether more expressions may be evaluated, by what they have used so far. Each
// expression has a bound of its own, at which its node does not match. This one is for all of a
// write and refuses it: to let nodes not match for it would make what follows depend on how many
// others the write has.
func (r *run) affordable(d *Definition) bool {
	if bytes, steps := r.trees.Spent(); bytes > r.bounds.spent || steps > r.bounds.steps {
		return !r.failed(&Refusal{Reason: TooLarge, Definition: d.Name,
			text: "the expressions of " + d.Name + " would look at too much text; write in smaller parts"})
	}
	return true
}

// holds reports whether a node passes the condition of a definition.
func (v *evaluator) holds(d *Definition, p tree.Path, after bool) bool {
	if d.where == nil {
		return true
	}
	n, fault := v.states().Value(d.where, p, after)
	v.skip(d, p, after, fault)
	holds, _ := n.BoolValue()
	return holds
}

// skip notes that a node does not match because an expression failed. Failures before the write are
// not counted: the write that stored the node did that, or the building of the definition.
func (v *evaluator) skip(d *Definition, p tree.Path, after bool, fault string) {
	if fault == "" || !after {
		return
	}
	if v.misses == nil {
		v.misses = make(map[*Definition]int)
	}
	if v.misses[d]++; len(v.skipped) < maxSkipped {
		v.skipped = append(v.skipped, Skipped{d, p, fault})
	}
}

// value returns a value for the node at p, Empty if it has none.
func (v *evaluator) value(x *value, p tree.Path, after bool) (n tree.Node, fault string) {
	switch {
	case x.expr != nil:
		return v.states().Value(x.expr, p, after)
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
// none. An expression without a value makes none and is no fault. One that yields a number or a
// bool makes a key of its text: 7 makes "7".
func (v *evaluator) fill(pt pattern, p tree.Path, after bool) (to tree.Path, ok bool, fault string) {
	var room [tree.MaxDepth]string
	keys := room[:0]
	for i := range pt {
		s := &pt[i]
		key := s.key
		switch {
		case s.capture != "":
			key = keyAt(p, s.depth)
		case s.expr != nil:
			n, fault := v.states().Value(s.expr, p, after)
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
		keys = append(keys, key)
	}
	return tree.PathOf(keys...), true, ""
}
