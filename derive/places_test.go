package derive

import (
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/dogwooddb/dogwood/tree"
)

// Places are a map whose keys are read in order.
func TestPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l places[int]
		want := make(map[tree.Path]int)
		draw := func() tree.Path {
			return tree.PathOf(rapid.SampledFrom([]string{"a", "b", "10", "9"}).Draw(t, "key"), rapid.StringMatching("[ab12]{1,2}").Draw(t, "child"))
		}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			p := draw()
			if rapid.IntRange(0, 9).Draw(t, "read") == 0 {
				for i, x := range l.sorted() {
					if i > 0 && tree.ComparePaths(l.list[i-1].path, x.path) >= 0 {
						t.Fatalf("%s stands before %s", l.list[i-1].path, x.path)
					}
				}
			}
			got, ok := l.get(p)
			if v, there := want[p]; got != v || ok != there || l.has(p) != there {
				t.Fatalf("%s is %d, %t, want %d, %t", p, got, ok, v, there)
			}
			v, isNew := l.at(p)
			if isNew == ok {
				t.Fatalf("%s is new: %t", p, isNew)
			}
			*v++
			want[p]++
		}
		all := make(map[tree.Path]int)
		for _, x := range l.sorted() {
			all[x.path] = x.v
		}
		if !maps.Equal(all, want) {
			t.Fatalf("%v, want %v", all, want)
		}
		if l.empty(); len(l.list) > 0 || l.has(draw()) {
			t.Fatal("it is not empty")
		}
	})
}
