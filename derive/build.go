package derive

import (
	"cmp"
	"math"

	"github.com/dogwooddb/dogwood/tree"
)

// A Build is the nodes of a definition that is being built, from which is derived as if they
// came with the write. So building uses the code of writes, with the same checks, and many small
// commits can build a large definition. A node of a count, a sum or a shared map comes in one Build
// only: it would count twice. The document must not be refused.
type Build struct {
	Definition *Definition
	Nodes      []tree.Path // as WalkSources finds them
	Most       int         // children that are removed of each list, and fewer if they are large; 0: all
}

// incremental reports whether what a definition keeps depends on how often a node was
// derived from. Such a definition is in force for a node when its building has come there;
// others are for all nodes at once.
func (d *Definition) incremental() bool {
	return d.Kind == Count || d.Kind == Sum || d.Kind == Keep || d.Shared()
}

// Shared reports whether several nodes may have one place. Then rows say how many
// have it (Result.Shared).
func (d *Definition) Shared() bool { return d.Kind == Map && !d.injective && !d.Unique }

// waits reports whether a definition is not in force for a node yet.
func waits(r *run, d *Definition, p tree.Path) bool {
	if r.Behind == nil || !d.incremental() || r.comes(d, p) {
		return false
	}
	if d.Kind == Keep && p.Len() == len(d.source) {
		p, _ = p.Parent()
	}
	waits, asked := r.Behind(d, p)
	r.result.Progress = r.result.Progress || asked
	return waits
}

// comes reports whether a node is derived from as if it came with the write.
func (r *run) comes(d *Definition, p tree.Path) bool {
	return r.Build != nil && r.Build.Definition == d && r.work[d.position].coming[p]
}

// come touches the nodes that are being built. outcome has none for them before the write, so all
// that they say is new.
func come(r *run) {
	b := r.Build
	if b == nil {
		return
	}
	w := &r.work[b.Definition.position]
	w.coming = make(map[tree.Path]bool)
	for _, p := range b.Nodes {
		w.coming[p] = true
		r.touch(b.Definition, p, touched{})
	}
}

// An Outcome is what one source node says.
type Outcome struct {
	Node, Place tree.Path
	Value       tree.Node
}

// Outcomes returns what stored nodes say, in their order, for definitions of the kinds map, count
// and sum. Of containers that are counted whole, the value is the number of children; of other
// counts it is 1. Nodes that do not match have none, nor containers without children. It is for
// those that derive everything anew: unlike a write, it has no bounds for all nodes together.
func (d *Definition) Outcomes(t Tree, nodes []tree.Path) (list []Outcome, err error) {
	r := anew(t)
	defer r.close()
	for _, p := range nodes {
		o, ok := outcomeAnew(r, d, p)
		if err := r.trees.Err(); err != nil || r.err != nil {
			if err == nil {
				err = r.err
			}
			return nil, err
		}
		if ok {
			list = append(list, Outcome{p, o.place, o.value})
		}
		if len(r.skipped) > 0 {
			r.skipped = r.skipped[:0]
		}
	}
	return list, nil
}

// Unknown is the time of a node that expires some time after its last write. The tree does not say
// when that was, so a check can only find out whether the node has some time.
const Unknown = -1

// Dues returns when stored nodes expire by a definition of the kind expire, in their order: in milliseconds since
// 1970, 0 for never, or Unknown. It is for those that derive everything anew.
func (d *Definition) Dues(t Tree, nodes []tree.Path) (list []int64, err error) {
	r := anew(t)
	defer r.close()
	for _, p := range nodes {
		due := int64(0)
		if o, ok := r.outcome(d, p, touched{}, false); ok {
			due = Unknown
			if d.value != nil {
				due, _ = dueOf(d, o.value)
			}
		}
		if err := r.trees.Err(); err != nil || r.err != nil {
			return nil, cmp.Or(err, r.err)
		}
		list, r.skipped = append(list, due), r.skipped[:0]
	}
	return list, nil
}

// anew returns a run that has time for stored nodes. It must be closed.
func anew(t Tree) *run {
	r := &run{Change: &Change{Before: t, Admin: true}, bounds: boundsOf(true)}
	r.bounds.spent, r.bounds.steps = math.MaxInt, math.MaxInt
	r.before = t
	return r
}

func outcomeAnew(r *run, d *Definition, p tree.Path) (o outcome, ok bool) {
	if d.whole {
		n, err := r.Before.Count(p, tree.Query{OrderBy: tree.ByKey})
		place, ok, _ := r.fill(d.target, p, true)
		r.failed(err)
		return outcome{place, tree.Number(float64(n))}, ok && n > 0
	}
	if o, ok = r.outcome(d, p, touched{}, false); !ok {
		return o, false
	}
	switch d.Kind {
	case Count:
		o.value = tree.Number(1)
	case Sum:
		_, ok = o.value.NumberValue()
	}
	return o, ok
}
