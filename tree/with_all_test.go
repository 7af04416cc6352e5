package tree

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestWithAllModel: writes that are carried out together have the result of each on its own.
func TestWithAllModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, _ := drawNode(t, 3)
		at := MustParsePath(strings.Join(paths.Draw(t, "at"), "/"))
		var writes []ResolvedWrite
		for range rapid.IntRange(1, 8).Draw(t, "writes") {
			p := at.Join(MustParsePath(strings.Join(append(paths.Draw(t, "path"), keys.Draw(t, "key")), "/")))
			if slices.ContainsFunc(writes, func(w ResolvedWrite) bool { return w.Path.Contains(p) || p.Contains(w.Path) }) {
				continue
			}
			v, _ := drawNode(t, 1)
			writes = append(writes, ResolvedWrite{Target: Target{Path: p}, Node: v})
		}
		slices.SortFunc(writes, func(a, b ResolvedWrite) int { return ComparePaths(a.Path, b.Path) })
		want := n
		for _, removals := range []bool{false, true} {
			for _, w := range writes {
				if w.Node.IsEmpty() == removals {
					want = want.With(at.Rel(w.Path), w.Node)
				}
			}
		}
		if got := n.WithAll(at, writes); got != want {
			t.Fatalf("WithAll(%v) of %s below %s = %s, want %s", writes, n.JSON(), at, got.JSON(), want.JSON())
		}
	})
}
