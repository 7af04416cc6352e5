package derive_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dogwooddb/dogwood/derive"
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
