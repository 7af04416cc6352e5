package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/logged"
)

// TestLoadBesideTheLog: while a load stores its rows, commits go on. A copy of the file that was
// made in front of the rows does not fit the log behind the link,
// also if the last batch has nothing to store.
func TestLoadBesideTheLog(t *testing.T) {
	for _, slice := range []int{1, 700, 64 << 10} {
		dir := t.TempDir()
		s := openLogged(t, dir, "a.db", 8<<20)
		l, err := s.NewLoad(tree.MustParsePath("large"), LoadOptions{SliceBytes: slice, WholeBytes: 16})
		if err != nil {
			t.Fatal(err)
		}
		put := func(path string) {
			t.Helper()
			err := s.Update(func(tx *Tx) error {
				_, err := tx.Put(tree.MustParsePath(path), tree.Bool(true))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		put("before")
		older := filepath.Join(killedCopy(t, s, dir), "a.db")
		text := `{"` + strings.Repeat(`a":{"text":"`+strings.Repeat("x", 100)+`"},"b`, 40) + `":1}`
		if err := l.Read(context.Background(), &committing{strings.NewReader(text), func() { put("meanwhile") }}); err != nil {
			t.Fatal(err)
		}
		err = s.Update(func(tx *Tx) error {
			_, err := l.Link(tx)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		killed := killedCopy(t, s, dir)
		again := openLogged(t, killed, "a.db", 8<<20)
		wantTree(t, again, tree.MustParsePath("large"), tree.MustParseNode(text))
		wantTree(t, again, tree.MustParsePath("meanwhile"), tree.Bool(true))
		wantClean(t, again)

		killed = killedCopy(t, s, dir)
		file, err := os.ReadFile(older)
		if err == nil {
			err = os.WriteFile(filepath.Join(killed, "a.db"), file, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		log, err := logged.OpenLog(LogDir(killed), logged.LogOptions{})
		if err != nil {
			t.Fatal(err)
		}
		unfit, err := Open(filepath.Join(killed, "a.db"), Options{NoSync: true, Log: log})
		if !errors.Is(err, logged.ErrUnfit) {
			t.Errorf("slices of %d bytes: an older file without the rows: %v", slice, err)
		}
		if err == nil {
			err = unfit.Close()
			t.Log(err)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}
}

// committing is a reader that has a commit made before each read of a few bytes.
type committing struct {
	*strings.Reader
	commit func()
}

func (r *committing) Read(p []byte) (int, error) {
	r.commit()
	return r.Reader.Read(p[:min(len(p), 500)])
}
