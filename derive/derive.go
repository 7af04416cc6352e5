package derive

import (
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/tree"
)

// A Tree is the state before a write.
type Tree interface {
	tree.Reader
	// Count returns the number of children of the node at p that q shows.
	Count(p tree.Path, q tree.Query) (int, error)
	// Query returns these children in their order.
	Query(p tree.Path, q tree.Query) ([]tree.Entry, error)
	// Sources returns how many source nodes have their target at a place, of a map whose
	// sources may share one (Result.Shared).
	Sources(definition string, place tree.Path) (int, error)
}

// A Sized tree reads no more than it is asked to. Children of lists may be of any size.
type Sized interface {
	// GetUpTo returns the node at p. ok is false if it has more than some bytes of text.
	GetUpTo(p tree.Path, bytes int) (n tree.Node, ok bool, err error)
}

// A Change is a write to derive from.
type Change struct {
	Before Tree
	Writes []tree.ResolvedWrite // at disjoint targets
	Admin  bool                 // corrected where a client would be refused, with wider bounds
	Now    time.Time            // times of expiry count from it
	Most   int                  // places that may change, if fewer than else; 0: as else

	// Skip reports whether a definition is not in force, as one that is paused; nil: all are.
	Skip func(*Definition) bool

	// Behind reports whether the building of a definition has not come to a node: then counts,
	// sums, lists and shared places are not in force for it. asked says that the answer may
	// change as the building goes on. nil: all are built.
	Behind func(d *Definition, p tree.Path) (behind, asked bool)
	Build  *Build // nil: nothing is built
	Held   bool   // Result.Held is wanted
}

// A Result is what a write becomes.
type Result struct {
	Writes  []tree.ResolvedWrite // the whole update, at disjoint targets: what was written and then what follows
	Follow  []string             // the definitions that the last of Writes follow from
	Derived []Derived            // what follows, in the order of definitions and places
	Shared  []Shared
	Held    []Derived // with Change.Held, the places that touched nodes of maps have after it
	Timers  []Timer

	Looked   int  // nodes that were touched or compared
	Kept     int  // places of targets at which an administrator said something else
	Survived int  // places of targets that a write above them left out
	Progress bool // the result depends on how far a building has come
	Partly   bool // lists of Change.Build have more children to be removed
	Skipped  []Skipped
}

// A Derived is one place that a definition changes. The value is Empty if it goes.
type Derived struct {
	Definition *Definition
	Path       tree.Path
	Value      tree.Node
}

// A Shared says how many source nodes of a map have their target at a place from now on.
type Shared struct {
	Definition *Definition
	Place      tree.Path
	Sources    int
}

// A Timer says when a node expires from now on: in milliseconds since 1970, 0 for never.
type Timer struct {
	Definition *Definition
	Path       tree.Path
	Due        int64
}

// A Skipped is a node that does not match because an expression failed.
type Skipped struct {
	Definition *Definition
	Path       tree.Path
	Why        string
}

// Derive computes what follows from a write. The result is nil if the write meets no
// definition: then it stays as it is. The error is a *Refusal, or one of Change.Before.
func (d *Document) Derive(c *Change) (*Result, error) {
	if c.Build == nil && !slices.ContainsFunc(c.Writes, func(w tree.ResolvedWrite) bool { return d.trie.meets(w.Path) }) {
		return nil, nil
	}
	r := &run{
		Change: c, document: d, result: new(Result), bounds: boundsOf(c.Admin).within(c.Most), work: make([]work, len(d.definitions)),
		update: newUpdate(c.Writes), spoken: make(map[tree.Path]*Definition),
	}
	if err := r.derive(); err != nil {
		return nil, err
	}
	divide(r)
	r.result.Skipped, r.result.Looked = r.skipped, r.looked
	return r.result, nil
}

// divide puts what follows behind the writes that were asked for. A place of a map follows if a
// touched node determines its value, also if it was written: a caller that may write the
// node may write it.
func divide(r *run) {
	asked := make(map[tree.Target]bool, len(r.Writes))
	for _, w := range r.Writes {
		asked[w.Target] = true
	}
	var follow []tree.ResolvedWrite
	for _, w := range r.update.list() {
		d := r.spoken[w.Path]
		if d == nil && !asked[w.Target] {
			d = r.update.by[w.Path]
		}
		if d == nil {
			r.result.Writes = append(r.result.Writes, w)
			continue
		}
		follow = append(follow, w)
		r.result.Follow = append(r.result.Follow, d.Name)
	}
	r.result.Writes = append(r.result.Writes, follow...)
}

// A run derives from one write.
type run struct {
	*Change
	evaluator
	document *Document
	result   *Result
	bounds   bounds
	update   *update
	work     []work                    // by the position of definitions
	spoken   map[tree.Path]*Definition // places of maps that touched nodes say something about
	looked   int                       // nodes that were touched or compared
	changes  int                       // places that change
	bytes    int                       // of these
	moved    int                       // bytes of children that lists lose
	err      error
}

// A work is what is to be done for one definition.
type work struct {
	coming  map[tree.Path]bool // nodes of Change.Build
	touched map[tree.Path]bool // nodes; of lists and whole containers, their children or themselves
	claims  []claim
	above   []int                   // writes above targets, by their position in Change.Writes
	edits   map[tree.Path]tree.Node // what follows, by place
}

func (r *run) skips(d *Definition) bool { return r.Skip != nil && r.Skip(d) }

func (r *run) derive() error {
	for i := range r.Writes {
		r.collect(r.document.trie, r.Writes[i], r.Writes[i].Path, i)
	}
	come(r)
	for _, level := range r.document.levels {
		if r.err == nil && slices.ContainsFunc(level, r.busy) {
			r.derived(level)
		}
	}
	if r.err == nil && slices.ContainsFunc(r.document.definitions, r.ends) {
		r.within(func() { r.finish() })
	}
	return r.err
}

// busy reports whether there is work for a definition.
func (r *run) busy(d *Definition) bool {
	w := &r.work[d.position]
	return w.touched != nil || w.claims != nil || w.above != nil
}

// ends reports whether there is work for a definition that writes nothing.
func (r *run) ends(d *Definition) bool { return d.writes() == nil && r.busy(d) }

// within runs f while the trees have the update as it is now.
func (r *run) within(f func()) {
	r.trees.Begin(r.Before, r.update.list())
	defer r.trees.End()
	f()
	r.failed(r.trees.Err())
}

// derived derives for the definitions of one level, and then collects what that touches.
func (r *run) derived(level []*Definition) {
	var changes []edit
	r.within(func() {
		for _, d := range level {
			if r.err == nil && r.busy(d) {
				changes = append(changes, r.edits(d)...)
			}
		}
	})
	if r.err != nil {
		return
	}
	if r.failed(r.update.merge(changes, r)); r.err != nil {
		return
	}
	for _, e := range changes {
		if !e.survives {
			r.collect(r.document.trie, tree.ResolvedWrite{Target: tree.Target{Path: e.path}, Node: e.node}, e.path, -1)
		}
	}
}

// edits returns what a definition changes, with the places of its target that a client
// would change otherwise.
func (r *run) edits(d *Definition) (list []edit) {
	w := &r.work[d.position]
	w.edits = make(map[tree.Path]tree.Node)
	switch d.Kind {
	case Map:
		r.deriveMap(d, w)
	case Count, Sum:
		r.deriveTotals(d, w)
	case Keep:
		r.deriveKeep(d, w)
	}
	places := sortedKeys(w.edits)
	for _, p := range places {
		n := w.edits[p]
		e := edit{path: p, node: n, by: d, same: r.stays(d, p, n)}
		if list = append(list, e); !e.same && r.change(d, p, n) {
			r.result.Derived = append(r.result.Derived, Derived{d, p, n})
		}
	}
	return append(list, r.compare(d, w)...)
}

// stays reports whether the value n of a place is what is stored there.
func (r *run) stays(d *Definition, p tree.Path, n tree.Node) bool {
	if d.Kind == Keep && n.IsEmpty() { // of any size
		return !r.has(p)
	}
	was, ok, err := r.upTo(p, len(n.Text())+1)
	return r.failed(err) || ok && was == n
}

// upTo returns the node at p before the write. ok is false if it has more than some bytes.
func (r *run) upTo(p tree.Path, bytes int) (n tree.Node, ok bool, err error) {
	if sized, can := r.Before.(Sized); can {
		return sized.GetUpTo(p, bytes)
	}
	n, err = r.Before.Get(p)
	return n, len(n.Text()) <= bytes, err
}

// sortedKeys returns the paths of a map in order, so that results are the same each time.
func sortedKeys[V any](m map[tree.Path]V) []tree.Path {
	list := make([]tree.Path, 0, len(m))
	for p := range m {
		list = append(list, p)
	}
	slices.SortFunc(list, tree.ComparePaths)
	return list
}

// failed notes an error, and reports whether there is or was one.
func (r *run) failed(err error) bool {
	if err != nil && r.err == nil {
		r.err = err
	}
	return r.err != nil
}

// An outcome is what one source node has a definition say.
type outcome struct {
	place tree.Path
	value tree.Node
}

// outcome returns what the node at p says, before or after the write. ok is false if it does
// not match.
func (r *run) outcome(d *Definition, p tree.Path, after bool) (o outcome, ok bool) {
	if !after && r.comes(d, p) || !r.affordable(d) || !r.trees.Exists(p, after) || !r.holds(d, p, after) {
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

// affordable reports whether more expressions may be evaluated, by what they have used so far.
func (r *run) affordable(d *Definition) bool {
	if bytes, steps := r.trees.Spent(); bytes > r.bounds.spent || steps > r.bounds.steps {
		return !r.failed(&Refusal{Reason: TooLarge, Definition: d.Name,
			text: "the expressions of " + d.Name + " would look at too much text; write in smaller parts"})
	}
	return true
}
