package sync

import (
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/sync/pieces"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/entry"
)

// TestPiecesShareABatch: a batch of pieces goes on behind the length at which one with a commit
// ends, up to a bound, and ends when a commit is behind the pieces.
func TestPiecesShareABatch(t *testing.T) {
	piece := &entry.Load{ID: "a", Text: strings.Repeat("x", pieces.Bytes)}
	n := newNotes(true)
	n.reset(new(store.Tx))
	some := 0
	for ; !n.full() && some < 100; some++ {
		n.piece(piece)
	}
	if some < 4 || some > 16 {
		t.Errorf("%d pieces fill a batch", some)
	}
	n.reset(new(store.Tx))
	n.piece(piece)
	n.piece(piece)
	if n.full() {
		t.Error("two pieces fill a batch")
	}
	if n.add(&entry.Link{ID: "a"}); !n.full() {
		t.Error("with a commit behind it, it is not full")
	}
}
