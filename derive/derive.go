package derive

import (
	"cmp"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/dogwooddb/dogwood/tree"
)

// A Tree is the state before a write. It must not change while Derive runs, which calls it from
// one goroutine. An error of it ends Derive, which returns it.
//
// A Tree should also be Sized. If it has the method PeekUpTo of store.Tx, too, expressions read no
// text that is longer than MaxText.
type Tree interface {
	tree.Reader
	// Count returns the number of children of the node at p that q shows. It is asked for all
	// children, by key: a store that keeps this number does not read them.
	Count(p tree.Path, q tree.Query) (int, error)
	// Query returns these children in their order. It is asked for lists with a bound, by their
	// order and always with a limit. Without an index of that order, a store sorts the whole list.
	Query(p tree.Path, q tree.Query) ([]tree.Entry, error)
	// Sources returns how many source nodes have their target at a place, of a map whose
	// sources may share one (Result.Shared). It is the number of the last Shared for that place,
	// and 0 if there was none. Other maps are not asked about.
	Sources(definition string, place tree.Path) (int, error)
}

// A Sized tree reads no more than it is asked to. Children of lists may be of any size.
type Sized interface {
	// GetUpTo returns the node at p. ok is false if it has more than some bytes of text. bytes is
	// at least 1. That a place does not hold a short value is known without reading a long one.
	GetUpTo(p tree.Path, bytes int) (n tree.Node, ok bool, err error)
}

// A Change is a write to derive from. Derive does not modify it, and its functions are called
// while Derive runs and not after. They may be asked about the same node several times, and have
// to answer alike. Of the fields, Before and Writes are always needed, but with Build there may be
// no Writes. The zero values of the others are a client's write to definitions that are all in
// force and built.
type Change struct {
	Before Tree
	Writes []tree.ResolvedWrite // at disjoint targets
	Admin  bool                 // corrected where a client would be refused, with wider bounds
	Now    time.Time            // times of expiry count from it; only "after" without "from" needs it
	Most   int                  // places that may change, if fewer than else; 0: as else
	Bytes  int                  // of these, of what expressions look at, and of what lists move, if fewer than else; 0: as else

	// Skip reports whether a definition is not in force, as one that is paused; nil: all are.
	// Nothing follows from it, and clients may write at its target as anywhere else.
	Skip func(*Definition) bool

	// Behind reports whether the building of a definition has not come to a node: then counts,
	// sums, lists and shared places are not in force for it. asked says that the answer may
	// change as the building goes on. nil: all are built. Other maps and times of expiry are in
	// force for all nodes at once: to derive them twice does no harm, while a count would count the
	// node twice. Derive also asks with a place of a target that a client has written. Then only
	// asked matters.
	Behind func(d *Definition, p tree.Path) (behind, asked bool)
	Build  *Build // nil: nothing is built
	Held   bool   // Result.Held is wanted

	// Other reports whether a place of a unique map is known to be that of another node than p: while
	// the map is built, two nodes may say that it is theirs. asked is as that of Behind. nil: none is.
	Other func(d *Definition, place, p tree.Path) (other, asked bool, err error)
}

// A Result is what a write becomes. It belongs to the caller, and shares no memory with later
// ones. A caller that carries out Writes stores Shared, Timers and, while a definition is built,
// Held in the same transaction: these are rows that have no place in the tree.
type Result struct {
	Writes  []tree.ResolvedWrite // the whole update, at disjoint targets: what was written and then what follows
	Follow  []string             // the definitions that the last of Writes follow from
	Derived []Derived            // places that change by it: by level, definition and place
	Shared  []Shared
	Held    []Held // with Change.Held
	Timers  []Timer

	// Above are places that were written above nodes that expire, which may be gone with it. Timers
	// does not name these nodes: there may be any number, and a write would have to look for each. The
	// caller deletes their times later.
	Above []tree.Path

	// Unkept is what the write would be if lists had no bounds: of a client, if lists do not keep all that
	// it wrote. Rules are asked about that, too. nil: they keep it.
	Unkept *Result

	Touched  []Touches // the definitions that the write meets
	Looked   int       // nodes that were touched or compared
	Spent    int       // bytes of text that expressions have looked at, and of children that lists move
	Kept     int       // places of targets at which something else was written and replaced
	Survived int       // places of targets that a write above them left out
	Progress bool      // the result depends on how far a building has come
	Partly   bool      // lists of Change.Build have more children to be removed
	Skipped  []Skipped // some of the nodes that do not match because an expression failed

	few struct { // memory for what most writes become; not of a run, since the result outlives that
		writes  [2]tree.ResolvedWrite
		follow  [1]string
		derived [1]Derived
		touched [1]Touches
	}
}

// Touches say how many nodes of a definition are touched. A write that only says something about
// its places touches none.
type Touches struct {
	Definition *Definition
	Nodes      int
	Skipped    int // nodes that do not match because an expression failed
}

// A Derived is one place that a definition changes. The value is Empty if it goes. Places that
// hold the value already are left out, so a write may touch nodes and have no Derived.
type Derived struct {
	Definition *Definition
	Path       tree.Path
	Value      tree.Node
}

// A Shared says how many source nodes of a map have their target at a place from now on, 0 for
// none. The place goes with the last of them. The number is kept because the tree does not tell
// it: to count them would need a walk of the whole source.
type Shared struct {
	Definition *Definition
	Place      tree.Path
	Sources    int
}

// A Held says that a node of a map has a place from now on, or has another value there. While the
// map is verified and built, the caller marks such places: those without a mark follow from
// nothing, and of a unique map the mark says whose the place is (Change.Other).
type Held struct {
	Definition  *Definition
	Place, Node tree.Path
}

// A Timer says when a node expires from now on: in milliseconds since 1970, 0 for never. It
// replaces the time that the node had by this definition. 0 is also that of a node that is gone or
// does not match, for which the caller deletes the row.
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
// definition: then it stays as it is. The error is a *Refusal, or one of Change.Before. With an
// error there is no result, and nothing of the write may be carried out.
//
// Any number of goroutines may call it. Equal changes of equal trees have equal results: the
// caller may decide a write on a snapshot, and later carry out what that has computed.
func (d *Document) Derive(c *Change) (*Result, error) {
	if c.Build == nil && !slices.ContainsFunc(c.Writes, func(w tree.ResolvedWrite) bool { return d.trie.meets(w.Path) }) {
		return nil, nil
	}
	if d.refused != nil {
		return nil, unread(c)
	}
	r := begin(d, c)
	defer end(r)
	if one := touchedAlone(d, c); one != nil {
		deriveOne(r, one)
		r.result.Touched = append(r.result.Touched, Touches{one, 1, r.misses[one]})
	} else if r.derive() == nil {
		r.result.Touched = appendTouched(r.result.Touched, r)
		divide(r)
	}
	if r.err != nil {
		return nil, r.err
	}
	r.result.Skipped, r.result.Looked = r.skipped, r.looked
	r.result.Spent, _ = r.trees.Spent()
	r.result.Spent += r.moved
	if r.lost && !c.Admin {
		if err := unbounded(d, c, r.result); err != nil {
			return nil, err
		}
	}
	return r.result, nil
}

// unbounded derives what a write would be if lists had no bounds. It is for the rules of what lists do
// not keep, so a client that says something else about a target is corrected: it may have said the
// count of a list as it is with bounds. Admin would also lift the bounds of the write to those of an
// administrator, so Most brings those of a client back. Such a write is derived twice, and the first
// result has the sum of what both cost.
func unbounded(d *Document, c *Change, x *Result) (err error) {
	all := *c
	all.Admin, all.Most = true, cmp.Or(c.Most, MaxChanges)
	all.Skip = func(o *Definition) bool { return o.Kind == Keep || c.Skip != nil && c.Skip(o) }
	if x.Unkept, err = d.Derive(&all); err == nil {
		x.Looked, x.Spent, x.Progress = x.Looked+x.Unkept.Looked, x.Spent+x.Unkept.Spent, x.Progress || x.Unkept.Progress
	}
	return err
}

// appendTouched appends the definitions that there was work for.
func appendTouched(list []Touches, r *run) []Touches {
	for i, def := range r.document.definitions {
		if w := &r.work[i]; w.busy() {
			list = append(list, Touches{def, len(w.touched.list), r.misses[def]})
		}
	}
	return list
}

// divide puts what follows behind the writes that were asked for. A place of a map follows if a
// touched node determines its value, also if it was written: a caller that may write the
// node may write it. So does what a list does to its children, since what was written there is in
// Result.Unkept. Anything else that was written at a place was asked for, even if a definition
// has replaced it, and needs .write there. Otherwise a client could try values of a count that it
// may not read: the right one would be accepted.
func divide(r *run) {
	x := r.result
	follow := r.follow[:0]
	for i := range r.update.writes {
		w := &r.update.writes[i]
		d := w.by
		if d == nil || d.Kind != Keep && r.update.dropped.has(w.Path) { // it was asked for
			d, _ = r.spoken.get(w.Path)
		}
		switch {
		case w.gone:
		case d == nil:
			x.Writes = append(x.Writes, w.ResolvedWrite)
		default:
			follow = append(follow, followed{w.ResolvedWrite, d})
		}
	}
	tree.SortWrites(x.Writes)
	if byPath := func(a, b followed) int { return tree.ComparePaths(a.Path, b.Path) }; !slices.IsSortedFunc(follow, byPath) {
		sort.Slice(follow, func(i, j int) bool { return byPath(follow[i], follow[j]) < 0 })
	}
	x.Writes, x.Follow = slices.Grow(x.Writes, len(follow)), slices.Grow(x.Follow, len(follow))
	for _, f := range follow {
		x.Writes, x.Follow = append(x.Writes, f.ResolvedWrite), append(x.Follow, f.by.Name)
	}
	r.follow = follow
}

// A followed write follows from a definition.
type followed struct {
	tree.ResolvedWrite
	by *Definition
}

// A run derives from one write. Its memory is used again for the next one: a write that
// touches one node allocates what it becomes, and little else (BenchmarkTouch).
//
// It is for one goroutine. The first error, in err, ends it: methods that may fail note it there
// and return, and loops look at it. So the many places that read need not pass it on. Between
// writes, end has emptied its lists, and it points to nothing of a write.
type run struct {
	*Change
	evaluator
	document *Document
	result   *Result
	bounds   bounds
	work     []work              // by the position of definitions
	deltas   places[amount]      // of one definition
	spoken   places[*Definition] // places of maps that were written and that touched nodes say something about
	edited   []edit              // by one level, in no order between its definitions
	follow   []followed
	looked   int  // nodes that were touched or compared
	changes  int  // places that change
	bytes    int  // of these
	moved    int  // bytes of children that lists lose
	lost     bool // lists do not keep all that was written
	err      error
}

// A work is what is to be done for one definition. Levels are computed once each, so what touches
// a definition has to be known before its level begins. The order of levels is such that it is:
// only what a list loses touches the list itself again, behind its level, and needs nothing more.
type work struct {
	coming  map[tree.Path]bool // nodes of Change.Build
	touched places[touched]    // nodes; of lists and whole containers, their children or themselves
	claims  []claim
	above   []int           // writes above targets, by their position in Change.Writes
	edits   places[derived] // what follows
}

// A touched node is known after the write, if that covers it. Then it need not be looked up in
// the update again, which would cost a search for each node of a write above many. It is of
// the write as it was when it was collected: once update.altered is set, it is not used.
type touched struct {
	node  tree.Node
	known bool
}

// A derived value is one that a place gets.
type derived struct {
	node  tree.Node
	moves bool // it is not what is stored there; false: not known yet
}

var runs = sync.Pool{New: func() any { return new(run) }}

// begin prepares a run.
func begin(d *Document, c *Change) *run {
	r := runs.Get().(*run)
	r.Change, r.document, r.result, r.bounds = c, d, new(Result), boundsOf(c.Admin).within(c.Most, c.Bytes)
	few := &r.result.few
	r.result.Writes, r.result.Follow, r.result.Derived, r.result.Touched = few.writes[:0], few.follow[:0], few.derived[:0], few.touched[:0]
	if n := len(d.definitions); cap(r.work) < n {
		r.work = make([]work, n)
	} else {
		r.work = r.work[:n]
	}
	r.before = c.Before
	r.update.begin(c.Writes)
	return r
}

// end lets go of the write, also after an error.
func end(r *run) {
	for i := range r.work {
		if w := &r.work[i]; w.busy() || w.coming != nil {
			w.touched.empty()
			w.edits.empty()
			w.coming, w.claims, w.above = nil, emptied(w.claims), emptied(w.above)
		}
	}
	r.update.end()
	r.spoken.empty()
	r.deltas.empty()
	r.trees.Renew()
	r.edited, r.follow = emptied(r.edited), emptied(r.follow)
	r.Change, r.document, r.result, r.err = nil, nil, nil, nil
	r.before, r.begun, r.skipped, r.misses = nil, false, nil, nil
	r.looked, r.changes, r.bytes, r.moved, r.lost = 0, 0, 0, 0, false
	runs.Put(r)
}

func (r *run) skips(d *Definition) bool { return r.Skip != nil && r.Skip(d) }

// derive computes what follows, level by level, and times of expiry when the update is complete.
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
		r.finish()
		r.failed(r.close())
	}
	return r.err
}

func (w *work) busy() bool { return len(w.touched.list)+len(w.claims)+len(w.above) > 0 }

// busy reports whether there is work for a definition.
func (r *run) busy(d *Definition) bool { return r.work[d.position].busy() }

// ends reports whether there is work for a definition that writes nothing.
func (r *run) ends(d *Definition) bool { return !d.keeps() && r.busy(d) }

// derived derives for the definitions of one level, and then collects what that touches. All of a
// level see the update as the levels before have left it, since none of them feeds another of
// its level. Edits that only survive change nothing, so they touch nothing.
func (r *run) derived(level []*Definition) {
	r.edited = r.edited[:0]
	for _, d := range level {
		if r.err == nil && r.busy(d) {
			r.edits(d)
		}
	}
	if r.failed(r.close()) {
		return
	}
	if r.failed(r.update.merge(r.edited, r)); r.err != nil {
		return
	}
	for _, e := range r.edited {
		if e.by.feeding && !e.survives {
			r.collect(r.document.trie, tree.ResolvedWrite{Target: tree.Target{Path: e.path}, Node: e.node}, e.path, -1)
		}
	}
}

// edits notes what a definition changes, with the places of its target that a client
// would change otherwise.
func (r *run) edits(d *Definition) {
	w := &r.work[d.position]
	switch d.Kind {
	case Map:
		r.deriveMap(d, w)
	case Count, Sum:
		r.deriveTotals(d, w)
	case Keep:
		r.deriveKeep(d, w)
	}
	for _, x := range w.edits.sorted() {
		n := x.v.node
		e := edit{path: x.path, node: n, by: d, same: !x.v.moves && r.stays(d, x.path, n)}
		if r.edited = append(r.edited, e); !e.same && r.change(d, x.path, n) {
			r.result.Derived = append(r.result.Derived, Derived{d, x.path, n})
		}
	}
	r.compare(d, w)
}

// stays reports whether the value n of a place is what is stored there. It reads one byte more
// than n has at most, enough to tell that they differ. A child that a list loses has no value of its
// own to be compared with, and may be large, so it is only asked whether it is stored at all.
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

// failed notes an error, and reports whether there is or was one.
func (r *run) failed(err error) bool {
	if err != nil && r.err == nil {
		r.err = err
	}
	return r.err != nil
}
