package watch

import (
	"fmt"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// TestWatchNotes: of many paths that are read, those above them are noted.
func TestWatchNotes(t *testing.T) {
	r := &Reader{}
	for i := range 10 * maxNoted {
		r.Note(tree.MustParsePath(fmt.Sprintf("a/b/%d/c", i)))
	}
	if n := len(r.Paths()); n == 0 || n > maxNoted {
		t.Fatalf("%d paths are noted, want 1 to %d", n, maxNoted)
	}
	reads := r.Paths()
	for path, want := range map[string]bool{"a/b/17/c": true, "a/b": true, "": true, "b": false, "a/c": false} {
		if got := meet(reads, tree.MustParsePath(path)); got != want {
			t.Errorf("depends on %q: %t, want %t", path, got, want)
		}
	}
}
