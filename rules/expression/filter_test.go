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
			ok, _, err := f.Match(world, tree.MustParsePath("x/rooms"), key)
			if err != nil {
				t.Error(err)
			}
			if ok {
				found = append(found, key)
			}
			if alone := (tree.Query{Filter: f}).Matches(key, child); alone != ok {
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
		if ok, _, _ := filter.Match(child, tree.Root, "a"); !ok {
			b.Fatal("no match")
		}
	}
}
