package audience

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/rules/expression"
	"github.com/dogwooddb/dogwood/tree"
)

// A costly is a filter that spends at each child as much as one may, and matches all of them.
type costly struct {
	name  string
	looks *int
}

func (costly) Needs() []tree.Need { return nil }
func (c costly) Text() string     { return c.name }
func (costly) Most() int          { return 10_000 }
func (c costly) Match(tree.Reader, tree.Path, string, int) (bool, int, error) {
	*c.looks++
	return true, expression.MaxLookSteps, nil
}

// TestCostlyFilters: all that the filters of all views look at because of one write is bounded, also
// where a view is read again to be compared, or filled up, and where its node is one row. The views
// that have not looked are read again when they are sent.
func TestCostlyFilters(t *testing.T) {
	packed := `{"a":"x","b":"x","c":"x","d":"x","e":"x","f":"x","g":"x"}`
	long := `"` + strings.Repeat("x", 900) + `"`
	large := strings.ReplaceAll(packed, `"x"`, long)
	for _, c := range []struct {
		name, node, path, write string
		limit                   int
	}{
		{"a node above is replaced by the same", packed, "/u", `{"l":` + packed + `}`, 0},
		{"the node is replaced", packed, "/u/l", packed[:len(packed)-1] + `,"h":1}`, 0},
		{"a node of many rows is replaced", large, "/u/l", large, 0},
		{"limited views are replaced", packed, "/u", `{"l":` + packed + `}`, 3},
		{"a child leaves limited views", large, "/u/l/a", "null", 3},
		{"a child changes", large, "/u/l/c", "1", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t, nil)
			h.set("/u/l", c.node)
			looks := 0
			for i := range 20 {
				l := h.listener("/u/l", "")
				l.read.Query = tree.Query{OrderBy: tree.ByKey, Filter: costly{fmt.Sprint("f", i), &looks}, Limit: c.limit}
				if err := l.Attach(t.Context()); err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				l.resync()
			}
			looks = 0
			if h.set(c.path, c.write); looks > 2 {
				t.Errorf("%d looks for one write; each spends as much as all together may", looks)
			}
			if err := h.store.View(h.Check); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCostlyFilterUnderTheLock: what was written while a window was read is not looked at with the
// lock held, if that takes long.
func TestCostlyFilterUnderTheLock(t *testing.T) {
	h := newHouse(t, nil)
	h.set("/l", `{"k":1}`)
	looks := 0
	l := h.listener("/l", "")
	l.read.Query = tree.Query{OrderBy: tree.ByKey, Filter: costly{"f", &looks}, Limit: 5}
	if err := l.Attach(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	early, err := l.lookAhead(joinSpare)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		h.set(fmt.Sprint("/l/a", i), "1")
	}
	looks = 0
	v, err := l.joinWith(early)
	if err != nil || v.tx != nil || looks > 2 {
		t.Errorf("%v after %d looks, read %t; want it to be read again", err, looks, v.tx != nil)
	}
	if v.tx != nil {
		v.tx.Rollback()
	}
}
