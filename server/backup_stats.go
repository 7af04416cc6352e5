package server

import (
	"sync"
	"time"
)

// BackupStats count what RunBackups did.
type BackupStats struct {
	Done, Failed uint64
	Last         time.Time // when the last good one was begun; zero: none yet
	LastBytes    int64
}

// BackupStats returns what RunBackups did so far.
func (s *Server) BackupStats() BackupStats {
	s.backups.mu.Lock()
	defer s.backups.mu.Unlock()
	return s.backups.BackupStats
}

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
