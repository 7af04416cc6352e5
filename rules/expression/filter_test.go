package expression_test

import (
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/rules/expression"
	"github.com/dogwooddb/dogwood/rules/rulestest"
	"github.com/dogwooddb/dogwood/tree"
)

func TestFilter(t *testing.T) {
	rooms := tree.MustParseNode(`{"a":{"type":"public","size":3},"b":{"type":"private"},"c":"text","d":{"type":"public","size":{"x":1}}}`)
	world := rulestest.World{Root: tree.Empty.With(tree.MustParsePath("x/rooms"), rooms)}
	for src, want := range map[string]string{
		"data.child('type').val() == 'public'":                     "a d",
		"data.child('size').val() > 2":                             "a", // an object is not compared: it does not match
		"key >= 'b' && data.exists()":                              "b c d",
		"key.contains('c') || data.child('type').val()=='private'": "b c",
		"data.isString()":                                          "c",
		"data.hasChildren(['type','size'])":                        "a d",
		"true":                                                     "a b c d",
		"data.child('none').val().length > 1":                      "",
	} {
		f, err := expression.NewFilter(src, 0)
		if err != nil {
			t.Errorf("%s: %s", src, err.Msg)
			continue
		}
		var found []string
		for key, child := range rooms.Children() {
			ok, _, err := f.Match(world, tree.MustParsePath("x/rooms"), key, tree.MaxLooked)
			if err != nil {
				t.Error(err)
			}
			if ok {
				found = append(found, key)
			}
			if alone := matchesAlone(f, key, child); alone != ok {
				t.Errorf("%s matches %s in a tree: %t, alone: %t", src, key, ok, alone)
			}
		}
		if got := strings.Join(found, " "); got != want {
			t.Errorf("%s: %s, want %s", src, got, want)
		}
	}
}

func TestFilterRefused(t *testing.T) {
	for src, want := range map[string]string{
		"auth != null":                  "auth is for rules only",
		"data.parent().exists()":        "parent() is for rules only",
		"root.exists()":                 "root is for rules only",
		"data.val()":                    "boolean",
		"$key == 'a'":                   "Unknown variable",
		"data.child(":                   "",
		strings.Repeat(" ", 4097) + "1": "at most 4096 bytes",
	} {
		if _, err := expression.NewFilter(src, 0); err == nil || !strings.Contains(err.Msg, want) {
			t.Errorf("%.40s: %v, want %s", src, err, want)
		}
	}
}

// Equal texts are equal filters, however they are written.
func TestFilterText(t *testing.T) {
	a, _ := expression.NewFilter("data.val()==1", 0)
	b, _ := expression.NewFilter(" data.val() == 1 ", 7)
	if (tree.Query{Filter: a}).ID() != (tree.Query{Filter: b}).ID() || (tree.Query{Filter: a}).ID() == (tree.Query{}).ID() {
		t.Errorf("%s, %s", a.Text(), b.Text())
	}
	if a.Most() != expression.DefaultLooks || b.Most() != 7 {
		t.Error(a.Most(), b.Most())
	}
}

func FuzzFilter(f *testing.F) {
	f.Add("data.child('a').val() > 1 && key != 'b'", `{"a":{"a":2},"b":3}`)
	f.Fuzz(func(t *testing.T, src, json string) {
		filter, err := expression.NewFilter(src, 0)
		if err != nil {
			return
		}
		again, err := expression.NewFilter(filter.Text(), 0)
		if err != nil || again.Text() != filter.Text() {
			t.Fatalf("%q becomes %q: %v", src, filter.Text(), err)
		}
		n, failed := tree.ParseNode(json)
		if failed != nil {
			return
		}
		q, same := tree.Query{OrderBy: tree.ByKey, Filter: filter}, tree.Query{OrderBy: tree.ByKey, Filter: again}
		if q.Apply(n) != same.Apply(n) {
			t.Fatalf("%q and its canonical form differ", src)
		}
	})
}

func BenchmarkFilter(b *testing.B) {
	child := tree.OneChild{Key: "a", Child: tree.MustParseNode(`{"type":"public","size":3,"name":"room alpha"}`)}
	filter, _ := expression.NewFilter("data.child('type').val() == 'public' && data.child('size').val() > 2", 0)
	b.ReportAllocs()
	for b.Loop() {
		if ok, _, _ := filter.Match(child, tree.Root, "a", tree.MaxLooked); !ok {
			b.Fatal("no match")
		}
	}
}

// The extension text, which filters have: what it yields, and what it fails at.
func TestTextMethods(t *testing.T) {
	child := tree.MustParseNode(`{"t":"Hello  REDIS and trees, @Ann","n":"34.05,-118.24","e":"","o":{"x":1},"u":"a😀b"}`)
	for src, want := range map[string]bool{
		"data.child('t').val().words().has('redis')":                              true,
		"data.child('t').val().words().has('Redis')":                              true,
		"data.child('t').val().words().has('redi')":                               false,
		"data.child('t').val().words().has('trees')":                              false, // "trees,"
		"data.child('t').val().words().has('')":                                   false,
		"data.child('t').val().words().has('redis and')":                          true,
		"data.child('t').val().words().hasAll(['redis', '@ann'])":                 true,
		"data.child('t').val().words().hasAll(['redis', 'none'])":                 false,
		"data.child('t').val().words().hasAll([])":                                true,
		"data.child('e').val().words().has('a')":                                  false,
		"data.child('none').val().words().has('a') || true":                       false,
		"data.child('o').val().words().has('a') || true":                          false,
		"data.child('n').val().part(',', 0) == '34.05'":                           true,
		"data.child('n').val().part(',', 1).toNumber() < -118":                    true,
		"data.child('n').val().part(',', 2) == ''":                                true,
		"data.child('n').val().part(',', -1) == ''":                               true,
		"data.child('n').val().part(',', 0.5) == ''":                              true,
		"data.child('n').val().part('', 0) == data.child('n').val()":              true,
		"data.child('n').val().toNumber() > 0 || true":                            false,
		"' 7 '.toNumber() == 7 && '1e3'.toNumber() == 1000":                       true,
		"'0x10'.toNumber() == 16 || true":                                         false,
		"'Infinity'.toNumber() > 1 || true":                                       false,
		"data.child('u').val().substring(1, 3) == '😀'":                            true,
		"'abc'.substring(2, 0) == 'ab' && 'abc'.substring(-9, 99) == 'abc'":       true,
		"'abc'.substring(0 / 0, 1) == 'a'":                                        true,
		"'client-1'.hash() >= 0 && 'client-1'.hash() < 4294967296":                true,
		"'a'.hash() == 'a'.hash() && 'a'.hash() != 'b'.hash() && ''.hash() > 0":   true,
		"'a'.hash() == 3826002220":                                                true, // FNV-1a
		"data.child('t').val().substring(0, 5).toLowerCase().contains('hello')":   true,
		"data.child('n').val().part(data.child('none').val(), 0) == '' || true":   false,
		"data.child('n').val().part(',', data.child('none').val()) == '' || true": false,
	} {
		f, err := expression.NewFilter(src, 0)
		if err != nil {
			t.Errorf("%s: %s", src, err.Msg)
			continue
		}
		if got := matchesAlone(f, "k", child); got != want {
			t.Errorf("%s: %t", src, got)
		}
	}
	for _, bad := range []string{"'a'.words()", "'a'.words().length > 0", "'a'.words() == 'a'", "'a'.hash(1) > 0", "'a'.part(',') == ''", "'a'.part(1, 1) == ''", "'a'.substring('a', 1) == ''", "data.words().has('a')", "'a'.words().has(1)", "'a'.words().hasAll('a')", "'a'.words().hasAll() || true"} {
		if _, err := expression.NewFilter(bad, 0); err == nil {
			t.Errorf("%s compiles", bad)
		}
	}
	// Other expressions have no extension.
	if _, err := expression.CompileCondition("'a'.words().has('a')", nil); err == nil {
		t.Error("words() outside of a filter")
	}
}

// A client may write a long filter about short texts, which are free in rules: what is spent
// shows the time that it takes.
func TestFilterSpends(t *testing.T) {
	text := strings.Repeat("ab ", 80)
	for _, c := range []struct {
		src   string
		least int
	}{
		{strings.Repeat("data.val().words().has('b') == false && ", 80) + "true", 80 * 2 * len(text)},
		{strings.Repeat("1 < 2 && ", 400) + "true", 400},
	} {
		f, bad := expression.NewFilter(c.src, 0)
		if bad != nil {
			t.Fatal(bad.Msg)
		}
		ok, spent, err := f.Match(tree.OneChild{Key: "k", Child: tree.String(text)}, tree.Root, "k", tree.MaxLooked)
		if !ok || err != nil || spent < c.least || spent > 4*c.least+len(c.src) {
			t.Errorf("%.40s: %t, spent %d, %v; want some %d", c.src, ok, spent, err, c.least)
		}
	}
}

// TestFilterWithin: a look stops where it would spend more than it may, and says so. If it may spend as much
// as it needs, the answer is the same.
func TestFilterWithin(t *testing.T) {
	text := strings.Repeat("ab ", 300)
	for _, src := range []string{
		"data.val().matches(/(a?b? ?){0,100}$/)", "data.val().contains('c') || true", "data.val().words().has('b')", "1 < 2", "key == 'j'",
	} {
		f, bad := expression.NewFilter(src, 0)
		if bad != nil {
			t.Fatal(bad.Msg)
		}
		at := func(most int) (bool, int) {
			t.Helper()
			ok, spent, err := f.Match(tree.OneChild{Key: "k", Child: tree.String(text)}, tree.Root, "k", most)
			if err != nil {
				t.Fatal(err)
			}
			return ok, spent
		}
		want, needs := at(tree.MaxLooked)
		for most := 0; most < needs; most += 1 + needs/50 {
			if _, spent := at(most); spent <= most {
				t.Fatalf("%s: spent %d of at most %d, and needs %d", src, spent, most, needs)
			}
		}
		for _, most := range []int{2*needs + 10, 10 * needs} { // a step more is begun before it is known to be one too many
			if ok, spent := at(most); ok != want || spent != needs {
				t.Errorf("%s: %t for %d within %d, want %t for %d", src, ok, spent, most, want, needs)
			}
		}
	}
}

// A long is a tree in which each node is a text that is longer than a filter may look at.
type long struct {
	tree.Reader
	t *testing.T
}

func (l long) Peek(p tree.Path) (tree.Node, bool, error) {
	l.t.Errorf("the text at %s is read", p)
	return tree.Empty, false, nil
}

func (l long) PeekUpTo(_ tree.Path, bytes int) (tree.Node, bool, bool, error) {
	return tree.Empty, false, bytes > expression.MaxLookText, nil
}

// TestFilterReadsNoLongText: a text that a filter may not look at is not read, and does not use up what
// other filters may spend.
func TestFilterReadsNoLongText(t *testing.T) {
	f, bad := expression.NewFilter("data.val().contains('b') || true", 0)
	if bad != nil {
		t.Fatal(bad.Msg)
	}
	for _, parent := range []tree.Path{tree.Root, tree.MustParsePath("a/b")} {
		if ok, spent, err := f.Match(long{t: t}, parent, "k", 1<<20); ok || err != nil || spent > 100 {
			t.Errorf("below %s: %t, spent %d, %v", parent, ok, spent, err)
		}
	}
}

// matchesAlone reports whether a filter matches a child that is at hand.
func matchesAlone(f tree.Filter, key string, child tree.Node) bool {
	ok, _, err := f.Match(tree.OneChild{Key: key, Child: child}, tree.Root, key, tree.MaxLooked)
	return ok && err == nil
}

// TestFilterBounds: what a filter may spend at one child is bounded, because a write or a read waits for
// the look. It does not match then.
func TestFilterBounds(t *testing.T) {
	slow := "data.val().matches(/(a?){0,100}(a?){0,100}(a?){0,100}(a?){0,100}b/) || true"
	for _, c := range []struct {
		name, src string
		text      string
		ok        bool
	}{
		{"a regular expression over a short text", slow, strings.Repeat("a", 100), true},
		{"the same over a longer one", slow, strings.Repeat("a", 2000), false},
		{"a text", "data.val().contains('b') || true", strings.Repeat("a", expression.MaxLookText-10), true},
		{"a longer text", "data.val().contains('b') || true", strings.Repeat("a", expression.MaxLookText+1), false},
		{"a text forty times", strings.Repeat("data.val().contains('b') || ", 40) + "true", strings.Repeat("a", expression.MaxLookText-10), false},
	} {
		f, bad := expression.NewFilter(c.src, 0)
		if bad != nil {
			t.Fatal(bad.Msg)
		}
		ok, spent, err := f.Match(tree.OneChild{Key: "k", Child: tree.String(c.text)}, tree.Root, "k", tree.MaxLooked)
		if most := expression.MaxLookSpent + 4*expression.MaxLookSteps + 1<<18; ok != c.ok || err != nil || spent > most {
			t.Errorf("%s: %t, spent %d of at most %d, %v", c.name, ok, spent, most, err)
		}
	}
}
