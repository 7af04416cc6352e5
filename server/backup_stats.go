package server

import (
	"sync"
	"time"
)

// backupCounts are BackupStats that several goroutines use.
type backupCounts struct {
	mu sync.Mutex
	BackupStats
}

func (c *backupCounts) done(at time.Time, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Done++
	c.Last, c.LastBytes = at, size
}

func (c *backupCounts) failed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Failed++
}
