package used

import "testing"

func TestCounts(t *testing.T) {
	var c Counts[string]
	c.Note("a")
	c.Note("a")
	c.Note("b")
	for of, want := range map[string]int64{"a": 2, "b": 1, "c": 0} {
		if times, last := c.Of(of); times != want || (last > 0) != (want > 0) {
			t.Errorf("%s: %d times, last at %d; want %d", of, times, last, want)
		}
	}
	c.Keep(func(of string) bool { return of == "b" })
	if times, last := c.Of("a"); times != 0 || last != 0 {
		t.Errorf("a is kept: %d, %d", times, last)
	}
	if times, _ := c.Of("b"); times != 1 {
		t.Errorf("b is forgotten")
	}
}
