package sync

import (
	"strings"
	"time"
)

// Estimates of the committer time that a task takes. They only order tasks until the
// time is measured, and bound a batch: they are about what a small machine needs.
const (
	costTask  = 10 * time.Microsecond // of any task, with a value of costFree bytes
	costPath  = 10 * time.Microsecond // of each further path of an update
	costValue = 4 * time.Microsecond  // of each value beyond costFree bytes
	costKiB   = 4 * time.Microsecond
	costFree  = 1 << 10 // bytes of a path's value that cost nothing
)

// costOf returns the estimate of a task.
func costOf(t task) time.Duration {
	if t, ok := t.(interface{ cost() time.Duration }); ok {
		return t.cost()
	}
	return costTask + time.Duration(t.size()>>10)*costKiB
}

// cost estimates a write from the values and paths that it has.
func (t *writeTask) cost() time.Duration {
	cost := costTask
	for i, w := range t.write.Update {
		if i > 0 {
			cost += costPath
		}
		cost += costOfText(w.Value.Text())
	}
	return cost
}

// costOfText estimates a value from its JSON text. Commas in strings count as values: to
// tell them apart takes longer than this is worth.
func costOfText(text string) time.Duration {
	if len(text) <= costFree {
		return 0
	}
	return time.Duration(strings.Count(text, ","))*costValue + time.Duration(len(text)>>10)*costKiB
}
