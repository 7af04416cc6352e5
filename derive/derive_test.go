package derive_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules/rulestest"
	"github.com/dogwooddb/dogwood/tree"
)

// A state is a tree with the numbers of sources of shared places.
type state struct {
	rulestest.World
	sources map[string]map[string]int // by definition and place
}

func (s state) Sources(definition string, place tree.Path) (int, error) {
	return s.sources[definition][place.Clean()], nil
}

// apply carries out a result.
func (s *state) apply(r *derive.Result, writes []tree.ResolvedWrite) {
	if r != nil {
		writes = r.Writes
		for _, x := range r.Shared {
			if s.sources[x.Definition.Name] == nil {
				s.sources[x.Definition.Name] = make(map[string]int)
			}
			s.sources[x.Definition.Name][x.Place.Clean()] = x.Sources
			if x.Sources == 0 {
				delete(s.sources[x.Definition.Name], x.Place.Clean())
			}
		}
	}
	s.World = s.After(writes)
}

var someKeys = map[string][]string{
	"a": {"1", "2"}, "h": {"1", "2"}, "u": {"1", "2"}, "1": {"1", "2", "3", "inv", "total", "kept"}, "2": {"1", "2", "3", "inv", "total"},
	"": {"a", "a", "a", "h", "h", "u", "names", "by", "sums", "second", "third", "old"},
}

func drawPath(t *rapid.T) tree.Path {
	p, last := tree.Root, ""
	for range rapid.SampledFrom([]int{0, 1, 2, 2, 3, 3, 3, 3, 4}).Draw(t, "depth") {
		keys := someKeys[last]
		if keys == nil {
			keys = []string{"1", "2", "x", "y", "n", "ok", "w"}
		}
		last = rapid.SampledFrom(keys).Draw(t, "key")
		p = p.Child(last)
	}
	return p
}

var leaves = rapid.SampledFrom([]tree.Node{
	tree.Bool(true), tree.Bool(false), tree.Number(0), tree.Number(1), tree.Number(2), tree.Number(-1), tree.String("x"), tree.String("y"), tree.String("no/key"),
})

// drawNode draws what may stand at a path: mostly what definitions look at.
func drawNode(t *rapid.T, depth int) tree.Node {
	n := tree.Empty
	switch {
	case rapid.IntRange(0, 3).Draw(t, "kind") == 0:
		return n
	case depth >= 4 || rapid.IntRange(0, 7).Draw(t, "leaf") == 0:
		return leaves.Draw(t, "value")
	case depth == 3:
		for _, key := range []string{"n", "ok", "w"} {
			if rapid.Bool().Draw(t, key) {
				n = n.With(tree.Root.Child(key), leaves.Draw(t, "value"))
			}
		}
		return n
	}
	keys := []string{"1", "2", "3"}
	if depth == 0 {
		keys = []string{"a", "h", "u", "sums"}
	}
	for _, key := range keys {
		if rapid.Bool().Draw(t, key) {
			n = n.With(tree.Root.Child(key), drawNode(t, depth+1))
		}
	}
	return n
}

func drawWrites(t *rapid.T) (list []tree.ResolvedWrite) {
	var u tree.Update
	for range rapid.IntRange(1, 3).Draw(t, "writes") {
		target := tree.Target{Path: drawPath(t)}
		if more := append(u[:len(u):len(u)], tree.Write{Target: target}); more.Check() == nil {
			u = more
			list = append(list, tree.ResolvedWrite{Target: target, Node: drawNode(t, target.Path.Len())})
		}
	}
	return list
}

// After every write the tree is the one that deriving everything anew gives.
func TestModel(t *testing.T) {
	total, refused := 0, 0
	steps := 30
	for total < tier.Count("DOGWOOD_DERIVE_WRITES", 1500, 4000, 120_000) {
		rapid.Check(t, func(t *rapid.T) {
			list := drawDefinitions(t)
			doc, err := derive.Parse(document(list))
			if err != nil {
				t.Fatalf("%s\n%v", document(list), err)
			}
			s := &state{sources: make(map[string]map[string]int)}
			for range steps {
				total++
				if !step(t, doc, list, s) {
					refused++
				}
			}
		})
		if t.Failed() {
			return
		}
	}
	if refused == 0 || refused == total {
		t.Errorf("%d of %d writes were refused: the test shows nothing", refused, total)
	}
}

// step derives from one write, and reports whether it was carried out.
func step(t *rapid.T, doc *derive.Document, list []naive, s *state) bool {
	writes, admin := drawWrites(t), rapid.IntRange(0, 2).Draw(t, "admin") == 0
	want, sources, fine := settle(list, s.After(clean(list, writes)).Root)
	told := fmt.Sprintf("%s\nbefore %s\nwrites %v\nwant %s", document(list), s.Root.JSON(), writes, want.JSON())
	r, err := doc.Derive(&derive.Change{Before: *s, Writes: writes, Admin: admin})
	if err != nil {
		if fine && (admin || !contradicts(list, writes, want)) {
			t.Fatalf("%v at %s", err, told)
		}
		return false
	}
	if !fine || !admin && contradicts(list, writes, want) {
		t.Fatalf("not refused at %s", told)
	}
	if r != nil {
		var u tree.Update
		for _, w := range r.Writes {
			u = append(u, tree.Write{Target: w.Target})
		}
		if err := u.Check(); err != nil {
			t.Fatalf("%v at %s", err, told)
		}
		if gone := vanished(list, writes, r); gone != "" && !admin {
			t.Fatalf("no rule is asked about the write of %s at %s", gone, told)
		}
	}
	before := s.Root
	s.apply(r, writes)
	if s.Root != want {
		t.Fatalf("got  %s at %s", s.Root.JSON(), told)
	}
	if r != nil {
		for _, x := range r.Derived {
			if want.Get(x.Path) != x.Value || before.Get(x.Path) == x.Value && !x.Value.IsEmpty() {
				t.Fatalf("derived %v at %s", x, told)
			}
		}
	}
	for _, d := range list {
		if d.name == "d1" && !d.unique && !maps.Equal(s.sources[d.name], sources[d.name]) {
			t.Fatalf("sources %v, want %v at %s", s.sources[d.name], sources[d.name], told)
		}
	}
	return true
}

func parse(t testing.TB, define string) *derive.Document {
	t.Helper()
	doc, err := derive.Parse(`{"format": "dogwood-data/1", "define": {` + define + `}}`)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func put(path, value string) tree.ResolvedWrite {
	return tree.ResolvedWrite{Target: tree.Target{Path: tree.MustParsePath(path)}, Node: tree.MustParseNode(value)}
}

func priority(path, value string) tree.ResolvedWrite {
	w := put(path, value)
	w.Priority = true
	return w
}

func refusal(t *testing.T, err error) *derive.Refusal {
	t.Helper()
	var r *derive.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("%v is no refusal", err)
	}
	return r
}

func TestUnique(t *testing.T) {
	doc := parse(t, `"logins": {"map": "/users/$u/login", "to": "/logins/{data.val().toLowerCase()}", "value": "= $u", "unique": true}`)
	s := state{World: rulestest.World{Root: tree.MustParseNode(`{"users":{"ann":{"login":"Ann"}},"logins":{"ann":"ann"}}`)}}
	_, err := doc.Derive(&derive.Change{Before: s, Writes: []tree.ResolvedWrite{put("users/bo/login", `"ANN"`)}, Admin: true})
	if r := refusal(t, err); r.Reason != derive.Taken || r.Error() != "logins/ann is taken" {
		t.Errorf("%v", r)
	}
	// One update may hand it on.
	r, err := doc.Derive(&derive.Change{Before: s, Writes: []tree.ResolvedWrite{put("users/ann/login", `"A"`), put("users/bo/login", `"ANN"`)}})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.After(r.Writes).Root.Child("logins").JSON(); got != `{"a":"ann","ann":"bo"}` {
		t.Error(got)
	}
}

// A fast state finds some nodes without a walk over their siblings.
type fast struct {
	state
	known map[tree.Path]tree.Node
}

func (f fast) Get(p tree.Path) (tree.Node, error) {
	if n, ok := f.known[p]; ok {
		return n, nil
	}
	return f.state.Get(p)
}

func (f fast) Has(p tree.Path) (bool, error) {
	n, err := f.Get(p)
	return !n.IsEmpty(), err
}

func TestBounds(t *testing.T) {
	doc := parse(t, `"groups": {"map": "/groups/$g/members/$u", "to": "/users/$u/groups/$g"}`)
	const n = 11_000
	s, members := fast{known: make(map[tree.Path]tree.Node)}, tree.Builder{}
	for i := range n {
		key := fmt.Sprintf("u%05d", i)
		members.Child(key, tree.Bool(true))
		s.known[tree.MustParsePath("groups/g/members/"+key)] = tree.Bool(true)
		s.known[tree.MustParsePath("users/"+key+"/groups/g")] = tree.Bool(true)
	}
	s.Root = tree.Empty.With(tree.MustParsePath("groups/g/members"), members.Node())
	change := &derive.Change{Before: s, Writes: []tree.ResolvedWrite{put("groups", "null")}}
	_, err := doc.Derive(change)
	want := "removing /groups would change 11,000 places kept by groups; remove its children in parts"
	if r := refusal(t, err); r.Reason != derive.TooLarge || r.Error() != want {
		t.Errorf("%v", r)
	}
	change.Admin = true
	if r, err := doc.Derive(change); err != nil || len(r.Derived) != n {
		t.Errorf("an administrator: %v", err)
	}
	fewer := *change
	fewer.Bytes = 1 << 10
	if _, err := doc.Derive(&fewer); refusal(t, err).Reason != derive.TooLarge {
		t.Errorf("within %d bytes: %v", fewer.Bytes, err)
	}
}

func TestConflict(t *testing.T) {
	doc := parse(t, `"groups": {"map": "/groups/$g/$u", "to": "/users/$u/groups/$g"}`)
	s := state{World: rulestest.World{Root: tree.MustParseNode(`{"groups":{"g":{"ann":true}},"users":{"ann":{"groups":{"g":true},"name":"Ann"}}}`)}}
	for _, c := range []struct {
		writes []tree.ResolvedWrite
		want   string // the users after the write, or "refused"
		kept   int
	}{
		{[]tree.ResolvedWrite{put("users/ann", "null")}, `{"ann":{"groups":{"g":true}}}`, 0},
		{[]tree.ResolvedWrite{put("users/ann", "null"), put("groups/g", "null")}, `null`, 0},
		{[]tree.ResolvedWrite{put("users/ann/groups/g", "true")}, `{"ann":{"groups":{"g":true},"name":"Ann"}}`, 0},
		{[]tree.ResolvedWrite{put("groups/h/ann", "true"), put("users/ann/groups/h", "true")}, `{"ann":{"groups":{"g":true,"h":true},"name":"Ann"}}`, 0},
		{[]tree.ResolvedWrite{priority("users/ann", "5")}, `{"ann":{".priority":5,"groups":{"g":true},"name":"Ann"}}`, 0},
		{[]tree.ResolvedWrite{priority("users/ann/groups/g", "5")}, "refused", 1},
		{[]tree.ResolvedWrite{put("users/ann/groups/h", "true")}, "refused", 1},
		{[]tree.ResolvedWrite{put("users/ann/groups/g", "null")}, "refused", 1},
		{[]tree.ResolvedWrite{put("users/ann/groups/g/x", "1")}, "refused", 1},
		{[]tree.ResolvedWrite{put("users/ann", `"leaf"`)}, "refused", 1},
	} {
		change := &derive.Change{Before: s, Writes: c.writes}
		r, err := doc.Derive(change)
		if c.want == "refused" {
			if got := refusal(t, err); got.Error() != `kept by the definition "groups"` {
				t.Errorf("%v: %v", c.writes, got)
			}
			change.Admin = true
			if r, err := doc.Derive(change); err != nil || r.Kept != c.kept {
				t.Errorf("%v of an administrator: %v, %v", c.writes, r, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%v: %v", c.writes, err)
		}
		if got := s.After(r.Writes).Root.Child("users").JSON(); got != c.want {
			t.Errorf("%v makes users %s, want %s", c.writes, got, c.want)
		}
	}
}

// Clients that keep counters of their own write 0 where nothing counts, and the server nothing.
func TestZero(t *testing.T) {
	doc := parse(t, `"posts": {"count": "/posts/$u/$p", "to": "/users/$u/posts"}, "names": {"map": "/names/$n", "to": "/copies/$n", "value": "= data.val()"}`)
	s := state{World: rulestest.World{Root: tree.MustParseNode(`{"posts":{"ann":{"p":true}},"users":{"ann":{"posts":1},"bo":{"name":"Bo"}}}`)}}
	for _, c := range []struct {
		writes []tree.ResolvedWrite
		want   string // the users after the write, or "refused"
	}{
		{[]tree.ResolvedWrite{put("users/new", `{"name":"New","posts":0}`)}, `{"ann":{"posts":1},"bo":{"name":"Bo"},"new":{"name":"New"}}`},
		{[]tree.ResolvedWrite{put("users/bo/posts", "0")}, `{"ann":{"posts":1},"bo":{"name":"Bo"}}`},
		{[]tree.ResolvedWrite{put("posts/ann/p", "null"), put("users/ann/posts", "0")}, `{"bo":{"name":"Bo"}}`},
		{[]tree.ResolvedWrite{put("posts/bo/q", "true"), put("users/bo", `{"name":"B","posts":1}`)}, `{"ann":{"posts":1},"bo":{"name":"B","posts":1}}`},
		{[]tree.ResolvedWrite{put("users/ann/posts", "0")}, "refused"},
		{[]tree.ResolvedWrite{put("posts/bo/q", "true"), put("users/bo/posts", "0")}, "refused"},
		{[]tree.ResolvedWrite{put("users/new", `{"posts":{"x":0}}`)}, "refused"},
		{[]tree.ResolvedWrite{priority("users/ann/posts", "0")}, "refused"},
		{[]tree.ResolvedWrite{put("copies/n", "0")}, "refused"},
	} {
		r, err := doc.Derive(&derive.Change{Before: s, Writes: c.writes})
		if c.want == "refused" {
			if !strings.HasPrefix(refusal(t, err).Error(), "kept by") {
				t.Errorf("%v: %v", c.writes, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%v: %v", c.writes, err)
		}
		if got := s.After(r.Writes).Root.Child("users").JSON(); got != c.want {
			t.Errorf("%v makes users %s, want %s", c.writes, got, c.want)
		}
		for _, d := range r.Derived {
			if d.Path == tree.MustParsePath("users/bo/posts") && d.Value.IsEmpty() {
				t.Errorf("%v derives %v, where nothing changes", c.writes, d)
			}
		}
		if r.Kept != 0 {
			t.Errorf("%v is corrected in %d places", c.writes, r.Kept)
		}
	}
	// That a 0 may be written is for the rules to say, as of any place that is written.
	r, err := doc.Derive(&derive.Change{Before: s, Writes: []tree.ResolvedWrite{put("users/bo/posts", "0")}})
	if err != nil || len(r.Writes) != 1 || len(r.Follow) != 0 {
		t.Errorf("writes %v; %v follow; %v", r.Writes, r.Follow, err)
	}
}

// A client that keeps both sides may remove again what is gone: rules are asked about the node, and
// not about its place.
func TestRemoveAgain(t *testing.T) {
	doc := parse(t, `"groups": {"map": "/groups/$g/$u", "to": "/users/$u/groups/$g"},
		"names": {"map": "/names/$n", "to": "/byName/{data.val()}", "value": "= $n", "unique": true}`)
	s := state{World: rulestest.World{Root: tree.MustParseNode(`{"groups":{"g":{"ann":true}},"users":{"ann":{"groups":{"g":true}}}}`)}}
	for _, c := range []struct {
		writes []tree.ResolvedWrite
		follow string // the definitions of places that rules are not asked to be written at
	}{
		{[]tree.ResolvedWrite{put("groups/g/bo", "null"), put("users/bo/groups/g", "null")}, "[groups]"},
		{[]tree.ResolvedWrite{put("groups/g/ann", "null"), put("users/ann/groups/g", "null")}, "[groups]"},
		{[]tree.ResolvedWrite{put("users/bo/groups/g", "null")}, "[]"},
		{[]tree.ResolvedWrite{put("groups/h/bo", "null"), put("users/bo/groups/g", "null")}, "[]"},
		{[]tree.ResolvedWrite{put("names/x", "null"), put("byName/x", "null")}, "[]"},
	} {
		r, err := doc.Derive(&derive.Change{Before: s, Writes: c.writes})
		if err != nil {
			t.Fatalf("%v: %v", c.writes, err)
		}
		if got := fmt.Sprint(r.Follow); got != c.follow {
			t.Errorf("%v: places of %s follow, want %s", c.writes, got, c.follow)
		}
	}
	_, err := doc.Derive(&derive.Change{Before: s, Writes: []tree.ResolvedWrite{put("groups/g/bo", "null"), put("users/bo/groups/g", "true")}})
	refusal(t, err)
}

func TestTimers(t *testing.T) {
	doc := parse(t, `"typing": {"expire": "/typing/$r/$u", "after": "10s"},
		"invites": {"expire": "/invites/$i", "at": "= data.child('expires').val()"},
		"sessions": {"expire": "/sessions/$i", "after": "1d", "from": "= data.child('created').val()"},
		"byTime": {"index": "/groups", "by": ["owner", "created"]}`)
	s := state{World: rulestest.World{Root: tree.MustParseNode(`{"groups":{"g":{"owner":"ann"}},"invites":{"old":{"expires":5}}}`)}}
	r, err := doc.Derive(&derive.Change{Before: s, Now: time.UnixMilli(1000), Writes: []tree.ResolvedWrite{
		put("typing/r/ann/at", "true"), put("invites/i", `{"expires":7}`), put("invites/j", `{"expires":"soon"}`),
		put("invites/old", "null"), put("invites/zero", `{"expires":0}`), put("sessions", `{"s":{"created":1}}`), put("groups/g/created", "3"), put("groups/h/name", `"H"`)}})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, x := range r.Timers {
		got += fmt.Sprintf("%s %d ", x.Path, x.Due)
	}
	if want := "/typing/r/ann 11000 /invites/i 7 /invites/j 0 /invites/old 0 /invites/zero 1 /sessions/s 86400001 "; got != want {
		t.Errorf("timers %s, want %s", got, want)
	}
	if len(r.Skipped) != 1 || r.Skipped[0].Why != "the time is no number" {
		t.Errorf("skipped %v", r.Skipped)
	}
}

// The expressions of one write read a bounded amount of text, for nodes that do not match, too.
func TestTextIsBounded(t *testing.T) {
	doc := parse(t, `"n": {"count": "/a/$x", "where": "data.child('t').val().contains('b')", "to": "/n"}`)
	var b tree.Builder
	for i := range 400 {
		b.Child(fmt.Sprintf("k%03d", i), tree.Empty.With(tree.MustParsePath("t"), tree.String(strings.Repeat("a", 200_000))))
	}
	change := &derive.Change{Before: state{}, Writes: []tree.ResolvedWrite{{Target: tree.Target{Path: tree.MustParsePath("a")}, Node: b.Node()}}}
	_, err := doc.Derive(change)
	if r := refusal(t, err); r.Reason != derive.TooLarge || r.Error() != "the expressions of n would look at too much text; write in smaller parts" {
		t.Errorf("%v", r)
	}
	change.Admin = true
	if _, err := doc.Derive(change); err != nil {
		t.Error(err)
	}
	change.Bytes = 1 << 20
	if _, err := doc.Derive(change); refusal(t, err).Reason != derive.TooLarge {
		t.Errorf("within %d bytes: %v", change.Bytes, err)
	}
}

func TestSkip(t *testing.T) {
	doc := parse(t, `"n": {"count": "/a/$x", "to": "/n"}`)
	change := &derive.Change{Before: state{}, Writes: []tree.ResolvedWrite{put("a/b", "1"), put("n", "7")},
		Skip: func(d *derive.Definition) bool { return d.Name == "n" }}
	r, err := doc.Derive(change)
	if err != nil || len(r.Derived) != 0 || len(r.Writes) != 2 {
		t.Errorf("%v, %v", r, err)
	}
}

// A write that meets no definition costs a walk in the trie.
func TestNoDefinitionMet(t *testing.T) {
	doc, change := unmet(t)
	if n := testing.AllocsPerRun(100, func() {
		if r, err := doc.Derive(change); r != nil || err != nil {
			t.Error(r, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkNoDefinitionMet(b *testing.B) {
	doc, change := unmet(b)
	b.ReportAllocs()
	for b.Loop() {
		if r, _ := doc.Derive(change); r != nil {
			b.Fatal(r)
		}
	}
}

func unmet(t testing.TB) (*derive.Document, *derive.Change) {
	doc := parse(t, `"groups": {"map": "/groups/$g/members/$u", "to": "/users/$u/groups/$g"},
		"homes": {"keep": 1000, "at": "/home/$u"}, "posts": {"count": "/profile/$u/$s", "to": "/users/$u/posts"}`)
	return doc, &derive.Change{Before: state{}, Writes: []tree.ResolvedWrite{put("groups/g1/title", `"x"`)}}
}
