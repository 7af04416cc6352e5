package dogwood

import (
	"testing"
	"time"
)

func TestClockOffset(t *testing.T) {
	from := time.UnixMilli(1_000_000)
	for _, c := range []struct{ server, late, want time.Duration }{
		{0, 0, 0},
		{0, 4 * time.Second, 0}, // the machine is busy
		{3 * time.Second, 4 * time.Second, 0},
		{-5 * time.Second, 4 * time.Second, -5 * time.Second},
		{11 * time.Second, 4 * time.Second, 7 * time.Second},
	} {
		if got := clockOffset(from.Add(c.server), from, from.Add(c.late)); got != c.want {
			t.Errorf("sent at %v, read at %v: %v, want %v", c.server, c.late, got, c.want)
		}
	}
	// The server's time has no fractions of a millisecond.
	if got := clockOffset(from, from.Add(900*time.Microsecond), from.Add(time.Second)); got != 0 {
		t.Errorf("in the same millisecond: %v", got)
	}
}
