package dedup

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRuns adds numbers in the way that clients do, and at random, and compares
// with a set.
func TestRuns(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		var r runs
		set := make(map[uint64]bool)
		for n := uint64(1); n <= 200; n++ {
			add := n
			if round%2 == 0 {
				add = rnd.Uint64N(300) + 1
			} else if rnd.IntN(3) == 0 {
				continue // was refused
			}
			r = r.add(add)
			set[add] = true
			if !r.valid() {
				t.Fatalf("round %d: %v after adding %d", round, r, add)
			}
		}
		again, err := decodeWriter(writer{1, r}.encode())
		if err != nil || again.hour != 1 || !slices.Equal(again.runs, r) {
			t.Fatalf("round %d: %v is read as %v (%v)", round, r, again, err)
		}
		if len(r) == maxRuns {
			continue // has forgotten some
		}
		for n := range uint64(302) {
			if r.has(n) != set[n] {
				t.Fatalf("round %d: %v has %d: %v, want %v", round, r, n, r.has(n), set[n])
			}
		}
	}
}

func TestRunsAreBounded(t *testing.T) {
	var r runs
	for n := uint64(1); n < 1000; n++ {
		r = r.add(2 * n)
	}
	first := 2 * uint64(1000-maxRuns)
	if len(r) != maxRuns || r[0].from != first || !r.has(1998) {
		t.Errorf("%d runs from %d on, want %d from %d", len(r), r[0].from, maxRuns, first)
	}
	if r = r.add(1); len(r) != maxRuns || r.has(1) || !r.has(first) {
		t.Errorf("a lower number takes the place of higher ones: %v", r[:2])
	}
}

func TestUnreadableWriter(t *testing.T) {
	for _, b := range [][]byte{
		{1}, {0x80}, {1, 1}, {1, 0, 0}, {1, 1, 0x80}, {1, 1, 0, 1, 0}, // too short, zero, touching
		binary.AppendUvarint([]byte{1, 1}, MaxNumber),
	} {
		if w, err := decodeWriter(b); err == nil {
			t.Errorf("%x is read as %v", b, w)
		}
	}
}

// FuzzDecodeWriter: what can be read is written in one way.
func FuzzDecodeWriter(f *testing.F) {
	f.Add([]byte{1, 1, 0})
	f.Add([]byte{1, 1, 3, 2, 0, 5, 200, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		w, err := decodeWriter(b)
		if err != nil || len(b) == 0 {
			return
		}
		again, err := decodeWriter(w.encode())
		if err != nil || again.hour != w.hour || !slices.Equal(again.runs, w.runs) {
			t.Errorf("%x is %v, and then %v (%v)", b, w, again, err)
		}
	})
}
