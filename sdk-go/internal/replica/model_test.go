package replica

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dogwooddb/dogwood/tree"
)

// A model is a replica, a server that follows sources for it, and what is on
// its way between them, each way in order.
type model struct {
	t       *rapid.T
	replica *Replica
	root    tree.Node // the server's
	hope    tree.Node // root after everything the client has asked for

	up   []func() // requests; they run at the server
	down []func() // answers and pushes; they run at the client
	sent []*modelWrite

	listens  map[*Source]tree.Node // what the server last told of it
	watchers []*watcher
	alone    bool // no other client writes, nothing is denied or sent again
}

type modelWrite struct {
	write  *Write
	writes []tree.ResolvedWrite
	denied bool
}

// A watcher follows a view and remembers all its states.
type watcher struct {
	view   *View
	states []State
	stale  bool // it was not read since it was said to have changed
	failed error
}

func (w *watcher) Changed(s State) {
	w.states = append(w.states, s)
	w.stale = false
}

func (w *watcher) Stale() { w.stale = true }

// look takes what a large view shows.
func (w *watcher) look() {
	if w.stale {
		if s := w.view.State(); len(w.states) == 0 || w.states[len(w.states)-1] != s {
			w.states = append(w.states, s)
		}
		w.stale = false
	}
}

func (w *watcher) Failed(err error) { w.failed = err }

func (m *model) Listen(s *Source) {
	hash := s.Hash()
	m.up = append(m.up, func() { m.listen(s, hash) })
}

func (m *model) Unlisten(s *Source) {
	m.up = append(m.up, func() { delete(m.listens, s) })
}

// listen answers with the view, unless the client has it.
func (m *model) listen(s *Source, hash string) {
	n := s.Query.Apply(m.root.Get(s.Path))
	m.listens[s] = n
	if hash == "" || hash != n.Hash() {
		m.tell(s, []Change{{tree.Target{Path: s.Path}, n}})
	}
	m.down = append(m.down, func() { m.replica.Listened(s) })
}

func (m *model) tell(s *Source, changes []Change) {
	m.down = append(m.down, func() {
		if err := m.replica.Told(s.Path, s.Tag, changes); err != nil && err != ErrUnknownTag {
			m.t.Fatal(err)
		}
	})
}

// change carries out a write at the server and tells the listeners.
func (m *model) change(writes []tree.ResolvedWrite) {
	m.root = after(m.root, writes)
	for _, s := range m.ordered() {
		before, after := m.listens[s], s.Query.Apply(m.root.Get(s.Path))
		if before == after {
			continue
		}
		m.listens[s] = after
		m.tell(s, difference(s.Path, before, after))
	}
}

// after returns a tree after a write: values come first, then removals, so that no path is
// empty in between, then priorities.
func after(n tree.Node, writes []tree.ResolvedWrite) tree.Node {
	for _, now := range []struct{ priority, removal bool }{{}, {removal: true}, {priority: true}} {
		for _, w := range writes {
			if w.Priority == now.priority && (w.Priority || w.Node.IsEmpty() == now.removal) {
				n = n.WithTarget(w.Target, w.Node)
			}
		}
	}
	return n
}

// ordered returns the sources that the server follows, in an order that does
// not depend on the run.
func (m *model) ordered() []*Source {
	var list []*Source
	for _, s := range m.replica.sources.all() {
		if _, ok := m.listens[s]; ok {
			list = append(list, s)
		}
	}
	for s := range m.listens {
		if !slices.Contains(list, s) {
			list = append(list, s) // its end is on the way; the client will ignore it
		}
	}
	return list
}

// difference returns the changes of children, or the whole.
func difference(p tree.Path, before, after tree.Node) []Change {
	if !before.IsObject() || !after.IsObject() || before.Priority() != after.Priority() {
		return []Change{{tree.Target{Path: p}, after}}
	}
	var list []Change
	for key, child := range before.Children() {
		if now := after.Child(key); now != child {
			list = append(list, Change{tree.Target{Path: p.Child(key)}, now})
		}
	}
	for key, child := range after.Children() {
		if before.Child(key).IsEmpty() {
			list = append(list, Change{tree.Target{Path: p.Child(key)}, child})
		}
	}
	return list
}

// put writes at the client.
func (m *model) put(writes []tree.ResolvedWrite, denied bool) {
	w := &modelWrite{m.replica.Put(writes), writes, denied}
	if !denied {
		m.hope = after(m.hope, writes)
	}
	m.sent = append(m.sent, w)
	m.send(w)
}

func (m *model) send(w *modelWrite) {
	m.up = append(m.up, func() {
		if w.denied {
			m.down = append(m.down, func() { m.answer(w, m.replica.Denied) })
			return
		}
		m.change(w.writes)
		m.down = append(m.down, func() { m.answer(w, m.replica.Acknowledged) })
	})
}

func (m *model) answer(w *modelWrite, f func(*Write)) {
	m.sent = slices.DeleteFunc(m.sent, func(have *modelWrite) bool { return have == w })
	f(w.write)
}

// reconnect loses what is on its way and asks again.
func (m *model) reconnect() {
	m.up, m.down, m.listens = nil, nil, make(map[*Source]tree.Node)
	for _, s := range m.replica.Sources() {
		m.Listen(s)
	}
	for _, w := range m.sent {
		m.send(w)
	}
}

func (m *model) serve() {
	next := m.up[0]
	m.up = m.up[1:]
	next()
}

func (m *model) deliver() {
	next := m.down[0]
	m.down = m.down[1:]
	next()
}

func (m *model) settle() {
	for len(m.up)+len(m.down) > 0 {
		if len(m.up) > 0 {
			m.serve()
		} else {
			m.deliver()
		}
	}
}

// check compares views that must be right with what they show.
func (m *model) check(settled bool) {
	m.watchers = slices.DeleteFunc(m.watchers, func(w *watcher) bool { return w.failed == errRefused })
	for _, w := range m.watchers {
		w.look()
		got := w.view.State()
		if last := len(w.states) - 1; last >= 0 && w.states[last] != got {
			m.t.Fatalf("%s: the watcher was told %v, the view shows %v", name(w.view), w.states[last], got)
		}
		if anew := m.replica.compute(w.view); anew != got {
			m.t.Fatalf("%s shows %v, made anew %v", name(w.view), got, anew)
		}
		want := w.view.Query.Apply(m.root.Get(w.view.Path))
		if settled && got != (State{want, true}) {
			m.t.Fatalf("%s shows %v, want %v", name(w.view), got, want.JSON())
		}
		if hope := w.view.Query.Apply(m.hope.Get(w.view.Path)); m.alone && w.view.source.isWhole() && got.Complete && got.Node != hope {
			m.t.Fatalf("%s shows %v, want %v: own writes only", name(w.view), got, hope.JSON())
		}
		for i := 1; i < len(w.states); i++ {
			if w.states[i] == w.states[i-1] {
				m.t.Fatalf("%s: told %v twice", name(w.view), w.states[i])
			}
		}
	}
}

func name(v *View) string { return v.Path.String() + " " + v.id }

var errRefused = errors.New("refused")

var (
	modelPaths   = []string{"", "a", "a/x", "a/y", "a/x/n", "a/y/n", "b", "b/x"}
	modelValues  = []string{"null", "1", "2", `"s"`, `{"n":1}`, `{"n":2,"m":3}`, `{"x":{"n":3},"y":{"n":1},"z":{"n":2}}`, `{".value":1,".priority":2}`}
	modelQueries = []tree.Query{
		{}, {}, {OrderBy: tree.ByKey}, {OrderBy: "n"},
		{OrderBy: tree.ByKey, Limit: 1},
		{OrderBy: "n", Limit: 2, FromLast: true},
		{OrderBy: "n", Start: tree.Bound{Set: true, Value: tree.Number(2), KeyRank: tree.BeforeKeys}},
		{Limit: 2},
	}
)

func drawWrites(t *rapid.T) []tree.ResolvedWrite {
	value := func() tree.Node { return tree.MustParseNode(rapid.SampledFrom(modelValues).Draw(t, "value")) }
	if rapid.IntRange(0, 3).Draw(t, "several") == 0 {
		writes := []tree.ResolvedWrite{
			{Target: tree.Target{Path: tree.MustParsePath("a/x/n")}, Node: value()},
			{Target: tree.Target{Path: tree.MustParsePath("a/y")}, Node: value()},
			{Target: tree.Target{Path: tree.MustParsePath("b")}, Node: value()},
		}
		if rapid.Bool().Draw(t, "with a priority") {
			p := tree.MustParsePath(rapid.SampledFrom([]string{"", "a", "a/x"}).Draw(t, "priority of"))
			writes = slices.Insert(writes, 0, tree.ResolvedWrite{Target: tree.Target{Path: p, Priority: true}, Node: tree.Number(4)})
		}
		return writes
	}
	p := tree.MustParsePath(rapid.SampledFrom(modelPaths).Draw(t, "path"))
	if rapid.IntRange(0, 7).Draw(t, "priority") == 0 {
		return []tree.ResolvedWrite{{Target: tree.Target{Path: p, Priority: true}, Node: tree.Number(4)}}
	}
	return []tree.ResolvedWrite{{Target: tree.Target{Path: p}, Node: value()}}
}

// Whatever is written, denied, told by others and lost: in the end all views
// show what the server has. Own writes are seen at once, and once.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{t: t, listens: make(map[*Source]tree.Node)}
		m.replica = New(m)
		m.replica.large = rapid.SampledFrom([]int{Large, 20, 1, 0}).Draw(t, "large")
		m.alone = rapid.Bool().Draw(t, "alone")
		m.root = tree.MustParseNode(rapid.SampledFrom(modelValues).Draw(t, "root"))
		m.hope = m.root
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				if m.replica.large == Large || rapid.IntRange(0, 3).Draw(t, "look") == 0 {
					m.check(false)
				}
			},
			"open": func(t *rapid.T) {
				w := new(watcher)
				q := rapid.SampledFrom(modelQueries).Draw(t, "query")
				w.view = m.replica.Open(tree.MustParsePath(rapid.SampledFrom(modelPaths).Draw(t, "path")), q, w)
				m.watchers = append(m.watchers, w)
			},
			"close": func(t *rapid.T) {
				if len(m.watchers) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(m.watchers)-1).Draw(t, "which")
				m.replica.Close(m.watchers[i].view, m.watchers[i])
				m.watchers = slices.Delete(m.watchers, i, i+1)
			},
			"put": func(t *rapid.T) {
				m.put(drawWrites(t), !m.alone && rapid.IntRange(0, 3).Draw(t, "denied") == 0)
			},
			"other": func(t *rapid.T) {
				if m.alone {
					t.Skip()
				}
				m.change(drawWrites(t))
			},
			"serve": func(t *rapid.T) {
				if len(m.up) == 0 {
					t.Skip()
				}
				m.serve()
			},
			"deliver": func(t *rapid.T) {
				if len(m.down) == 0 {
					t.Skip()
				}
				m.deliver()
			},
			"refuse": func(t *rapid.T) {
				followed := m.ordered()
				if len(followed) == 0 || rapid.IntRange(0, 3).Draw(t, "really") > 0 {
					t.Skip()
				}
				s := followed[rapid.IntRange(0, len(followed)-1).Draw(t, "which")]
				// The client has not given the source up, and hears of the refusal before
				// it does: what came last through a source must lead up to the one that
				// takes its place.
				if s.gone {
					t.Skip()
				}
				for delete(m.listens, s); len(m.down) > 0; {
					m.deliver()
				}
				m.replica.Refused(s, errRefused)
			},
			"settle": func(*rapid.T) { m.settle(); m.check(true) },
			"reconnect": func(t *rapid.T) {
				if rapid.IntRange(0, 4).Draw(t, "really") > 0 {
					t.Skip()
				}
				m.alone = false
				m.reconnect()
			},
		})
		m.settle()
		m.check(true)
		for _, w := range m.watchers {
			m.replica.Close(w.view, w)
		}
		m.settle()
		if left := fmt.Sprint(len(m.listens), m.replica.sources.all(), m.replica.views.all(), m.replica.writes); left != "0 [] [] []" {
			t.Fatalf("left over: %s", left)
		}
	})
}
