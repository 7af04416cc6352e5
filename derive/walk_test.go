package derive_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/rules/rulestest"
	"github.com/dogwooddb/dogwood/tree"
)

// KeysAfter returns two keys at a time.
func (s state) KeysAfter(p tree.Path, key string) (keys []string, err error) {
	for k := range s.Root.Get(p).Children() {
		if (key == "" || tree.CompareKeys(k, key) > 0) && len(keys) < 2 {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

// A walk in small steps visits the nodes that a walk at once does, in order.
func TestWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s state
		s.Root = drawNode(t, 0)
		source := rapid.SampledFrom([]string{"/a/$x/$y", "/u/$x/inv/$y", "/$x", "/$x/$y", "/$x/a/$y"}).Draw(t, "source")
		doc, err := derive.Parse(fmt.Sprintf(`{"format": "dogwood-data/1", "define": {"d": {"map": %q, "to": "/zz/{data.val()}"}}}`, source))
		if err != nil {
			t.Skip(err)
		}
		d := doc.Definitions()[0]
		var whole, parts []tree.Path
		if _, more, err := d.WalkSources(s, derive.Place{}, 1<<20, func(p tree.Path) { whole = append(whole, p) }); more || err != nil {
			t.Fatal(more, err)
		}
		at, more := derive.Place{}, true
		for n := 0; more; n++ {
			if at, more, err = d.WalkSources(s, at, rapid.IntRange(4, 7).Draw(t, "steps"), func(p tree.Path) { parts = append(parts, p) }); err != nil || n > 1000 {
				t.Fatal(n, err)
			}
			for i, p := range whole {
				if passed := at.Passed(p); passed != (i < len(parts)) {
					t.Fatalf("at %v, behind %d of %d nodes, passed %s: %t", at, len(parts), len(whole), p, passed)
				}
			}
		}
		if !slices.Equal(whole, parts) || !slices.IsSortedFunc(whole, tree.ComparePaths) {
			t.Fatalf("%v\n%v", whole, parts)
		}
	})
}

// A sized is a state that reads no more at once than one write may change.
type sized struct {
	state
	read *int
}

func (s sized) GetUpTo(p tree.Path, bytes int) (tree.Node, bool, error) {
	n, err := s.state.Get(p)
	if len(n.Text()) > bytes {
		return tree.Empty, false, err
	}
	*s.read += len(n.Text())
	return n, true, err
}

// The children that a list loses may be of any size: no more of them is read than may move.
func TestKeepReadsWhatMayMove(t *testing.T) {
	d := parse(t, `"l": {"keep": 1, "at": "/l/$x", "copyTo": "/old/$x"}`)
	part := tree.String(strings.Repeat("x", derive.MaxBytes/2-1000))
	for parts, fits := range map[int]bool{1: true, 2: true, 3: false} {
		list := tree.Empty
		for i := range parts {
			list = list.With(tree.Root.Child("a"+strconv.Itoa(i)), part)
		}
		read := 0
		s := sized{state{World: rulestest.World{Root: tree.Empty.With(tree.MustParsePath("l/x"), list)}}, &read}
		w := []tree.ResolvedWrite{{Target: tree.Target{Path: tree.MustParsePath("l/x/b")}, Node: tree.Bool(true)}}
		r, err := d.Derive(&derive.Change{Before: s, Writes: w})
		refused := (*derive.Refusal)(nil)
		switch {
		case fits && (err != nil || len(r.Derived) != 2*parts):
			t.Errorf("%d parts: %v", parts, err)
		case !fits && (!errors.As(err, &refused) || refused.Reason != derive.TooLarge):
			t.Errorf("%d parts: %v", parts, err)
		case read > derive.MaxBytes:
			t.Errorf("%d parts: %d bytes are read", parts, read)
		}
	}
}
