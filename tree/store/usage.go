package store

import (
	"time"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

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
	if k := s.bolt(); k != nil {
		u.FreeBytes = k.FreeBytes()
	}
	err = s.View(func(tx *Tx) error {
		c := tx.kv.Cursor(kv.Reclaim)
		for k, _ := c.Seek(nil); k != nil && u.Reclaim < MaxReclaimCounted; k, _ = c.Next() {
			u.Reclaim++
		}
		return c.Err()
	})
	return u, err
}

// WriteTime returns how long all commits so far took to write to the file and to
// sync it. It never blocks.
func (s *Store) WriteTime() time.Duration {
	if k := s.bolt(); k != nil {
		return k.WriteTime()
	}
	return 0
}
