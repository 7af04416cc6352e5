package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/logged"
)

// BenchmarkRestart is how long a store takes to be opened, up to its first answer, whose process
// was killed with 16 MiB of the log that are not in the file.
func BenchmarkRestart(b *testing.B) {
	dir, last := killedFull(b, 16<<20)
	for b.Loop() {
		b.StopTimer()
		to := b.TempDir()
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		log, s := openFull(b, to)
		wantTree(b, s, last, tree.Bool(true))
		b.StopTimer()
		if err := errors.Join(s.Close(), log.Close(), os.RemoveAll(to)); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func openFull(b *testing.B, dir string) (*logged.Log, *Store) {
	b.Helper()
	log, err := logged.OpenLog(LogDir(dir), logged.LogOptions{MemoryBytes: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	s, err := Open(filepath.Join(dir, "a.db"), Options{NoSync: true, Log: log, FreezeBytes: 256 << 20})
	if err != nil {
		b.Fatal(err)
	}
	return log, s
}

// killedFull returns a directory as a process leaves it that is killed, and a path that the last
// commit made true.
func killedFull(b *testing.B, size int64) (dir string, last tree.Path) {
	b.Helper()
	const writes = 16 // in a commit
	dir = b.TempDir()
	log, s := openFull(b, dir)
	row := tree.MustParseNode(`{"text":"some text of a message that is not very long","n":123456,"by":"somebody"}`)
	last = tree.MustParsePath("last")
	written := int64(0)
	for n := 0; written < size; n++ {
		err := s.Update(func(tx *Tx) error {
			for i := range writes {
				p := tree.MustParsePath(fmt.Sprintf("rows/r%02d/k%07d", n%50, n*writes+i))
				if _, err := tx.Put(p, row); err != nil {
					return err
				}
				written += int64(len(row.Text())) + 60 // about what is in the log
			}
			if written < size {
				return nil
			}
			_, err := tx.Put(last, tree.Bool(true))
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	to := b.TempDir()
	if err := s.logged.Paused(func() error { return os.CopyFS(to, os.DirFS(dir)) }); err != nil {
		b.Fatal(err)
	}
	b.Logf("%d bytes of segments", log.Stats().Bytes)
	if err := errors.Join(s.Close(), log.Close()); err != nil {
		b.Fatal(err)
	}
	return to, last
}
