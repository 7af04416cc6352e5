package used

import (
	"testing"
	"time"
)

func TestCounts(t *testing.T) {
	var c Counts[string]
	now := time.UnixMilli(5000)
	for _, of := range []string{"a", "a", "b"} {
		c.Of(of).Note(now)
	}
	for of, want := range map[string]int64{"a": 2, "b": 1, "c": 0} {
		if n := c.Of(of); n.Times.Load() != want || (n.Last.Load() == 5000) != (want > 0) {
			t.Errorf("%s: %d times, last at %d; want %d", of, n.Times.Load(), n.Last.Load(), want)
		}
	}
	c.Keep(func(of string) bool { return of == "b" })
	if n := c.Of("a"); n.Times.Load() != 0 || n.Last.Load() != 0 {
		t.Errorf("a is kept: %d, %d", n.Times.Load(), n.Last.Load())
	}
	if c.Of("b").Times.Load() != 1 {
		t.Errorf("b is forgotten")
	}
}
