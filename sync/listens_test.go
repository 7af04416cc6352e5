package sync

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/dogwooddb/dogwood/tree"
)

// A listenSet has what a map has.
func TestListenSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var set listenSet
		want := make(map[listenKey]*listen)
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			key := listenKey{tree.MustParsePath(fmt.Sprint("/p", rapid.IntRange(0, 3).Draw(t, "path"))), int64(rapid.IntRange(0, 1).Draw(t, "tag"))}
			if got := set.at(key); got != want[key] {
				t.Fatalf("%v is %v, want %v", key, got, want[key])
			}
			if have := want[key]; have != nil {
				set.remove(have)
				delete(want, key)
			} else if rapid.Bool().Draw(t, "add") {
				want[key] = &listen{key: key}
				set.add(want[key])
			}
			n := 0
			for l := range set.all() {
				if n++; want[l.key] != l {
					t.Fatalf("all yields %v", l.key)
				}
			}
			if n != len(want) || set.size() != n {
				t.Fatalf("%d of %d listens, want %d", n, set.size(), len(want))
			}
		}
		for l := range set.all() {
			set.remove(l)
		}
		if set.size() != 0 {
			t.Fatalf("%d listens are left", set.size())
		}
	})
}
