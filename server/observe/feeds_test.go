package observe

import "testing"

// A place is free again when it was left.
func TestPlaces(t *testing.T) {
	f := Places{Most: MaxFeeds, MostOf: MaxFeedsOf}
	share := PlaceShare{"a", true}
	for range 2 {
		var ends []func()
		for range MaxFeedsOf {
			leave, err := f.Enter(share)
			if err != nil {
				t.Fatal(err)
			}
			ends = append(ends, leave)
		}
		if _, err := f.Enter(share); err == nil {
			t.Error("a database has more than its share")
		}
		if got := f.Used(); got != MaxFeedsOf {
			t.Errorf("%d places are used, want %d", got, MaxFeedsOf)
		}
		for _, leave := range ends {
			leave()
		}
	}
	if f.all != 0 || len(f.of) != 0 {
		t.Errorf("after the last one: %d, %v", f.all, f.of)
	}
}
