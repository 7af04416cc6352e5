package invarianttest

import (
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
)

// A Damage is another value at one place of a model's data, Empty if what is there is
// removed.
type Damage struct {
	Name    string // "removed", "changed", …
	Path    tree.Path
	To      tree.Node
	Noticed bool // something must be reported, since the value is there twice
}

// String returns what is done: `swapped to "u2"`.
func (d Damage) String() string {
	if d.To.IsEmpty() {
		return d.Name
	}
	return d.Name + " to " + d.To.JSON()
}

// names are those of damages.
var names = map[string]bool{
	"removed": true, // of a leaf or all that is below a node
	"changed": true, // into what is nowhere
	"raised":  true, // a number
	"lowered": true, // a number
	"retyped": true, // a number that becomes a text
	"swapped": true, // for what is at the same place of another record
}

// Damages returns what can be done to the model's data: each leaf is removed, changed
// and replaced by what other leaves of its place have, and each node removed.
func (m *Model) Damages() (list []Damage) {
	for _, at := range m.places {
		for _, p := range at.leaves {
			list = append(list, at.damages(m.Data, p)...)
		}
	}
	return append(list, m.removals()...)
}

// damages returns what is done to one leaf of a place.
func (at *place) damages(root tree.Node, p tree.Path) (list []Damage) {
	was := root.Get(p).Value()
	add := func(name string, to tree.Node) {
		isFree := at.Once != "" || at.Free[name] != ""
		list = append(list, Damage{Name: name, Path: p, To: to, Noticed: !isFree})
	}
	add("removed", tree.Empty)
	if f, ok := was.NumberValue(); ok {
		add("raised", tree.Number(f+1))
		add("lowered", tree.Number(f-1))
		add("retyped", tree.String(was.JSON()))
	} else {
		add("changed", changed(was))
	}
	for _, to := range at.others(root, p) {
		add(swap(was, to), to)
	}
	return list
}

// maxSwaps is how many other values are put at a leaf.
const maxSwaps = 3

// others returns values of other leaves of the place, of those that come next in the
// order of the tree, all different.
func (at *place) others(root tree.Node, p tree.Path) []tree.Node {
	tried := []tree.Node{root.Get(p).Value()}
	i := slices.Index(at.leaves, p)
	for _, other := range slices.Concat(at.leaves[i:], at.leaves[:i]) {
		to := root.Get(other).Value()
		if len(tried) <= maxSwaps && !slices.Contains(tried, to) {
			tried = append(tried, to)
		}
	}
	return tried[1:]
}

// changed returns another leaf of the same type.
func changed(n tree.Node) tree.Node {
	if s, ok := n.StringValue(); ok {
		return tree.String(s + "-")
	}
	b, _ := n.BoolValue()
	return tree.Bool(!b)
}

// swap names the damage of another leaf's value: of numbers, where they go.
func swap(was, to tree.Node) string {
	before, isNumber := was.NumberValue()
	after, stays := to.NumberValue()
	switch {
	case !isNumber || !stays:
		return "swapped"
	case after > before:
		return "raised"
	}
	return "lowered"
}

// removals returns the removals of all nodes with children. If one of the leaves below
// would be missed, so must be the whole.
func (m *Model) removals() (list []Damage) {
	missed := make(map[tree.Path]bool)
	for _, at := range m.places {
		for _, p := range at.leaves {
			isMissed := at.Twice != "" && at.Free["removed"] == ""
			for parent, _ := p.Parent(); !parent.IsRoot(); parent, _ = parent.Parent() {
				missed[parent] = missed[parent] || isMissed
			}
		}
	}
	for p, is := range missed {
		list = append(list, Damage{Name: "removed", Path: p, Noticed: is})
	}
	slices.SortFunc(list, func(a, b Damage) int { return tree.ComparePaths(a.Path, b.Path) })
	return list
}

// In reports whether a line that reports a violation is about the place: it has its
// path, or that of something below that was removed with it, or says of the record
// that the field is missing.
func (d Damage) In(line string) bool {
	parent, key := d.Path.Parent()
	if d.To.IsEmpty() && strings.HasSuffix(line, parent.String()+" has no "+key) {
		return true
	}
	ends := " ,:"
	if d.To.IsEmpty() {
		ends += "/"
	}
	parts := strings.Split(" "+line+" ", " "+d.Path.String())
	return slices.ContainsFunc(parts[1:], func(after string) bool { return strings.ContainsAny((after + " ")[:1], ends) })
}
