package audience

import (
	"iter"
	"sync/atomic"

	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/interval"
	"github.com/dogwooddb/dogwood/sync/quota"
	"github.com/dogwooddb/dogwood/sync/trie"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A hub finds the groups that can see a change: those at a change's path and
// above it, inside of whose views it is, and those below, whose views it
// replaces. The lock of the audience guards it.
type hub struct {
	paths     trie.Trie[*pathGroups] // one item at each path that has groups
	indexFrom int                    // IndexFrom, but in tests
	maxWeight int                    // of the different queries at one path
	listeners atomic.Int64           // can be read without mu
	windows   quotaWindows
}

// at returns the groups of a path, making the list of them.
func (h *hub) at(p tree.Path) *pathGroups {
	n := h.paths.At(p)
	if len(n.Items) == 0 {
		n.Items = append(n.Items, &pathGroups{path: p, from: h.indexFrom})
	}
	return n.Items[0]
}

// Above yields the groups at p and at its ancestors.
func (h *hub) Above(p tree.Path) iter.Seq[*group] {
	return func(yield func(*group) bool) {
		for at := range h.paths.Above(p) {
			for _, g := range at.groups {
				if !yield(g) {
					return
				}
			}
		}
	}
}

// Below yields the groups at paths below p.
func (h *hub) Below(p tree.Path) iter.Seq[*group] {
	return func(yield func(*group) bool) {
		for at := range h.paths.Below(p) {
			for _, g := range at.groups {
				if !yield(g) {
					return
				}
			}
		}
	}
}

// All yields all groups.
func (h *hub) All() iter.Seq[*group] {
	return func(yield func(*group) bool) {
		for at := range h.paths.All() {
			for _, g := range at.groups {
				if !yield(g) {
					return
				}
			}
		}
	}
}

// None reports whether there is no group.
func (h *hub) None() bool { return h.paths.None() }

// A group is all listeners of one view: the same path and query. They get the
// same events, which are encoded once.
//
// The window is the state of the last commit and not of any listener: listeners
// of one group are at different places in their outboxes, and each of them gets
// the same events in the same order. Windows are replaced and never changed in
// place, so a view that is being read may keep one without a lock.
type group struct {
	path      tree.Path
	query     tree.Query
	id        string // of the query
	weight    int    // of the query, when its first listener came
	listeners []*Listener

	// window is what a query with a limit shows, in query order. It is kept from
	// the first listener that was sent the view (live) and agrees with the last
	// commit.
	live   bool
	window []tree.Entry
	units  int64          // what window counts for in each of quotas
	quotas []*quota.Quota // those of listeners, each once

	at        *pathGroups
	slot      int                               // in at.groups
	intervals []*interval.Interval[end, *group] // one for each of needs; nil: the index does not have it
}

// groupID tells the groups of a path apart.
func groupID(q tree.Query) string {
	if q.IsAll() {
		return "" // the order of everything does not matter
	}
	return q.ID()
}

// add puts a listener into its group, making the group if it is the first.
func (h *hub) add(l *Listener, p tree.Path, q tree.Query) {
	id := groupID(q)
	at := h.at(p)
	g := at.find(id)
	if g == nil {
		g = &group{path: p, query: q, id: id, weight: l.weight}
		at.add(g)
	}
	l.group, l.slot = g, len(g.listeners)
	g.listeners = append(g.listeners, l)
	h.listeners.Add(1)
	h.windows.add(l)
}

// show sets the window of a group, and has it count for all that follow it. over tells that it has grown to
// more than one of them may have.
func (g *group) show(window []tree.Entry) (over bool) {
	more := quota.WindowUnits(window) - g.units
	if g.window = window; more == 0 {
		return false
	}
	g.units += more
	for _, q := range g.quotas {
		q.Keep(more)
		over = over || more > 0 && !q.Fits(0)
	}
	return over
}

// remove takes a listener out of its group, and the group out of its path if
// it was the last.
func (h *hub) remove(l *Listener) {
	g := l.group
	h.windows.remove(l)
	last := len(g.listeners) - 1
	g.listeners[l.slot] = g.listeners[last]
	g.listeners[l.slot].slot = l.slot
	g.listeners[last] = nil
	g.listeners = g.listeners[:last]
	h.listeners.Add(-1)
	if last > 0 {
		return
	}
	at := g.at
	if at.remove(g); len(at.groups) == 0 {
		h.paths.Remove(g.path, at)
	}
}

// all returns every listener. It is a copy, so that listeners can be removed on
// the way through it.
func (h *hub) all() []*Listener {
	list := make([]*Listener, 0, h.listeners.Load())
	for g := range h.All() {
		list = append(list, g.listeners...)
	}
	return list
}

// A write that replaces a path is compared with each different query that clients listen to
// there, and so is one that touches more children than may be looked up. Any write below the
// path may be in the intervals of many. Moving a long window costs more than a short one, and
// without an index, what leaves a window is replaced by looking at every child. So the windows
// at a path are bounded by weight: for a session (by its owner), for a Quota and for all
// together (BenchmarkManyWindows).
const (
	// DefaultPathWindows is the weight of the different queries at one path, and
	// MaxPathWindows is the most that it may be set to.
	DefaultPathWindows = 10_000
	MaxPathWindows     = 1_000_000

	MaxWindowWeight = 200  // of a query without a sensible limit
	EntriesOfWeight = 100  // of a window that weigh as much as the query itself
	UnindexedWeight = 10   // times, of a query by a child or value that has no index
	FilterWeight    = 10   // of a query with a filter
	ScannedOfWeight = 2000 // children that weigh as much again, if there is no index
)

// weight is what a query at a path counts for in the bounds of windows.
func (a *Audience) weight(p tree.Path, q tree.Query) int {
	if q.IsAll() {
		return 0
	}
	w := 1 + q.Limit/EntriesOfWeight
	if !a.host.Access.Declared(a.host.Rules(), p, q) {
		w *= UnindexedWeight
	}
	if q.Filter != nil {
		w += FilterWeight - 1
	}
	return min(w, MaxWindowWeight)
}

// weigh adds to the weight of a listener what it may scan. Clients that may not listen do
// not learn of it.
func (a *Audience) weigh(l *Listener) error {
	if l.weight == 0 || a.host.Access.Declared(a.host.Rules(), l.read.Path, l.read.Query) {
		return nil
	}
	return a.snapshot(func(tx *store.Tx) error {
		children, err := tx.Count(l.read.Path, tree.Query{OrderBy: tree.ByKey, Limit: MaxWindowWeight * ScannedOfWeight})
		l.weight = min(l.weight+children/ScannedOfWeight, MaxWindowWeight)
		return err
	})
}

// room returns a *LimitError if a listener for a new query at a path would be one
// too many for its quota or for the path.
func (h *hub) room(l *Listener, p tree.Path, q tree.Query) error {
	w := l.weight
	if w == 0 {
		return nil
	}
	have := 0
	var g *group
	if n := h.paths.Find(p); n != nil && len(n.Items) > 0 {
		g, have = n.Items[0].find(groupID(q)), n.Items[0].weight
	}
	switch {
	case g == nil && have+w > h.maxWeight:
		return &fault.LimitError{Bound: fault.BoundPathWindows}
	case !h.windows.fits(l.read.Quota, g, p, w):
		return &fault.LimitError{Bound: fault.BoundQuotaWindows}
	case g != nil && h.windows.followed[quotaGroup{l.read.Quota, g}].listeners == 0 && !l.read.Quota.Fits(g.units):
		return &fault.LimitError{Bound: fault.BoundQuotaKept}
	}
	return nil
}

// quotaWindows are the windows that listeners of a Quota follow. What many of
// them follow together counts once. Otherwise a client could make its own
// writes dear for others by opening connections, each with its own bound.
type quotaWindows struct {
	followed map[quotaGroup]following
	weights  map[quotaPath]int
}

type following struct {
	listeners int
	slot      int // of the quota, in group.quotas
}

type quotaGroup struct {
	quota *quota.Quota
	group *group
}

type quotaPath struct {
	quota *quota.Quota
	path  tree.Path
}

// fits reports whether a quota leaves room for one more window, of group g if
// that exists.
func (ws *quotaWindows) fits(q *quota.Quota, g *group, p tree.Path, w int) bool {
	most := q.Windows()
	if most == 0 || ws.followed[quotaGroup{q, g}].listeners > 0 {
		return true
	}
	return ws.weights[quotaPath{q, p}]+w <= most
}

func (ws *quotaWindows) add(l *Listener) {
	g, q := l.group, l.read.Quota
	if q == nil || g.weight == 0 {
		return
	}
	if ws.followed == nil {
		ws.followed = make(map[quotaGroup]following)
		ws.weights = make(map[quotaPath]int)
	}
	at := quotaGroup{q, g}
	f := ws.followed[at]
	if f.listeners++; f.listeners == 1 {
		f.slot, g.quotas = len(g.quotas), append(g.quotas, q)
		q.Keep(g.units)
		ws.weights[quotaPath{q, g.path}] += g.weight
	}
	ws.followed[at] = f
}

func (ws *quotaWindows) remove(l *Listener) {
	g, q := l.group, l.read.Quota
	if q == nil || g.weight == 0 {
		return
	}
	at, path := quotaGroup{q, g}, quotaPath{q, g.path}
	f := ws.followed[at]
	if f.listeners--; f.listeners > 0 {
		ws.followed[at] = f
		return
	}
	delete(ws.followed, at)
	last := len(g.quotas) - 1
	if moved := g.quotas[last]; moved != q {
		g.quotas[f.slot] = moved
		ws.followed[quotaGroup{moved, g}] = following{ws.followed[quotaGroup{moved, g}].listeners, f.slot}
	}
	g.quotas[last] = nil
	g.quotas = g.quotas[:last]
	q.Keep(-g.units)
	if ws.weights[path] -= g.weight; ws.weights[path] == 0 {
		delete(ws.weights, path)
	}
}
