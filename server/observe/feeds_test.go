package observe

import "testing"

// A place is free again when a feed has ended.
func TestFeedPlaces(t *testing.T) {
	var f Feeds
	share := FeedShare{"a", true}
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
		for _, leave := range ends {
			leave()
		}
	}
	if f.all != 0 || len(f.of) != 0 {
		t.Errorf("after the last feed: %d, %v", f.all, f.of)
	}
}
