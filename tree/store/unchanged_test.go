package store

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/logged"
)

// TestOpeningCommitsNothing: a file that needs nothing is byte by byte the same after it was
// opened, read, and closed.
func TestOpeningCommitsNothing(t *testing.T) {
	for _, mode := range []string{"log", "no log"} {
		t.Run(mode, func(t *testing.T) {
			file := written(t)
			before := readFile(t, file)
			dir := LogDir(filepath.Dir(file))
			for range 2 {
				o := Options{}
				if mode == "log" {
					log, err := logged.OpenLog(dir, logged.LogOptions{})
					if err != nil {
						t.Fatal(err)
					}
					defer log.Close()
					o.Log = log
				}
				s, err := Open(file, o)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.Reclaim(100, nil); err != nil {
					t.Error(err)
				}
				if _, err := s.Build(100); err != nil {
					t.Error(err)
				}
				if err := s.View(func(tx *Tx) error { _, err := tx.Get(tree.Root); return err }); err != nil {
					t.Error(err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(readFile(t, file), before) {
					t.Fatal("the file was written to")
				}
			}
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("the log has files: %v", err)
			}
		})
	}
}

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
