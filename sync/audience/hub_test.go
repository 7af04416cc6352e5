package audience

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dogwooddb/dogwood/sync/access"
	"github.com/dogwooddb/dogwood/tree"
)

func listenAt(h *hub, path string, q tree.Query) *Listener {
	l := &Listener{read: access.Read{Path: tree.MustParsePath(path), Query: q}}
	h.add(l, l.read.Path, q)
	return l
}

// names returns the paths of groups, sorted.
func names(groups func(func(*group) bool)) []string {
	list := []string{}
	for g := range groups {
		list = append(list, g.path.String())
	}
	slices.Sort(list)
	return list
}

func TestHubWalks(t *testing.T) {
	var h hub
	for _, path := range []string{"/", "/a", "/a/b", "/a/b/c", "/a/bb", "/d/e/f"} {
		listenAt(&h, path, tree.Query{})
	}
	listenAt(&h, "/a/b", tree.Query{Limit: 1}) // a group of its own
	for path, want := range map[string][2][]string{
		"/":          {{"/"}, {"/a", "/a/b", "/a/b", "/a/b/c", "/a/bb", "/d/e/f"}},
		"/a":         {{"/", "/a"}, {"/a/b", "/a/b", "/a/b/c", "/a/bb"}},
		"/a/b":       {{"/", "/a", "/a/b", "/a/b"}, {"/a/b/c"}},
		"/a/b/c/x/y": {{"/", "/a", "/a/b", "/a/b", "/a/b/c"}, {}},
		"/d":         {{"/"}, {"/d/e/f"}},
		"/d/e/x":     {{"/"}, {}},
		"/x/y":       {{"/"}, {}},
	} {
		p := tree.MustParsePath(path)
		if above := names(h.Above(p)); !slices.Equal(above, want[0]) {
			t.Errorf("above(%s) = %v, want %v", path, above, want[0])
		}
		if below := names(h.Below(p)); !slices.Equal(below, want[1]) {
			t.Errorf("below(%s) = %v, want %v", path, below, want[1])
		}
	}
}

// TestHubGroups: listeners of one view share a group. Everything is one view,
// whatever its order.
func TestHubGroups(t *testing.T) {
	var h hub
	byKey := tree.Query{OrderBy: tree.ByKey}
	first := tree.Query{OrderBy: tree.ByKey, Limit: 1}
	a, b := listenAt(&h, "/x", tree.Query{}), listenAt(&h, "/x", byKey)
	c, d := listenAt(&h, "/x", first), listenAt(&h, "/x", first)
	if a.group != b.group || c.group != d.group || a.group == c.group {
		t.Error("listeners of equal views do not share a group, or those of different ones do")
	}
	if h.listeners.Load() != 4 || len(h.all()) != 4 {
		t.Errorf("the hub counts %d listeners and has %d, want 4", h.listeners.Load(), len(h.all()))
	}
}

// TestHubForgets: groups and nodes without listeners are not kept.
func TestHubForgets(t *testing.T) {
	var h hub
	rnd := rand.New(rand.NewPCG(1, 2))
	var listeners []*Listener
	for range 1000 {
		path := ""
		for range rnd.IntN(5) {
			path += fmt.Sprint("/", rnd.IntN(3))
		}
		listeners = append(listeners, listenAt(&h, path, tree.Query{Limit: rnd.IntN(3)}))
	}
	rnd.Shuffle(len(listeners), func(i, j int) { listeners[i], listeners[j] = listeners[j], listeners[i] })
	for i, l := range listeners {
		h.remove(l)
		if got, want := len(h.all()), len(listeners)-i-1; got != want || h.listeners.Load() != int64(want) {
			t.Fatalf("the hub counts %d listeners and has %d, want %d", h.listeners.Load(), got, want)
		}
	}
	if !h.None() {
		t.Error("an empty hub has groups, or places for some")
	}
}

// manyGroups returns a hub with a group for the messages of each of n rooms.
func manyGroups(n int) *hub {
	h := new(hub)
	for i := range n {
		listenAt(h, fmt.Sprintf("/rooms/r%d/messages", i), tree.Query{})
	}
	return h
}

// TestHubVisitsOnlyWhoCanSee: what a write costs depends on those who see it,
// not on those who listen.
func TestHubVisitsOnlyWhoCanSee(t *testing.T) {
	h := manyGroups(100_000)
	listenAt(h, "/", tree.Query{})
	listenAt(h, "/rooms/r5", tree.Query{})
	listenAt(h, "/rooms/r5/messages/m1", tree.Query{})
	listenAt(h, "/rooms/r5/messages/m1/text", tree.Query{Limit: 1})
	for path, want := range map[string]int{
		"/rooms/r5/messages/m1":        5,
		"/rooms/r5/messages/m1/text/x": 5,
		"/rooms/r5/messages":           5,
		"/rooms/r5/messages/m2":        3,
		"/rooms/r5":                    5,
		"/rooms/r7/messages/m1/text":   2,
		"/rooms/r7":                    2,
		"/users/ana":                   1,
	} {
		p, got := tree.MustParsePath(path), 0
		for range h.Above(p) {
			got++
		}
		for range h.Below(p) {
			got++
		}
		if got != want {
			t.Errorf("a write at %s visits %d groups, want %d", path, got, want)
		}
	}
}

// TestNoListenersNoAllocations: where nobody listens a write costs nothing.
func TestNoListenersNoAllocations(t *testing.T) {
	h := manyGroups(1000)
	for _, path := range []string{"/rooms/r5/name", "/users/ana/messages/m1", "/"} {
		p, visited := tree.MustParsePath(path), 0
		allocs := testing.AllocsPerRun(100, func() {
			for range h.Above(p) {
				visited++
			}
			for range h.Below(p) {
				visited++
			}
		})
		if allocs != 0 {
			t.Errorf("walks for a write at %s allocate %v times, want 0", path, allocs)
		}
	}

	a := New(new(Host))
	w := []tree.ResolvedWrite{{Target: tree.Target{Path: tree.MustParsePath("/a/b")}, Node: tree.Bool(true)}}
	allocs := testing.AllocsPerRun(100, func() {
		p := Change{Batch: &Batch{Audience: a}, Writes: w}
		if err := p.Before(); err != nil {
			t.Error(err)
		}
		if err := p.After(); err != nil {
			t.Error(err)
		}
	})
	if allocs > 1 { // the batch
		t.Errorf("publishing to nobody allocates %v times, want 0", allocs-1)
	}
}
