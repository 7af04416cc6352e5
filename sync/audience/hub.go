package audience

import (
	"slices"
	"sync/atomic"

	"github.com/dogwooddb/dogwood/sync/access"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/quota"
	"github.com/dogwooddb/dogwood/sync/trie"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A hub finds the groups that can see a change: those at a change's path and
// above it, inside of whose views it is, and those below, whose views it
// replaces. The lock of the audience guards it.
type hub struct {
	trie.Trie[*group]
	listeners atomic.Int64 // can be read without mu
	windows   quotaWindows
}

// A group is all listeners of one view: the same path and query. They get the
// same events, which are encoded once.
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
	n := h.At(p)
	i := slices.IndexFunc(n.Items, func(g *group) bool { return g.id == id })
	if i < 0 {
		n.Items = append(n.Items, &group{path: p, query: q, id: id, weight: l.weight})
		i = len(n.Items) - 1
	}
	g := n.Items[i]
	l.group, l.slot = g, len(g.listeners)
	g.listeners = append(g.listeners, l)
	h.listeners.Add(1)
	h.windows.add(l)
}

// remove takes a listener out of its group, and the group out of the trie if
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
	if last == 0 {
		h.Trie.Remove(g.path, g)
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

// Every write below a path has to be compared with each different query that
// somebody listens to there, and moving a long window costs more than a short
// one. Without an index, what leaves a window is replaced by looking at every child.
// So the windows at a path are bounded by weight: for a session (by its owner), for a Quota
// and for all together (BenchmarkManyWindows).
const (
	// MaxPathWindows is the weight of the different queries at one path.
	MaxPathWindows  = 10_000
	MaxWindowWeight = 200  // of a query without a sensible limit
	EntriesOfWeight = 100  // of a window that weigh as much as the query itself
	UnindexedWeight = 10   // times, of a query by a child or value that has no index
	ScannedOfWeight = 2000 // children that weigh as much again, if there is no index
)

// weight is what a query at a path counts for in the bounds of windows.
func (a *Audience) weight(p tree.Path, q tree.Query) int {
	if q.IsAll() {
		return 0
	}
	w := 1 + q.Limit/EntriesOfWeight
	if !access.Declared(a.host.Rules(), p, q) {
		w *= UnindexedWeight
	}
	return min(w, MaxWindowWeight)
}

// weigh adds to the weight of a listener what it may scan. Clients that may not listen do
// not learn of it.
func (a *Audience) weigh(l *Listener) error {
	if l.weight == 0 || access.Declared(a.host.Rules(), l.read.Path, l.read.Query) {
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
	have, id, known := 0, groupID(q), false
	var g *group
	if n := h.Find(p); n != nil {
		for _, other := range n.Items {
			have += other.weight
			if other.id == id {
				g, known = other, true
			}
		}
	}
	switch {
	case !known && have+w > MaxPathWindows:
		return &fault.LimitError{Bound: fault.BoundPathWindows}
	case !h.windows.fits(l.read.Quota, g, p, w):
		return &fault.LimitError{Bound: fault.BoundQuotaWindows}
	}
	return nil
}

// quotaWindows are the windows that listeners of a Quota follow. What many of
// them follow together counts once.
type quotaWindows struct {
	followed map[quotaGroup]int // listeners
	weights  map[quotaPath]int
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
	if most == 0 || ws.followed[quotaGroup{q, g}] > 0 {
		return true
	}
	return ws.weights[quotaPath{q, p}]+w <= most
}

func (ws *quotaWindows) add(l *Listener) {
	w := l.group.weight
	if l.read.Quota == nil || w == 0 {
		return
	}
	if ws.followed == nil {
		ws.followed = make(map[quotaGroup]int)
		ws.weights = make(map[quotaPath]int)
	}
	at := quotaGroup{l.read.Quota, l.group}
	if ws.followed[at]++; ws.followed[at] == 1 {
		ws.weights[quotaPath{l.read.Quota, l.group.path}] += w
	}
}

func (ws *quotaWindows) remove(l *Listener) {
	w := l.group.weight
	if l.read.Quota == nil || w == 0 {
		return
	}
	at, path := quotaGroup{l.read.Quota, l.group}, quotaPath{l.read.Quota, l.group.path}
	if ws.followed[at]--; ws.followed[at] > 0 {
		return
	}
	delete(ws.followed, at)
	if ws.weights[path] -= w; ws.weights[path] == 0 {
		delete(ws.weights, path)
	}
}
