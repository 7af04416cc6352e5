package pieces

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree/store/entry"
)

// TestText: the pieces of a text are the text, in order and never cut inside a character, and
// few are on their way at a time.
func TestText(t *testing.T) {
	for _, size := range []int{0, 1, Bytes, 2*Bytes + 1, 40 * Bytes} {
		text := strings.Repeat("ö", size/2) + strings.Repeat("a", size%2)
		var got strings.Builder
		sent, settled := 0, 0
		r := &Text{Reader: strings.NewReader(text), Pieces: New(), Put: func(op entry.Operation) (func() error, error) {
			piece := op.(*entry.Load)
			if piece.Seq != sent || len(piece.Text) > Bytes || strings.Trim(piece.Text, "öa") != "" {
				t.Errorf("piece %d of %d bytes came for %d", piece.Seq, len(piece.Text), sent)
			}
			if sent++; sent-settled > most {
				t.Errorf("%d pieces are on their way", sent-settled)
			}
			got.WriteString(piece.Text)
			return func() error { settled++; return nil }, nil
		}}
		if _, err := io.Copy(io.Discard, r); err != nil {
			t.Fatal(err)
		}
		if err := r.Finish(); err != nil || got.String() != text || settled != sent {
			t.Errorf("%d bytes: %d came in %d pieces, %d of them settled: %v", size, got.Len(), sent, settled, err)
		}
	}
}

// TestDrop: pieces are dropped once, after those on their way are settled, and not at all if
// none was sent. An error of an early piece ends the sending.
func TestDrop(t *testing.T) {
	p, dropped := New(), 0
	drop := func(op entry.Operation) { dropped++ }
	if p.Drop(drop); dropped > 0 {
		t.Error("no piece was sent, and they are dropped")
	}
	failed, waits := errors.New("failed"), 0
	put := func(entry.Operation) (func() error, error) { return func() error { waits++; return failed }, nil }
	var err error
	sent := 0
	for ; err == nil; sent++ {
		err = p.Send(&entry.Load{ID: p.ID}, put)
	}
	if !errors.Is(err, failed) || sent != most+1 {
		t.Errorf("after %d pieces: %v", sent, err)
	}
	p.Drop(drop)
	p.Drop(drop)
	if dropped != 1 || waits != most {
		t.Errorf("dropped %d times, and waited for %d pieces", dropped, waits)
	}
}
