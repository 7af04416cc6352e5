package observe

import (
	"fmt"
	"testing"
)

func TestUnindexedQueriesAreBounded(t *testing.T) {
	var u Unindexed
	for i := range maxUnindexed {
		if !u.add(fmt.Sprint(i)) {
			t.Fatalf("query %d is not in the log", i)
		}
	}
	if u.add("another") || len(u.seen) != maxUnindexed {
		t.Errorf("%d queries are remembered, want %d", len(u.seen), maxUnindexed)
	}
}
