package derive

import (
	"math"
	"slices"

	"github.com/dogwooddb/dogwood/tree"
)

// A tally is what the touched nodes change of one place of a map.
type tally struct {
	coming bool // a node that is being built is among them
	lost   int
	gained []tree.Node
}

// deriveMap puts the value of each touched node at its target.
func (r *run) deriveMap(d *Definition, w *work) {
	places := make(map[tree.Path]*tally)
	at := func(p tree.Path) *tally {
		if places[p] == nil {
			places[p] = new(tally)
		}
		return places[p]
	}
	for _, p := range sortedKeys(w.touched) {
		was, had := r.outcome(d, p, false)
		is, has := r.outcome(d, p, true)
		if r.err != nil {
			return
		}
		if had {
			r.spoken[was.place] = d
		}
		if has {
			r.spoken[is.place] = d
			if r.Change.Held {
				r.result.Held = append(r.result.Held, Derived{d, is.place, is.value})
			}
		}
		if !had && !has {
			r.speakOfNothing(d, p)
		}
		if had == has && was == is {
			continue
		}
		if had {
			at(was.place).lost++
		}
		if has {
			at(is.place).coming = r.comes(d, p)
			at(is.place).gained = append(at(is.place).gained, is.value)
		}
	}
	for _, place := range sortedKeys(places) {
		if r.settle(d, w, place, places[place]); r.err != nil {
			return
		}
	}
}

// speakOfNothing notes the place of a node that says nothing, if it is known without the node and
// no other may have it. A client that keeps both sides removes there what is gone already.
func (r *run) speakOfNothing(d *Definition, p tree.Path) {
	if !d.injective || slices.ContainsFunc(d.target, func(s segment) bool { return s.expr != nil }) {
		return
	}
	if place, ok, _ := r.fill(d.target, p, true); ok {
		r.spoken[place] = d
	}
}

// settle says what a place of a map holds from now on.
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
		r.result.Shared = append(r.result.Shared, Shared{d, place, left + len(t.gained)})
	}
	switch {
	case len(t.gained) > 0:
		w.edits[place] = t.gained[0]
	case left == 0:
		w.edits[place] = tree.Empty
	}
}

// sources returns how many nodes have their target at a place, before the write.
func (r *run) sources(d *Definition, place tree.Path) (int, error) {
	if !d.Unique {
		return r.Before.Sources(d.Name, place)
	}
	if has, err := r.Before.Has(place); err != nil || !has {
		return 0, err
	}
	return 1, nil
}

// clash reports whether a place would have several sources of a unique map, or several
// values.
func (r *run) clash(d *Definition, place tree.Path, left int, t *tally) bool {
	gained := t.gained
	if d.Unique && left+len(gained) > 1 {
		return len(gained) > 1 || !t.coming || !derivedBefore(r, place, gained[0])
	}
	for _, n := range gained {
		if n != gained[0] {
			return true
		}
	}
	if left == 0 || len(gained) == 0 {
		return false
	}
	n, err := r.Before.Get(place)
	return !r.failed(err) && n != gained[0]
}

// derivedBefore reports whether a node may have been derived from before its building reached
// it: its value is at its place.
func derivedBefore(r *run, place tree.Path, value tree.Node) bool {
	n, err := r.Before.Get(place)
	return !r.failed(err) && n == value
}

// deriveTotals adds what touched nodes count for to their targets.
func (r *run) deriveTotals(d *Definition, w *work) {
	deltas := make(map[tree.Path]float64)
	for _, p := range sortedKeys(w.touched) {
		switch {
		case d.whole && p.Len() < len(d.source):
			r.countWhole(d, p, deltas)
		case d.whole && r.coveredWhole(w, p): // it is counted with its container
		default:
			r.addOutcome(d, p, false, deltas)
			r.addOutcome(d, p, true, deltas)
		}
		if r.err != nil {
			return
		}
	}
	for _, place := range sortedKeys(deltas) {
		if deltas[place] == 0 {
			continue
		}
		was, err := r.Before.Get(place)
		if r.failed(err) {
			return
		}
		total, _ := was.NumberValue()
		switch total += deltas[place]; {
		case math.IsInf(total, 0) || math.IsNaN(total):
			r.failed(&Refusal{TooLarge, d.Name, place, "the sum " + d.Name + " would leave the range of numbers"})
		case total == 0 || d.Kind == Count && total < 0:
			w.edits[place] = tree.Empty
		default:
			w.edits[place] = tree.Number(total)
		}
	}
}

func (r *run) coveredWhole(w *work, p tree.Path) bool {
	container, _ := p.Parent()
	return w.touched[container]
}

// addOutcome adds what one node counts for, before or after the write.
func (r *run) addOutcome(d *Definition, p tree.Path, after bool, deltas map[tree.Path]float64) {
	o, ok := r.outcome(d, p, after)
	if !ok {
		return
	}
	n := 1.0
	if d.Kind == Sum {
		if n, ok = o.value.NumberValue(); !ok {
			r.skip(d, p, after, "what is added is no number")
			return
		}
	}
	if !after {
		n = -n
	}
	deltas[o.place] += n
}

// countWhole adds the change of the number of children of a container that is written as a
// whole. The store keeps the number, so the children need not be read.
func (r *run) countWhole(d *Definition, p tree.Path, deltas map[tree.Path]float64) {
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
		is = r.update.writes[i].Node.Get(r.update.writes[i].Path.Rel(p)).NumChildren()
	}
	if r.comes(d, p) {
		was = 0
	}
	if place, ok, _ := r.fill(d.target, p, true); ok {
		deltas[place] += float64(is - was)
	}
}
