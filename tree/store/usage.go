package store

import "time"

// Usage is how a store uses its file. A store in memory has no file.
type Usage struct {
	Bytes     int64 // size of the file
	FreeBytes int64 // of it that the next writes will use, or that readers still hold
	Reclaim   int   // entries of the reclaim queue, at most MaxReclaimCounted
}

// MaxReclaimCounted bounds how far the reclaim queue is counted.
const MaxReclaimCounted = 1000

// Usage returns how the file is used now. It reads at most MaxReclaimCounted rows.
func (s *Store) Usage() (u Usage, err error) {
	if u.Bytes, err = s.Size(); err != nil {
		return u, err
	}
	if k, ok := s.kv.(*sumKV); ok {
		stats := k.db.Stats()
		u.FreeBytes = int64(stats.FreePageN+stats.PendingPageN) * int64(k.db.Info().PageSize)
	}
	err = s.View(func(tx *Tx) error {
		c := tx.kv.cursor(bucketReclaim)
		for k, _ := c.seek(nil); k != nil && u.Reclaim < MaxReclaimCounted; k, _ = c.next() {
			u.Reclaim++
		}
		return c.err()
	})
	return u, err
}

// WriteTime returns how long all commits so far took to write to the file and to
// sync it. It waits for nobody.
func (s *Store) WriteTime() time.Duration {
	if k, ok := s.kv.(*sumKV); ok {
		stats := k.db.Stats()
		return stats.TxStats.GetWriteTime()
	}
	return 0
}
