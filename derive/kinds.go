package derive

import (
	"math"

	"github.com/dogwooddb/dogwood/tree"
)

// A tally is what the touched nodes change of one place of a map: how many had it, and how many have
// it after the write. A node that keeps it with another value is among both. One write may take the
// place from a node and give it to another, as when two users swap names. So places are decided when
// all touched nodes are known, and not node by node.
type tally struct {
	lost, gained int
	value        tree.Node // the first that was gained
	differ       bool      // not all that were gained are equal
}

func (t *tally) gain(n tree.Node) {
	t.differ = t.differ || t.gained > 0 && n != t.value
	if t.gained++; t.gained == 1 {
		t.value = n
	}
}

// deriveMap puts the value of each touched node at its target.
func (r *run) deriveMap(d *Definition, w *work) {
	if d.alone && r.Build == nil && !r.Change.Held {
		r.deriveAlone(d, w)
		return
	}
	var tallies places[tally]
	for _, x := range w.touched.sorted() {
		was, had := r.outcome(d, x.path, x.v, false)
		is, has := r.outcome(d, x.path, x.v, true)
		if r.err != nil {
			return
		}
		speak(r, d, w, was, had)
		speak(r, d, w, is, has)
		if !had && !has {
			r.speakOfNothing(d, w, x.path)
		}
		if had == has && was == is {
			continue
		}
		if had {
			t, _ := tallies.at(was.place)
			t.lost += freed(r, d, was.place, x.path)
		}
		if has {
			t, _ := tallies.at(is.place)
			if d.Unique && r.comes(d, x.path) { // the place may have been its own before
				t.lost += freed(r, d, is.place, x.path)
			}
			t.gain(is.value)
		}
		if has && r.Change.Held {
			r.result.Held = append(r.result.Held, Held{d, is.place, x.path})
		}
	}
	tallied := tallies.sorted()
	for i := range tallied {
		if r.settle(d, w, tallied[i].path, &tallied[i].v); r.err != nil {
			return
		}
	}
}

// speakOfNothing notes the place of a node that says nothing, if it is known without the node and
// no other may have it. A client that keeps both sides removes there what is gone already.
func (r *run) speakOfNothing(d *Definition, w *work, p tree.Path) {
	if !d.injective || !d.target.isFixed() {
		return
	}
	place, ok, _ := r.fill(d.target, p, true)
	speak(r, d, w, outcome{place: place}, ok)
}

// deriveAlone is deriveMap if each node has a place of its own, and all are built.
func (r *run) deriveAlone(d *Definition, w *work) {
	for _, x := range w.touched.sorted() {
		is, moves := settled(r, d, x.path, x.v)
		if r.err != nil {
			return
		}
		if speak(r, d, w, is, true); moves {
			w.edits.put(is.place, derived{is.value, true})
		}
	}
}

// settled returns what a node says that has a place of its own, Empty for nothing, and whether that
// is not there. The place tells what the node has said before the write.
func settled(r *run, d *Definition, p tree.Path, t touched) (is outcome, moves bool) {
	is, has := r.outcome(d, p, t, true)
	if !has {
		is.value = tree.Empty
		if is.place.IsRoot() {
			is.place, _, _ = r.fill(d.target, p, true)
		}
	}
	was, whole, err := r.upTo(is.place, len(is.value.Text())+1)
	return is, !r.failed(err) && (!whole || is.value != was)
}

// speak notes that a node says something about a place, if that may have been written.
func speak(r *run, d *Definition, w *work, o outcome, ok bool) {
	if ok && len(w.claims) > 0 {
		r.spoken.put(o.place, d)
	}
}

// settle says what a place of a map holds from now on. Nodes that were not touched count as well:
// if they may have the place, or the map is unique, the tree is asked how many had it. Otherwise
// nothing is read.
func (r *run) settle(d *Definition, w *work, place tree.Path, t *tally) {
	left := 0 // sources that were there and stay
	if !d.injective || d.Unique {
		n, err := r.sources(d, place)
		if r.failed(err) {
			return
		}
		left = max(n-t.lost, 0)
	}
	if r.clash(d, place, left, t) {
		r.failed(taken(d, place))
		return
	}
	if !d.injective && !d.Unique {
		r.result.Shared = append(r.result.Shared, Shared{d, place, left + t.gained})
	}
	switch {
	case t.gained > 0:
		w.edits.put(place, derived{node: t.value})
	case left == 0:
		w.edits.put(place, derived{})
	}
}

// sources returns how many nodes have their target at a place, before the write. A place of a unique
// map that holds something has one, which need not be counted in a row of its own.
func (r *run) sources(d *Definition, place tree.Path) (int, error) {
	if !d.Unique {
		return r.Before.Sources(d.Name, place)
	}
	if has, err := r.Before.Has(place); err != nil || !has {
		return 0, err
	}
	return 1, nil
}

// freed returns 1 if a place is free without a node that has it, and 0 if it is that of another
// node of a unique map. That can only be while the map is built, when two nodes that were there
// before it may have one place: to remove one of them must not free the place of the other.
func freed(r *run, d *Definition, place, p tree.Path) int {
	if !d.Unique || r.Other == nil {
		return 1
	}
	other, asked, err := r.Other(d, place, p)
	r.result.Progress = r.result.Progress || asked
	if r.failed(err) || other {
		return 0
	}
	return 1
}

// clash reports whether a place would have several sources of a unique map, or several
// values.
func (r *run) clash(d *Definition, place tree.Path, left int, t *tally) bool {
	switch {
	case d.Unique && left+t.gained > 1, t.differ:
		return true
	case left == 0 || t.gained == 0:
		return false
	}
	n, err := r.Before.Get(place)
	return !r.failed(err) && n != t.value
}

// deriveTotals adds what touched nodes count for to their targets. It adds up the differences of
// all nodes first: a write of a thousand nodes reads and writes each target once. A target that
// holds no number counts as 0. A count never falls below 0, even if the stored one is wrong.
func (r *run) deriveTotals(d *Definition, w *work) {
	deltas := &r.deltas
	deltas.empty()
	for _, x := range w.touched.sorted() {
		switch p := x.path; {
		case d.whole && p.Len() < len(d.source):
			r.countWhole(d, p, x.v, deltas)
		case d.whole && r.coveredWhole(w, p): // it is counted with its container
		default:
			was := r.addOutcome(d, p, x.v, false, deltas)
			if is := r.addOutcome(d, p, x.v, true, deltas); !exact(is, was) {
				r.failed(inexact(d, p))
			}
		}
		if r.err != nil {
			return
		}
	}
	for _, x := range deltas.sorted() {
		place, total := x.path, x.v
		if total.value() == 0 {
			continue
		}
		n, err := r.Before.Get(place)
		if r.failed(err) {
			return
		}
		was, _ := n.NumberValue()
		total.add(was)
		switch is := total.value(); {
		case !exact(is, was):
			r.failed(inexact(d, place))
		case is == 0 || d.Kind == Count && is < 0:
			w.edits.put(place, derived{})
		default:
			w.edits.put(place, derived{node: tree.Number(is)})
		}
	}
}

// MaxSum bounds a sum, and each number that is added: up to it, all whole numbers are exact, and no other
// one is rounded to it. Otherwise a client could make a sum forget what others have added, by a large number
// that comes and goes.
const MaxSum = float64(1<<53 - 1)

// exact reports whether a number is in bounds, or no farther out than it was.
func exact(is, was float64) bool { return math.Abs(is) <= max(MaxSum, math.Abs(was)) }

func inexact(d *Definition, p tree.Path) *Refusal {
	return &Refusal{TooLarge, d.Name, p, "the sum " + d.Name + " would go beyond 9,007,199,254,740,991, up to which whole numbers are exact"}
}

// An amount is a sum with what each addition has rounded off, which add finds by Knuth's
// two-sum. So the order of whole numbers does not matter, and a place that gets one back is as
// before: 2, 2^53-1 and 1-2^53 add up to 2 in each order, and as plain doubles in this one to 1.
type amount struct{ n, rounded float64 }

func (a *amount) add(n float64) {
	sum := a.n + n
	was := sum - n
	a.rounded += (a.n - was) + (n - (sum - was))
	a.n = sum
}

func (a *amount) value() float64 { return a.n + a.rounded }

func (r *run) coveredWhole(w *work, p tree.Path) bool {
	container, _ := p.Parent()
	return w.touched.has(container)
}

// addOutcome adds what one node counts for after the write, or takes away what it did before, and returns
// that: negative if it was taken away, 0 if the node does not match.
func (r *run) addOutcome(d *Definition, p tree.Path, t touched, after bool, deltas *places[amount]) float64 {
	o, ok := r.outcome(d, p, t, after)
	if !ok {
		return 0
	}
	n := 1.0
	if d.Kind == Sum {
		if n, ok = o.value.NumberValue(); !ok {
			r.skip(d, p, after, "what is added is no number")
			return 0
		}
	}
	if !after {
		n = -n
	}
	add(deltas, o.place, n)
	return n
}

// countWhole adds the change of the number of children of a container that is written as a
// whole. The store keeps the number, so the children need not be read.
func (r *run) countWhole(d *Definition, p tree.Path, t touched, deltas *places[amount]) {
	i, ok := r.update.cover(p)
	if !ok && !r.comes(d, p) {
		return // the container stays
	}
	was, err := r.Before.Count(p, tree.Query{OrderBy: tree.ByKey})
	if r.failed(err) {
		return
	}
	is := was
	if ok {
		is = r.update.inside(i, p, t).NumChildren()
	}
	if r.comes(d, p) {
		was = 0
	}
	if place, ok, _ := r.fill(d.target, p, true); ok {
		add(deltas, place, float64(is-was))
	}
}

func add(deltas *places[amount], place tree.Path, n float64) {
	at, _ := deltas.at(place)
	at.add(n)
}
