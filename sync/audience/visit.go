package audience

import (
	"cmp"
	"errors"
	"iter"
	"slices"
	"sort"
	"strings"

	"github.com/dogwooddb/dogwood/rules/expression"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A visit is the groups of one path that may see a change.
//
// Groups of one path share it, because which children a change touches does not
// depend on the query. Only their entries in the order of a query do.
type visit struct {
	at       *pathGroups
	inside   []int       // writes at or below the path
	whole    bool        // one of them is at the path itself
	covered  bool        // a write is above the path
	children []viewChild // those that the others touch, in key order, once touch was called
	touched  bool
	indexed  bool // only some of the groups are visited
	from, to int  // their views, by group.slot
}

// onlyWrite is visit.inside of a change that is one write.
var onlyWrite = []int{0}

// visit finds the paths whose groups may see the change, in the order in which their views
// get events.
func (p *Change) visit() {
	if p.hub.listeners.Load() == 0 {
		return
	}
	var found map[*pathGroups]int // by one of several writes
	if len(p.Writes) > 1 {
		found = make(map[*pathGroups]int)
	}
	visited := func(at *pathGroups) *visit {
		if i, ok := found[at]; ok {
			return &p.visits[i]
		}
		if found != nil {
			found[at] = len(p.visits)
		}
		p.visits = append(p.visits, visit{at: at})
		return &p.visits[len(p.visits)-1]
	}
	covered := 0
	for i, w := range p.Writes {
		seen := false
		for above := range p.hub.paths.Above(w.Path) {
			if !seen {
				p.own(i)
				seen = true
			}
			v := visited(above)
			if v.whole = v.whole || w.Path == above.path; len(p.Writes) == 1 {
				v.inside = onlyWrite
			} else {
				v.inside = append(v.inside, i)
			}
		}
		if w.Priority {
			continue
		}
		for below := range p.hub.paths.Below(w.Path) {
			if covered++; covered > p.PublishRows {
				p.lagging = append(p.lagging, below)
			} else {
				visited(below).covered = true
			}
		}
	}
}

// own gives a write that listeners see texts of its own. Its path and a string can be parts
// of the request, which would be kept as long as an event waits in an outbox, or a child is
// in a window. Otherwise a short string in a window could keep a message of megabytes in
// memory.
func (p *Change) own(i int) {
	w := &p.Writes[i]
	w.Path = w.Path.Clone()
	if text := w.Node.Text(); strings.HasPrefix(text, `"`) {
		w.Node = w.Node.Clone()
	}
}

// choose makes the views of the groups that are visited: all of a path whose value the change
// replaces, otherwise those that show a child before the change that it touches.
func (p *Change) choose() error {
	for i := range p.visits {
		v := &p.visits[i]
		if v.covered && len(p.lagging) > 0 {
			p.lagging = append(p.lagging, v.at)
			continue
		}
		groups := v.at.groups
		if v.at.index != nil && !v.whole && !v.covered {
			v.indexed, p.indexed = true, true
			var err error
			if groups, err = p.concerned(v); err != nil {
				return err
			}
		}
		v.from = len(p.views)
		for _, g := range groups {
			p.views = append(p.views, &view{group: g, visit: i, inside: v.inside})
		}
		v.to = len(p.views)
	}
	return nil
}

// chooseEntered adds the views of groups that show a touched child only after the change.
// Before it the child was outside of their intervals, if there was one.
func (p *Change) chooseEntered() error {
	more := false
	for i := range p.visits {
		v := &p.visits[i]
		if !v.indexed {
			continue
		}
		groups, err := p.concerned(v)
		if err != nil {
			return err
		}
		for _, g := range groups {
			if p.isVisited(v, g) {
				continue
			}
			entered := &view{group: g, visit: i, inside: v.inside, looked: true}
			if entered.children, err = p.touch(v); errors.Is(err, errLag) {
				entered.lags = true
			}
			p.views = append(p.views, entered)
			more = true
		}
	}
	if more {
		sort.Slice(p.views, func(i, j int) bool {
			a, b := p.views[i], p.views[j]
			return cmp.Or(cmp.Compare(a.visit, b.visit), cmp.Compare(a.group.slot, b.group.slot)) < 0
		})
	}
	return nil
}

// isVisited reports whether a group was found before the change.
func (p *Change) isVisited(v *visit, g *group) bool {
	_, found := slices.BinarySearchFunc(p.views[v.from:v.to], g.slot, func(v *view, slot int) int {
		return cmp.Compare(v.group.slot, slot)
	})
	return found
}

// concerned returns the groups of an indexed path that may show a touched child as it is now,
// and the one that shows everything, in the order of the path.
func (p *Change) concerned(v *visit) ([]*group, error) {
	p.touchOnce(v)
	var list []*group
	if g := v.at.find(groupID(tree.Query{})); g != nil {
		list = append(list, g)
	}
	for name, t := range v.at.index.orders {
		var err error
		if list, err = p.inOrder(list, v, name, t); err != nil {
			return nil, err
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].slot < list[j].slot })
	return slices.Compact(list), nil // several children may be in one interval
}

// inOrder adds the groups of one order. If too many rows or children are to be looked at,
// these are all: most of their views are to be read again.
func (p *Change) inOrder(list []*group, v *visit, name string, t *orderIndex) ([]*group, error) {
	before, most := len(list), max(MaxLooked, t.Len())
	all := p.meter.left() <= 0
	for i := 0; i < len(v.children) && !all; i++ {
		l := look{path: v.at.path, order: name, entry: tree.Entry{Key: v.children[i].key}}
		points, found, err := p.points(&l, t)
		if err == nil && found {
			list, err = p.containing(list, t, &l, points)
		}
		if err != nil && !makesLag(err) {
			return nil, err
		}
		all = err != nil || len(list)-before > most
	}
	if all {
		list = slices.AppendSeq(list[:before], t.All())
	}
	return list, nil
}

// containing adds the groups whose interval has a point and that the child concerns.
func (p *Change) containing(list []*group, t *orderIndex, l *look, points []end) ([]*group, error) {
	if len(points) > t.Len() || points == nil { // the words of a long text, or any of the groups
		return p.concernedOf(list, t.All(), l)
	}
	for _, point := range points {
		var err error
		if list, err = p.concernedOf(list, t.Containing(point), l); err != nil {
			return list, err
		}
	}
	return list, nil
}

// concernedOf adds those of some groups that the child concerns.
func (p *Change) concernedOf(list []*group, some iter.Seq[*group], l *look) ([]*group, error) {
	for g := range some {
		ok, err := p.concerns(l, g)
		if err != nil {
			return list, err
		}
		if ok {
			list = append(list, g)
		}
	}
	return list, nil
}

// points returns where a child is in an order: at one place, at each of the words of a text, or nil
// for anywhere. found is false if it is nowhere.
func (p *Change) points(l *look, t *orderIndex) (points []end, found bool, err error) {
	of, isWords := strings.CutPrefix(l.order, wordsOf)
	switch {
	case t.need.Part != nil:
		return p.partPoint(l, t)
	case isWords:
		return p.wordPoints(l, of)
	}
	l.entry, found, err = p.entry(l.path, l.order, l.entry.Key)
	return []end{entryEnd(l.entry)}, found, err
}

// partPoint returns where a child is by a part of filters. If one filter has it, that is evaluated
// at once.
func (p *Change) partPoint(l *look, t *orderIndex) (points []end, found bool, err error) {
	if _, found, err = p.entry(l.path, tree.ByKey, l.entry.Key); err != nil || !found || t.Len() == 1 {
		return nil, found, err
	}
	if err := p.look(l); err != nil {
		return nil, false, err
	}
	n, known, spent, err := t.need.Part.Value(l.data, l.parent, l.entry.Key, maxSpent-p.looks.Spent)
	if p.looks.Spent += spent; p.looks.Spent > maxSpent && err == nil {
		err = errLag
	}
	if err != nil || !known {
		return nil, true, err
	}
	return []end{entryEnd(tree.Entry{Key: l.entry.Key, Value: n})}, !n.IsEmpty(), nil
}

// wordPoints returns the words of a part of a child.
func (p *Change) wordPoints(l *look, part string) (points []end, found bool, err error) {
	if err := p.see(l); err != nil {
		return nil, false, err
	}
	at := l.parent.Child(l.entry.Key)
	if part != tree.ByValue {
		at = at.Join(tree.MustParsePath(part))
	}
	if at.Len() > tree.MaxDepth { // there is nothing
		return nil, false, nil
	}
	if p.looks.Spent > maxSpent {
		return nil, false, errLag
	}
	n, err := leafOf(l.data, at)
	text, isText := n.StringValue()
	if err != nil || !isText {
		return nil, false, err
	}
	if p.looks.Spent += len(text); p.looks.Spent > maxSpent {
		return nil, false, errLag
	}
	words := expression.Words(text)
	slices.Sort(words)
	for _, word := range slices.Compact(words) {
		points = append(points, end{key: word})
	}
	return points, len(points) > 0, nil
}

// leafOf returns the leaf at a path, empty if there is none, or a text that no filter may look at.
func leafOf(data tree.Reader, at tree.Path) (n tree.Node, err error) {
	if tx, ok := data.(*store.Tx); ok {
		n, _, _, err = tx.PeekUpTo(at, expression.MaxLookText)
	} else {
		n, _, err = data.Peek(at)
	}
	return n, err
}

// concerns reports whether a child whose entry is in the interval of a group concerns it:
// if the filter does not match before the change and after it, the child is in no view.
func (p *Change) concerns(l *look, g *group) (bool, error) {
	if g.query.Filter == nil || !g.live {
		return true, nil
	}
	e, exists := l.entry, true
	if order := g.query.Order(); order != l.order {
		var err error
		if e, exists, err = p.entry(l.path, order, e.Key); err != nil {
			return false, err
		}
	}
	if !exists || !g.query.InRange(e) {
		return false, nil
	}
	return p.matches(l, g.query.Filter)
}

// MaxLooked is how many children a change looks at in all limited or filtered views together.
// They are in memory, and the committer waits for it.
const MaxLooked = 1 << 18

// touch returns the children of a path that the change touches, for one view of it. The error
// is errLag if all views together have too many.
func (p *Change) touch(v *visit) ([]viewChild, error) {
	p.touchOnce(v)
	if p.looked += len(v.children); p.looked > MaxLooked {
		return nil, errLag
	}
	if len(v.at.groups) == 1 {
		return v.children, nil
	}
	return slices.Clone(v.children), nil
}

// touchOnce notes the children that the change touches, in key order.
func (p *Change) touchOnce(v *visit) {
	if v.touched {
		return
	}
	v.touched = true
	type touched struct {
		key   string
		write int
	}
	list := make([]touched, 0, len(v.inside))
	for _, i := range v.inside {
		if key, _, ok := v.at.path.Rel(p.Writes[i].Path).Cut(); ok {
			list = append(list, touched{key, i})
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return tree.CompareKeys(list[i].key, list[j].key) < 0 })
	v.children = make([]viewChild, 0, len(list))
	for _, t := range list {
		if last := len(v.children) - 1; last >= 0 && v.children[last].key == t.key {
			v.children[last].writes = append(v.children[last].writes, t.write)
		} else {
			v.children = append(v.children, viewChild{key: t.key, writes: []int{t.write}})
		}
	}
}
