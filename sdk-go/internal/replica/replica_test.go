package replica

import (
	"errors"
	"strings"
	"testing"
	"unsafe"

	"github.com/dogwooddb/dogwood/tree"
)

// A recorder is a network on which nothing happens by itself.
type recorder struct{ listens, unlistens []*Source }

func (r *recorder) Listen(s *Source) { r.listens = append(r.listens, s) }

func (r *recorder) Unlisten(s *Source) { r.unlistens = append(r.unlistens, s) }

func (r *recorder) last() *Source { return r.listens[len(r.listens)-1] }

var (
	path = tree.MustParsePath
	node = tree.MustParseNode
)

func set(p, json string) []tree.ResolvedWrite {
	return []tree.ResolvedWrite{{Target: tree.Target{Path: path(p)}, Node: node(json)}}
}

// answer is the server's answer to the last listen.
func answer(t *testing.T, r *Replica, net *recorder, json string) *Source {
	t.Helper()
	s := net.last()
	if err := r.Told(s.Path, s.Tag, []Change{{tree.Target{Path: s.Path}, node(json)}}); err != nil {
		t.Fatal(err)
	}
	r.Listened(s)
	return s
}

func TestOneSourceServesAllViewsBelow(t *testing.T) {
	net := new(recorder)
	r := New(net)
	whole, window, deep := new(watcher), new(watcher), new(watcher)
	v := r.Open(path("a"), tree.Query{}, whole)
	r.Open(path("a"), tree.Query{OrderBy: tree.ByKey, Limit: 1}, window)
	r.Open(path("a/b/c"), tree.Query{}, deep)
	if len(net.listens) != 1 {
		t.Fatalf("%d sources for views that one covers", len(net.listens))
	}
	answer(t, r, net, `{"b":{"c":1},"d":2}`)
	for w, want := range map[*watcher]string{whole: `{"b":{"c":1},"d":2}`, window: `{"b":{"c":1}}`, deep: `1`} {
		if len(w.states) != 1 || w.states[0] != (State{node(want), true}) {
			t.Errorf("states = %v, want %s", w.states, want)
		}
	}
	// The others go on without the one that all of it was for.
	r.Close(v, whole)
	if len(net.listens) != 3 || len(net.unlistens) != 1 {
		t.Fatalf("%d listens, %d unlistens, want 3 and 1", len(net.listens), len(net.unlistens))
	}
	for _, s := range net.listens[1:] {
		if s.Hash() == "" {
			t.Errorf("%s: the server has to send again what is known", s.Path)
		}
	}
	if len(window.states) != 1 || len(deep.states) != 1 {
		t.Error("the other views noticed")
	}
}

func TestRefused(t *testing.T) {
	net := new(recorder)
	r := New(net)
	above, below := new(watcher), new(watcher)
	r.Open(path("a"), tree.Query{}, above)
	r.Open(path("a/b"), tree.Query{}, below)
	refused := errors.New("refused")
	r.Refused(net.last(), refused)
	if above.failed != refused || below.failed != nil {
		t.Errorf("failed: %v, %v", above.failed, below.failed)
	}
	if s := net.last(); s.Path != path("a/b") {
		t.Errorf("the view below has the source %s", s.Path)
	}
	answer(t, r, net, "7")
	if n, ok := r.Current(path("a/b"), tree.Query{}); !ok || n != node("7") {
		t.Errorf("Current = %v, %v", n, ok)
	}
	r.Refused(net.listens[0], refused) // again: it is gone
	if below.failed != nil {
		t.Error("a source that is gone took others along")
	}
}

func TestNode(t *testing.T) {
	net := new(recorder)
	r := New(net)
	window := tree.Query{OrderBy: tree.ByKey, Limit: 2}
	r.Open(path("list"), window, new(watcher))
	answer(t, r, net, `{"a":{"n":1},"b":2}`)
	r.Open(path("whole"), tree.Query{}, new(watcher))
	answer(t, r, net, `{"x":1}`)
	r.Put(set("free", `{"y":{"z":5}}`))
	r.Put(set("list/a/n", `9`))
	for _, c := range []struct {
		path, want string // "" for unknown
	}{
		{"list/a/n", "9"},
		{"list/b", "2"},
		{"list/c", ""},
		{"list", ""},
		{"whole", `{"x":1}`},
		{"whole/none", "null"},
		{"free/y/z", "5"},
		{"free/none", "null"},
		{"elsewhere", ""},
		{"", ""},
	} {
		n, ok := r.Node(path(c.path))
		if ok != (c.want != "") || ok && n.JSON() != c.want {
			t.Errorf("Node(%q) = %s, %v, want %q", c.path, n.JSON(), ok, c.want)
		}
	}
	if _, ok := r.Current(path("list/b"), tree.Query{}); ok {
		t.Error("a part of a window is kept up to date only while it is in it")
	}
	if n, ok := r.Current(path("list"), window); !ok || n != node(`{"a":{"n":9},"b":2}`) {
		t.Errorf("Current = %v, %v", n, ok)
	}
}

// Before its source has arrived a view shows what writes set, also after they
// were acknowledged, until the source tells more.
func TestWritesBeforeTheSource(t *testing.T) {
	net := new(recorder)
	r := New(net)
	w := new(watcher)
	r.Open(path("list"), tree.Query{}, w)
	acked := r.Put(set("list/a", `1`))
	r.Put(set("list/b/deep", `2`)) // the rest of b is unknown
	denied := r.Put(set("list/c", `3`))
	r.Acknowledged(acked)
	r.Denied(denied)
	answer(t, r, net, `{"a":1,"b":{"other":0}}`)
	want := []State{
		{node(`{"a":1}`), false},
		{node(`{"a":1,"c":3}`), false},
		{node(`{"a":1}`), false},
		{node(`{"a":1,"b":{"deep":2,"other":0}}`), true},
	}
	if len(w.states) != len(want) {
		t.Fatalf("states = %v, want %v", w.states, want)
	}
	for i := range want {
		if w.states[i] != want[i] {
			t.Errorf("state %d = %v, want %v", i, w.states[i], want[i])
		}
	}
	if len(r.writes) != 1 {
		t.Errorf("%d writes are kept, want the one that is not answered", len(r.writes))
	}
}

// A priority of an update is that of the place as the update leaves it.
func TestPriorityInUpdate(t *testing.T) {
	priority := []tree.ResolvedWrite{{Target: tree.Target{Path: path("a/b"), Priority: true}, Node: node("5")}}
	for _, c := range []struct {
		was    string
		values []tree.ResolvedWrite
		want   string
	}{
		{`{"c":1}`, set("a/b/n", "1"), `{"b":{".priority":5,"n":1},"c":1}`},
		{`{"b":{"n":1}}`, append(set("a/b/n", "null"), set("a/b/m", "2")...), `{"b":{".priority":5,"m":2}}`},
		{`{"b":{"n":1},"c":1}`, set("a/b/n", "null"), `{"c":1}`},
	} {
		net := new(recorder)
		r := New(net)
		v := r.Open(path("a"), tree.Query{}, new(watcher))
		answer(t, r, net, c.was)
		put := r.Put(append(priority, c.values...))
		if got := v.State().Node.JSON(); got != c.want {
			t.Errorf("%s with %v pending: %s, want %s", c.was, c.values, got, c.want)
		}
		r.Denied(put)
		var told []Change
		for _, w := range append(priority, c.values...) {
			told = append(told, Change{w.Target, w.Node})
		}
		if err := r.Told(path("a/b"), 0, told); err != nil || v.State().Node.JSON() != c.want {
			t.Errorf("%s told %v: %s, %v, want %s", c.was, c.values, v.State().Node.JSON(), err, c.want)
		}
	}
}

func TestForced(t *testing.T) {
	net := new(recorder)
	r := New(net)
	w := new(watcher)
	v := r.Open(path("online/ana"), tree.Query{}, w)
	answer(t, r, net, `true`)
	before := net.last().Hash()
	r.Forced(set("online/ana", "false"))
	if v.State() != (State{node("false"), true}) || net.last().Hash() == before {
		t.Errorf("state = %v", v.State())
	}
	if r.Sources(); v.Current() {
		t.Error("current without a connection")
	}
	if _, ok := r.Current(v.Path, v.Query); ok {
		t.Error("current without a connection")
	}
}

// Of a child that is not in a window too little is known to show what the server will have
// done inside of it. One that it will have set is shown.
func TestForcedOutsideOfWindow(t *testing.T) {
	for _, c := range []struct{ write, value, want string }{
		{"users/ana/seen", "9", `{"bo":{"n":1,"seen":2}}`},
		{"users/bo/seen", "9", `{"bo":{"n":1,"seen":9}}`},
		{"users/cy", `{"seen":9}`, `{"cy":{"seen":9}}`},
		{"users", `{"cy":{"seen":1}}`, `{"cy":{"seen":1}}`},
	} {
		net := new(recorder)
		r := New(net)
		v := r.Open(path("users"), tree.Query{OrderBy: "seen", Limit: 1, FromLast: true}, new(watcher))
		answer(t, r, net, `{"bo":{"n":1,"seen":2}}`)
		r.Forced(set(c.write, c.value))
		if got := v.State(); got != (State{node(c.want), true}) {
			t.Errorf("%s: %v, want %s", c.write, got, c.want)
		}
	}
}

// TestForcedResumes: what the server will have done is shown until it has answered, and does not
// stay if the server has not done it and says only what has changed.
func TestForcedResumes(t *testing.T) {
	for _, c := range []struct {
		may  bool
		told []Change
		want string
	}{
		{true, nil, `{"ana":true,"bo":1}`},
		{true, []Change{{tree.Target{Path: path("online/bo")}, node("2")}}, `{"ana":true,"bo":2}`},
		{true, []Change{{tree.Target{Path: path("online/ana")}, node("false")}}, `{"ana":false,"bo":1}`},
		{true, []Change{{tree.Target{Path: path("online")}, node(`{"cy":1}`)}}, `{"cy":1}`},
		{false, nil, `{"ana":false,"bo":1}`}, // the hash was that of this
		{false, []Change{{tree.Target{Path: path("online")}, node(`{"cy":1}`)}}, `{"cy":1}`},
	} {
		net := new(recorder)
		r := New(net)
		v := r.Open(path("online"), tree.Query{}, new(watcher))
		s := answer(t, r, net, `{"ana":true,"bo":1}`)
		r.At("p1")
		true1 := s.Hash()
		for range 2 { // the second connection is lost before the answer
			r.Sources()
			want, hash := "", node(`{"ana":false,"bo":1}`).Hash()
			if c.may {
				want, hash = "p1", true1
			}
			r.Forced(set("online/ana", "false"))
			if got := s.Resume(c.may); got != want || s.Hash() != hash {
				t.Errorf("resumes from %q, want %q; the hash is that of what it is then: %t", got, want, s.Hash() == hash)
			}
			if v.State().Node != node(`{"ana":false,"bo":1}`) {
				t.Errorf("without an answer %s is shown", v.State().Node.JSON())
			}
			r.At("too early")
		}
		if c.told != nil {
			if err := r.Told(c.told[0].Path, 0, c.told); err != nil {
				t.Fatal(err)
			}
		}
		r.Listened(s)
		if got := v.State().Node; got != node(c.want) {
			t.Errorf("%v, told %v: %s, want %s", c.may, c.told, got.JSON(), c.want)
		}
		if r.At("p2"); s.Resume(true) != "p2" {
			t.Error("a new position is not taken")
		}
	}
}

func TestFail(t *testing.T) {
	net := new(recorder)
	r := New(net)
	w := new(watcher)
	v := r.Open(path("a"), tree.Query{}, w)
	lost := errors.New("lost")
	r.Fail(lost)
	if w.failed != lost {
		t.Errorf("failed = %v", w.failed)
	}
	r.Close(v, w) // as its user will
	if v.Current() {
		t.Error("a failed view is current")
	}
}

// TestFailBeforeAnswers: what the server says afterwards is not listened to.
func TestFailBeforeAnswers(t *testing.T) {
	net := new(recorder)
	r := New(net)
	for _, p := range []string{"a", "b"} {
		r.Open(path(p), tree.Query{}, new(watcher))
	}
	r.Fail(errors.New("lost"))
	r.Listened(net.listens[0])
	r.Refused(net.listens[1], errors.New("denied"))
}

func TestUnknownTag(t *testing.T) {
	r := New(new(recorder))
	if err := r.Told(path("a"), 3, nil); err != ErrUnknownTag {
		t.Errorf("Told = %v, want ErrUnknownTag", err)
	}
}

// Many pending writes into a large node are laid over it in one go.
// A large view without pending writes keeps its data once: the view shares the text of
// its source.
func TestToldViewIsNotCopied(t *testing.T) {
	net := new(recorder)
	r := New(net)
	v := r.Open(path("list"), tree.Query{}, nothing{})
	s := net.last()
	for i := range 3 {
		p := path("list/" + key(i))
		if err := r.Told(p, 0, []Change{{tree.Target{Path: p}, tree.Number(1)}}); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			r.Listened(s)
		}
		shown, told := v.State().Node.Text(), s.node.Text()
		if shown != told || unsafe.StringData(shown) != unsafe.StringData(told) {
			t.Errorf("after %d changes the view is %s, a copy of %s", i+1, shown, told)
		}
	}
}

func BenchmarkOverlay(b *testing.B) {
	var large tree.Builder
	pending := make([]change, 500)
	for i := range 10_000 {
		large.Child(key(i), tree.Number(float64(i)))
	}
	for i := range pending {
		pending[i] = change{tree.Target{Path: path(key(20 * i))}, tree.Bool(true)}
	}
	n := large.Node()
	for b.Loop() {
		overlay(n, pending)
	}
}

// A write into a view of 10,000 children, with 100 others pending, is shown, told
// by the server and acknowledged.
func BenchmarkWriteIntoLargeView(b *testing.B) {
	net := new(recorder)
	r := New(net)
	r.Open(path("list"), tree.Query{}, nothing{})
	var large tree.Builder
	for i := range 10_000 {
		large.Child(key(i), tree.Number(float64(i)))
	}
	s := net.last()
	if err := r.Told(s.Path, 0, []Change{{tree.Target{Path: s.Path}, large.Node()}}); err != nil {
		b.Fatal(err)
	}
	r.Listened(s)
	for i := range 100 {
		r.Put(set("list/"+key(i), "true"))
	}
	for i := 0; b.Loop(); i++ {
		p := path("list/" + key(i%10_000))
		n := tree.Number(float64(-i))
		w := r.Put([]tree.ResolvedWrite{{Target: tree.Target{Path: p}, Node: n}})
		if err := r.Told(p, 0, []Change{{tree.Target{Path: p}, n}}); err != nil {
			b.Fatal(err)
		}
		r.Acknowledged(w)
	}
}

// A server sends 100 changes of a view of 8 MiB before it is read.
func BenchmarkToldLargeView(b *testing.B) {
	net := new(recorder)
	r := New(net)
	v := r.Open(path("list"), tree.Query{}, nothing{})
	var large tree.Builder
	text := tree.String(strings.Repeat("x", 1<<10))
	for i := range 8 << 10 {
		large.Child(key(i), text)
	}
	if err := r.Told(path("list"), 0, []Change{{tree.Target{Path: path("list")}, large.Node()}}); err != nil {
		b.Fatal(err)
	}
	r.Listened(net.last())
	for i := 0; b.Loop(); i++ {
		for j := range 100 {
			p := path("list/" + key(j))
			if err := r.Told(p, 0, []Change{{tree.Target{Path: p}, tree.Number(float64(i))}}); err != nil {
				b.Fatal(err)
			}
		}
		v.State()
	}
}

// nothing is a watcher that does not look.
type nothing struct{}

func (nothing) Changed(State) {}

func (nothing) Stale() {}

func (nothing) Failed(error) {}

func key(i int) string {
	return "k" + string(rune('a'+i/2500)) + string(rune('a'+i/100%25)) + string(rune('a'+i/10%10)) + string(rune('a'+i%10))
}
