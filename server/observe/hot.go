package observe

import (
	"cmp"
	"container/heap"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/dogwooddb/dogwood/sync/trace"
	"github.com/dogwooddb/dogwood/tree"
)

const (
	hotPaths = 512 // that are counted at a time
	hotDepth = 6   // keys of a path; what is below counts for it
	hotShown = 15
	hotFade  = 0.8 // part of what was counted that is left a tick later
)

// hot finds the paths with the most operations in bounded memory: it counts a fixed
// number of paths, and one that is new takes the place of that with the least and
// begins with its count (the space-saving algorithm), so that it can be too high
// but never too low. What is counted fades, so it is about the last seconds.
//
// An exact count of all paths would need memory that clients control. Here an attacker
// can make the numbers of rare paths wrong, and those of busy ones stay right. The lock
// is held for a map lookup; the committer takes it for each operation only while an
// administrator looks.
type hot struct {
	mu    sync.Mutex
	paths map[hotKey]*hotPath
	least hotHeap
	ticks float64 // that the counts stand for: the sum of their weights
}

type hotKey struct{ ns, path string }

type hotPath struct {
	hotKey
	at                                   int     // in the heap
	weight                               float64 // what it is compared by
	reads, writes, listens, events, size float64
}

func newHot() *hot { return &hot{paths: make(map[hotKey]*hotPath, hotPaths), ticks: 1} }

// tell counts an operation.
func (h *hot) tell(ns string, op trace.Operation) {
	if op.Name == trace.OpConnect || op.Name == trace.OpDisconnect {
		return
	}
	key := hotKey{ns, collapse(op.Path)}
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.paths[key]
	if p == nil {
		p = h.admit(key)
	}
	p.weight++
	p.size += float64(op.Bytes)
	switch op.Name {
	case trace.OpRead, trace.OpRESTRead:
		p.reads++
	case trace.OpListen, trace.OpUnlisten:
		p.listens++
	case trace.OpBroadcast:
		p.events += float64(op.Listeners)
	default:
		p.writes++
	}
	heap.Fix(&h.least, p.at)
}

func (h *hot) admit(key hotKey) *hotPath {
	if len(h.least) < hotPaths {
		p := &hotPath{hotKey: key}
		h.paths[key] = p
		heap.Push(&h.least, p)
		return p
	}
	p := h.least[0]
	delete(h.paths, p.hotKey)
	*p = hotPath{hotKey: key, at: p.at, weight: p.weight}
	h.paths[key] = p
	return p
}

// A HotPath is a path with much to do, in operations per second. In its path, *
// stands for keys that are push ids or numbers.
type HotPath struct {
	Namespace string  `json:"namespace"`
	Path      string  `json:"path"`
	Reads     float64 `json:"reads"`
	Writes    float64 `json:"writes"`
	Listens   float64 `json:"listens"` // that began or ended
	Events    float64 `json:"events"`  // for listeners
	Bytes     float64 `json:"bytes"`
}

// tick returns the hottest paths of the last seconds, the hottest first, and has
// their counts fade. In no time there are none.
func (h *hot) tick(seconds float64) []HotPath {
	shown := []HotPath{}
	if seconds <= 0 {
		return shown
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	all := slices.Clone(h.least)
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.path, b.path)) < 0
	})
	rate := 1 / (h.ticks * seconds)
	for _, p := range all[:min(len(all), hotShown)] {
		shown = append(shown, HotPath{p.ns, p.path, p.reads * rate, p.writes * rate, p.listens * rate, p.events * rate, p.size * rate})
	}
	h.fade()
	return shown
}

// fade keeps the order of the heap.
func (h *hot) fade() {
	for _, p := range h.least {
		p.weight *= hotFade
		p.reads *= hotFade
		p.writes *= hotFade
		p.listens *= hotFade
		p.events *= hotFade
		p.size *= hotFade
	}
	h.ticks = 1 + h.ticks*hotFade
}

// collapse returns a path with * for keys of which there are as many as there are
// records, cut after a few keys. It shares no memory with p, whose text may be part
// of a large message.
func collapse(p tree.Path) string {
	var b strings.Builder
	depth := 0
	for key := range p.Keys() {
		b.WriteByte('/')
		if depth++; depth > hotDepth {
			b.WriteString("…")
			break
		}
		if isRecordKey(key) {
			key = "*"
		}
		b.WriteString(key[:min(len(key), 64)])
	}
	if depth == 0 {
		return "/"
	}
	return strings.ToValidUTF8(b.String(), "")
}

func isRecordKey(key string) bool {
	if len(key) == 20 && key[0] == '-' { // a push id
		return true
	}
	return strings.Trim(key, "0123456789") == ""
}

// A hotHeap has the path with the least weight first.
type hotHeap []*hotPath

func (h hotHeap) Len() int           { return len(h) }
func (h hotHeap) Less(i, j int) bool { return h[i].weight < h[j].weight }
func (h hotHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

func (h *hotHeap) Push(x any) {
	p := x.(*hotPath)
	p.at = len(*h)
	*h = append(*h, p)
}

func (h *hotHeap) Pop() any {
	last := len(*h) - 1
	p := (*h)[last]
	*h = (*h)[:last]
	return p
}
