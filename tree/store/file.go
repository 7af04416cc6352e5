package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/tree/store/durable"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// Backup writes a copy of the file as of one commit to w, while other
// transactions go on, and returns its size. It holds a read transaction for as
// long as w takes, so w should be a local file.
func (s *Store) Backup(w io.Writer) (size int64, err error) {
	k, err := s.complete()
	if err != nil {
		return 0, fmt.Errorf("back up %s: %w", s, err)
	}
	defer k.Rollback()
	t, ok := kv.FileOf(k)
	if !ok {
		return 0, ErrNoFile
	}
	if size, err = t.WriteTo(w); err != nil {
		return size, fmt.Errorf("back up %s: %w", s, err)
	}
	return size, nil
}

// complete returns a read transaction of a file that has every commit.
func (s *Store) complete() (kv.Tx, error) {
	switch {
	case s.bolt == nil:
		return nil, ErrNoFile
	case s.logged != nil && s.options.ReadOnly:
		return nil, ErrNotApplied
	case s.logged != nil:
		return s.logged.Snapshot()
	}
	return s.bolt.Begin(false)
}

// CheckFile verifies a file as Check does, without changing it. No process may
// have it open to write to it.
func CheckFile(file string) (findings []error, err error) {
	s, err := Open(file, Options{ReadOnly: true})
	if errors.Is(err, ErrDamaged) {
		if found, e := damagedPages(file); e == nil {
			if len(found) == 0 { // what is on them makes no sense
				text := err.Error()
				found = append(found, errors.New(text[strings.Index(text, ErrDamaged.Error()):]))
			}
			return found, nil
		}
	}
	if err != nil {
		return nil, err
	}
	findings, err = s.Check()
	return findings, errors.Join(err, s.Close())
}

// Size returns how many bytes a backup of the current state has.
func (s *Store) Size() (size int64, err error) {
	err = s.View(func(tx *Tx) error {
		if t, ok := kv.FileOf(tx.kv); ok {
			size = t.Size()
		}
		return nil
	})
	return size, err
}

// CompactResult says what Compact did to a file.
type CompactResult struct{ Before, After int64 } // sizes in bytes

// Compact rewrites a file that no process has open, without the room that
// deleted data has left in it. The new file is put in place of the old one when
// it is complete and was checked by the given function, nil for none. One that is
// not smaller is dropped, and Before and After are the same: rows that were loaded
// in order lie closer together than a copy puts them.
//
// The order makes a crash harmless: the copy is complete, synced and checked before it
// takes the name of the old file, and until then the old file is not changed but for
// reclaiming.
func Compact(file string, check func(file string) error) (result CompactResult, err error) {
	if result.Before, err = sizeOf(file); err != nil { // also, Open would make one
		return result, err
	}
	s, err := Open(file, Options{})
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, s.Close()) }() // last, for the lock
	for more := true; more; {
		if more, err = s.Reclaim(10_000, nil); err != nil {
			return result, err
		}
	}
	part := file + ".compact"
	defer os.Remove(part) // is there unless it was put in place
	if err := s.compactTo(part); err != nil {
		return result, fmt.Errorf("compact %s: %w", file, err)
	}
	if result.After, err = sizeOf(part); err != nil {
		return result, err
	}
	if result.After >= result.Before {
		result.After = result.Before
		return result, nil
	}
	if check != nil {
		if err := check(part); err != nil {
			return result, fmt.Errorf("compact %s: %w", file, err)
		}
	}
	return result, durable.Rename(part, file)
}

func (s *Store) compactTo(part string) error {
	if err := os.Remove(part); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if s.bolt == nil {
		return ErrNoFile
	}
	return s.bolt.CompactTo(part)
}

func sizeOf(file string) (int64, error) {
	info, err := os.Stat(file)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

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
	if s.bolt != nil {
		u.FreeBytes = s.bolt.FreeBytes()
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

// FreeBytes returns how much of the file the next writes can use. It never blocks.
func FreeBytes(s *Store) int64 {
	if s.bolt == nil {
		return 0
	}
	return s.bolt.FreeBytes()
}

// WriteTime returns how long all commits so far took to write to the log or the file and
// to sync it. It never blocks.
func (s *Store) WriteTime() time.Duration {
	switch {
	case s.logged != nil:
		return s.logged.CommitTime()
	case s.bolt != nil:
		return s.bolt.WriteTime()
	}
	return 0
}
