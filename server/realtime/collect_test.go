package realtime

import (
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/limit"
)

// TestCollectorBudget: pieces count until their message is handled or given
// up, and one client that is turned away does not cost the others anything.
func TestCollectorBudget(t *testing.T) {
	b := limit.NewMeter(100)
	first, second := collector{held: limit.Hold{Of: b.All()}}, collector{held: limit.Hold{Of: b.All()}}
	add := func(c *collector, text string, wantDone bool, wantUsed int64) {
		t.Helper()
		_, done, err := c.add(text)
		if err != nil || done != wantDone || b.Used() != wantUsed {
			t.Errorf("add %.20s: done %v, error %v, %d bytes used; want %v, %d", text, done, err, b.Used(), wantDone, wantUsed)
		}
	}
	add(&first, "3", false, 1)
	add(&first, strings.Repeat("a", 50), false, 51)
	add(&second, "2", false, 52)
	if _, _, err := second.add(strings.Repeat("b", 50)); err == nil {
		t.Error("more than the budget was taken")
	}
	second.forget()
	add(&first, strings.Repeat("a", 40), false, 91)
	add(&first, "end", true, 91)
	first.forget() // it was handled
	add(&first, "{}", true, 0)
}
