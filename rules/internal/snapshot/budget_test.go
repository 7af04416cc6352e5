package snapshot

import "testing"

// Once something was refused, so is what would still fit.
func TestBudgetStaysOver(t *testing.T) {
	var b Budget
	for _, c := range []struct {
		n, price int
		ok       bool
	}{
		{MaxSpent - 1000, 1, true},
		{1000, 1, true},
		{FreeText - 1, matchCost, true},
		{FreeText, 1, false},
		{FreeText - 1, 1, true},
	} {
		if ok := b.Charge(c.n, c.price); ok != c.ok {
			t.Errorf("Charge(%d, %d) = %t, want %t", c.n, c.price, ok, c.ok)
		}
	}
	b = Budget{}
	if b.Charge(MaxSpent+1, 1) || b.Charge(1000, 1) {
		t.Error("a budget that was too small allows for more")
	}
}
