package audience

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/dogwooddb/dogwood/tree"
)

// A grantTable has what a map has, also when the hashes of keys are equal.
func TestGrantTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		same := rapid.Bool().Draw(t, "same hashes")
		table := grantTable{few: same}
		want := make(map[grantKey]*grant)
		var all []*grant
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			key := grantKey{path: tree.MustParsePath("/x"), query: tree.Query{Limit: rapid.IntRange(0, 6).Draw(t, "limit")}}
			if rapid.Bool().Draw(t, "put") {
				g := &grant{key: key}
				all = append(all, g)
				table.put(g)
				want[key] = g
			} else if len(all) > 0 {
				g := all[rapid.IntRange(0, len(all)-1).Draw(t, "removed")]
				table.remove(g)
				if want[g.key] == g {
					delete(want, g.key)
				}
			}
			if got := table.at(key); got != want[key] || table.size != len(want) {
				t.Fatalf("%v is %p of %d, want %p of %d", key.query.Limit, got, table.size, want[key], len(want))
			}
		}
	})
}
