package sync

import (
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Every write below a path has to be compared with each different query that
// somebody listens to there, and moving a long window costs more than a short
// one. Without an index, what leaves a window is replaced by looking at every child.
// So the windows at a path are bounded by weight: for a session, for a Quota
// and for all together (BenchmarkManyWindows).
const (
	maxSessionWindows = 400
	maxPathWindows    = 10_000
	maxWindowWeight   = 200  // of a query without a sensible limit
	entriesOfWeight   = 100  // of a window that weigh as much as the query itself
	unindexedWeight   = 10   // times, of a query by a child or value that has no index
	scannedOfWeight   = 2000 // children that weigh as much again, if there is no index
)

// weight is what a query at a path counts for in the bounds of windows.
func (a *audience) weight(p tree.Path, q tree.Query) int {
	if q.IsAll() {
		return 0
	}
	w := 1 + q.Limit/entriesOfWeight
	if !declared(a.db.rules.Load(), p, q) {
		w *= unindexedWeight
	}
	return min(w, maxWindowWeight)
}

// weigh adds to the weight of a listener what it may scan. Clients that may not listen do
// not learn of it.
func (a *audience) weigh(l *Listener) error {
	if l.weight == 0 || declared(a.db.rules.Load(), l.read.Path, l.read.Query) {
		return nil
	}
	return a.db.snapshot(func(tx *store.Tx) error {
		children, err := tx.Count(l.read.Path, tree.Query{OrderBy: tree.ByKey, Limit: maxWindowWeight * scannedOfWeight})
		l.weight = min(l.weight+children/scannedOfWeight, maxWindowWeight)
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
	if n := h.find(p); n != nil {
		for _, other := range n.items {
			have += other.weight
			if other.id == id {
				g, known = other, true
			}
		}
	}
	switch {
	case !known && have+w > maxPathWindows:
		return &LimitError{BoundPathWindows}
	case !h.windows.fits(l.read.Quota, g, p, w):
		return &LimitError{BoundQuotaWindows}
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
	quota *Quota
	group *group
}

type quotaPath struct {
	quota *Quota
	path  tree.Path
}

// fits reports whether a quota leaves room for one more window, of group g if
// that exists.
func (ws *quotaWindows) fits(q *Quota, g *group, p tree.Path, w int) bool {
	if q == nil || q.limits.Windows <= 0 || ws.followed[quotaGroup{q, g}] > 0 {
		return true
	}
	return ws.weights[quotaPath{q, p}]+w <= q.limits.Windows
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
