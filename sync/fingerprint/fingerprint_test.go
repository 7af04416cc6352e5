package fingerprint

import (
	"fmt"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// TestCacheIsBounded: a cache remembers a bounded number of fingerprints, and
// watches no others.
func TestCacheIsBounded(t *testing.T) {
	var h Cache
	for i := range 3 * Max {
		f := &Fingerprint{Path: tree.MustParsePath(fmt.Sprintf("a/k%d", i))}
		h.Watch(f)
		h.Keep(f)
	}
	watched := 0
	for range h.watched.All() {
		watched++
	}
	if len(h.byPath) != Max || h.order.Len() != Max || watched != Max {
		t.Errorf("%d by path, %d in order, %d watched", len(h.byPath), h.order.Len(), watched)
	}
	h.Touch([]tree.ResolvedWrite{{Target: tree.Target{Path: tree.MustParsePath("a")}}})
	if len(h.byPath) != 0 || h.order.Len() != 0 || !h.watched.None() {
		t.Error("something is left")
	}
}
