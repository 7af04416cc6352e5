package derive_test

import (
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
