package derive_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/rules/rulestest"
	"github.com/dogwooddb/dogwood/tree"
)

// A measured state counts the bytes that are read of it.
type measured struct {
	state
	bytes int
}

func (m *measured) Get(p tree.Path) (tree.Node, error) {
	n, err := m.state.Get(p)
	m.bytes += len(n.Text())
	return n, err
}

// Of a child that was touched a list that is ordered by a child path reads that path alone: the rest
// may be of any size.
func TestKeepReadsWhatItOrdersBy(t *testing.T) {
	doc := parse(t, `"list": {"keep": 2, "at": "/l/$x", "by": "a/by"}`)
	for name, c := range map[string]struct{ write, value, goes string }{
		"another child":      {"l/x/2/n", `1`, ""},
		"it goes to the end": {"l/x/2/a/by", `9`, ""},
		"a third":            {"l/x/3", `{"a":{"by":5}}`, "1"},
		"an object is last":  {"l/x/3/a/by/z", `1`, "1"},
		"it is the first":    {"l/x/4", `1`, ""}, // so it is not stored
	} {
		big := tree.String(strings.Repeat("x", 100_000)).JSON()
		m := &measured{state: state{World: rulestest.World{}}}
		m.World = m.After([]tree.ResolvedWrite{put("l/x", `{"1":{"a":{"by":1},"big":`+big+`},"2":{"a":{"by":{"o":2}},"big":`+big+`}}`)})
		r, err := doc.Derive(&derive.Change{Before: m, Admin: true, Writes: []tree.ResolvedWrite{put(c.write, c.value)}})
		if err != nil {
			t.Fatal(err)
		}
		goes := ""
		for _, x := range r.Derived {
			_, goes = x.Path.Parent()
		}
		if goes != c.goes || m.bytes > 1000 {
			t.Errorf("%s: %q goes, %d bytes were read", name, goes, m.bytes)
		}
	}
}

// A second result has what lists do not keep of a client's write, for the rules.
func TestUnkept(t *testing.T) {
	doc := parse(t, `"home": {"keep": 2, "at": "/home/$u", "copyTo": "/old/$u"}, "n": {"count": "/home/$u/$s", "to": "/n/$u"}`)
	s := state{World: rulestest.World{Root: tree.MustParseNode(`{"home":{"ann":{"k":{"a":1,"b":1},"m":{"a":2}}},"n":{"ann":2}}`)}}
	for name, c := range map[string]struct {
		writes       []tree.ResolvedWrite
		want, unkept string // what was sent | what follows
	}{
		"a child":       {[]tree.ResolvedWrite{put("home/ann/-", `{"a":1}`)}, `| /old/ann/- {"a":1}`, `/home/ann/- {"a":1} | /n/ann 3`},
		"below it":      {[]tree.ResolvedWrite{put("home/ann/-/a", `1`)}, `| /old/ann/- {"a":1}`, `/home/ann/-/a 1 | /n/ann 3`},
		"a stored one":  {[]tree.ResolvedWrite{put("home/ann/k/a", `5`), put("home/ann/z", `1`)}, `/home/ann/z 1 | /home/ann/k null /old/ann/k {"a":5,"b":1}`, `/home/ann/k/a 5 /home/ann/z 1 | /n/ann 3`},
		"all of it":     {[]tree.ResolvedWrite{put("home/ann/k", `5`), put("home/ann/z", `1`)}, `/home/ann/z 1 | /home/ann/k null /old/ann/k 5`, `/home/ann/k 5 /home/ann/z 1 | /n/ann 3`},
		"a field goes":  {[]tree.ResolvedWrite{put("home/ann/k/a", `null`), put("home/ann/z", `1`)}, `/home/ann/z 1 | /home/ann/k null /old/ann/k {"b":1}`, `/home/ann/k/a null /home/ann/z 1 | /n/ann 3`},
		"its priority":  {[]tree.ResolvedWrite{priority("home/ann/k", `5`), put("home/ann/z", `1`)}, `/home/ann/z 1 | /home/ann/k null /old/ann/k {".priority":5,"a":1,"b":1}`, `/home/ann/k/.priority 5 /home/ann/z 1 | /n/ann 3`},
		"a list":        {[]tree.ResolvedWrite{put("home/ann", `{"-":1,"k":2,"m":3}`)}, `/home/ann {"k":2,"m":3} | /old/ann/- 1`, `/home/ann {"-":1,"k":2,"m":3} | /n/ann 3`},
		"where it goes": {[]tree.ResolvedWrite{put("home/ann/z", `1`), put("old/ann/k/x", `9`)}, `/home/ann/z 1 | /home/ann/k null /old/ann/k {"a":1,"b":1}`, `/home/ann/z 1 /old/ann/k/x 9 | /n/ann 3`},
		"another":       {[]tree.ResolvedWrite{put("home/ann/z", `1`)}, `/home/ann/z 1 | /home/ann/k null /old/ann/k {"a":1,"b":1}`, ""},
	} {
		r, err := doc.Derive(&derive.Change{Before: s, Writes: c.writes})
		if err != nil {
			t.Fatal(name, err)
		}
		if got := written(r); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if got := written(r.Unkept); got != c.unkept {
			t.Errorf("%s: unkept %s, want %s", name, got, c.unkept)
		}
		if r, err := doc.Derive(&derive.Change{Before: s, Writes: c.writes, Admin: true}); err != nil || r.Unkept != nil {
			t.Errorf("%s: of an administrator %v, %v", name, r, err)
		}
	}
}

// written tells of the writes of a result which of them follow.
func written(r *derive.Result) string {
	if r == nil {
		return ""
	}
	var list []string
	for i, w := range r.Writes {
		if i == len(r.Writes)-len(r.Follow) {
			list = append(list, "|")
		}
		list = append(list, fmt.Sprint(w.Target, " ", w.Node.JSON()))
	}
	return strings.Join(list, " ")
}

// Building a list moves large children in several steps.
func TestBuildingMovesInParts(t *testing.T) {
	doc := parse(t, `"home": {"keep": 1, "at": "/home/$u", "copyTo": "/old/$u"}`)
	var list tree.Builder
	for i := range 6 {
		list.Child(fmt.Sprint("k", i), tree.String(strings.Repeat("x", 600_000)))
	}
	s := state{World: rulestest.World{Root: tree.Empty.With(tree.MustParsePath("home/ann"), list.Node())}}
	b := &derive.Build{Definition: doc.Definitions()[0], Nodes: []tree.Path{tree.MustParsePath("home/ann")}, Most: 1000}
	var steps []int
	for partly := true; partly; {
		r, err := doc.Derive(&derive.Change{Before: s, Admin: true, Build: b})
		if err != nil {
			t.Fatal(err)
		}
		partly = r.Partly
		s.World = s.After(r.Writes)
		steps = append(steps, s.Root.Child("home").Child("ann").NumChildren())
	}
	if got := fmt.Sprint(steps); got != "[4 2 1]" || s.Root.Child("old").Child("ann").NumChildren() != 5 {
		t.Errorf("lists of %s children", got)
	}
}
