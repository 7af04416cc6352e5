package realtime

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/sync/wire"
)

func TestReadText(t *testing.T) {
	b := limit.NewMeter(1 << 20)
	for n, held := range map[int]int64{
		0:                0,
		1:                0,
		smallMessage:     0,
		smallMessage + 1: wire.MaxUnit,
		wire.MaxUnit:     wire.MaxUnit,
		100_000:          128 << 10,
		300_000:          300_000, // the limit
	} {
		in := collector{held: limit.Hold{Of: b.All()}}
		in.frames.MaxBytes = 300_000
		want := strings.Repeat("x", n)
		got, err := readText(iotest.HalfReader(strings.NewReader(want)), &in)
		if err != nil || got != want {
			t.Errorf("%d bytes: read %d, error %v", n, len(got), err)
		}
		if used := b.Used(); used < held || used > held+held/4 { // the runtime rounds up
			t.Errorf("%d bytes: %d are held, want %d", n, used, held)
		}
		if msg, done, err := in.add(got); n > 0 && (msg != want || !done || err != nil) {
			t.Errorf("%d bytes: done %v, error %v", n, done, err)
		}
		in.forget()
		if used := b.Used(); used != 0 {
			t.Errorf("%d bytes: %d were not given back", n, used)
		}
	}
}

// TestReadTextOfPieces: the bytes of a piece count once.
func TestReadTextOfPieces(t *testing.T) {
	b := limit.NewMeter(1 << 20)
	in := collector{held: limit.Hold{Of: b.All()}}
	in.add("9")
	for i := range int64(3) {
		text, err := readText(strings.NewReader(strings.Repeat("x", wire.MaxUnit)), &in)
		if err != nil {
			t.Fatal(err)
		}
		in.add(text)
		if used, want := b.Used(), 1+(i+1)*wire.MaxUnit; used != want {
			t.Errorf("%d pieces: %d are held, want %d", i+1, used, want)
		}
	}
}

func TestReadTextCut(t *testing.T) {
	in := collector{held: limit.Hold{Of: limit.NewMeter(0).All()}}
	r := io.MultiReader(strings.NewReader("{"), iotest.ErrReader(dropped))
	if text, err := readText(r, &in); err != dropped {
		t.Errorf("read %q, %v, want that the connection was cut", text, err)
	}
}

// TestReadTextAllocs: a small message costs its text and no budget.
func TestReadTextAllocs(t *testing.T) {
	in := collector{} // to use its budget would panic
	for _, n := range []int{100, smallMessage} {
		r := strings.NewReader(strings.Repeat("x", n))
		if allocs := testing.AllocsPerRun(100, func() {
			r.Seek(0, io.SeekStart)
			text, err := readText(r, &in)
			if err != nil || len(text) != n {
				t.Errorf("read %d bytes, %v", len(text), err)
			}
			in.forget()
		}); allocs > 1 {
			t.Errorf("%d bytes: %v allocations, want 1", n, allocs)
		}
	}
}
