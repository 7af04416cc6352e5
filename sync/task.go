package sync

import (
	"time"
)

// Estimates of the committer time that a task takes. They only order tasks until the
// time is measured, and bound a batch: they are about what a small machine needs.
const (
	costValue = 4 * time.Microsecond // of each value beyond costFree bytes
	costKiB   = 4 * time.Microsecond
	costFree  = 1 << 10 // bytes of a path's value that cost nothing
)
