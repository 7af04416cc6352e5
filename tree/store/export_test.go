package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
)

func exported(t testing.TB, s *Store, p tree.Path) string {
	t.Helper()
	var b bytes.Buffer
	if err := s.View(func(tx *Tx) error { return tx.WriteJSON(&b, p) }); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestExportIsWhatGetReturns compares at every path, and loads what was exported
// into another store.
func TestExportIsWhatGetReturns(t *testing.T) {
	tier.Unraced(t)
	for seed := range uint64(20) {
		m := &model{t: t, rnd: rand.New(rand.NewPCG(seed, 3)), store: open(t, "")}
		for range 40 {
			m.step()
		}
		for range 20 {
			p := m.path(4)
			if got, want := exported(t, m.store, p), m.want.Get(p).JSON(); got != want {
				t.Fatalf("export of %s is\n%.500s\nwant\n%.500s", p, got, want)
			}
		}
		again := open(t, "")
		mustLoad(t, again, "/", tiny, exported(t, m.store, tree.Root))
		wantTree(t, again, tree.Root, m.want)
		if got := exported(t, again, tree.Root); got != m.want.JSON() {
			t.Errorf("exported again: %.500s\nwant %.500s", got, m.want.JSON())
		}
		wantClean(t, again)
	}
}

func TestExportReportsItsWriter(t *testing.T) {
	s := open(t, "")
	defer s.Close()
	mustLoad(t, s, "/", LoadOptions{}, `{"a":"`+strings.Repeat("long ", 1<<16)+`"}`)
	broken := errors.New("broken")
	err := s.View(func(tx *Tx) error { return tx.WriteJSON(failingWriter{broken}, tree.Root) })
	if !errors.Is(err, broken) {
		t.Errorf("WriteJSON to a broken writer = %v", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// TestBackupGoesOnDuringWrites backs up between any two writes, and in the
// middle of a load, and wants the state as of the beginning.
func TestBackupGoesOnDuringWrites(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "data.db"))
	defer s.Close()
	set := func(i int) {
		put(t, s, func(tx *Tx) error {
			_, err := tx.Put(tree.MustParsePath("n"), tree.Number(float64(i)))
			return err
		})
	}
	mustLoad(t, s, "rows", LoadOptions{}, readAll(t, &rowsText{n: 2000}))
	l, err := s.NewLoad(tree.MustParsePath("loading"), tiny)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Read(context.Background(), &rowsText{n: 100}); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		set(i)
		file := filepath.Join(dir, "copy.db")
		f, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		w := &writerWith{f, func() { set(100 + i) }}
		size, err := s.Backup(w)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(file); err != nil || info.Size() != size {
			t.Errorf("Backup said %d bytes, the file has %v, %v", size, info.Size(), err)
		}
		before, _ := os.ReadFile(file)
		findings, err := CheckFile(file)
		if err != nil || len(findings) > 0 {
			t.Errorf("backup: %v, %v", findings, err)
		}
		if after, _ := os.ReadFile(file); !bytes.Equal(before, after) {
			t.Error("CheckFile changed the file")
		}
		copied := open(t, file)
		wantTree(t, copied, tree.MustParsePath("n"), tree.Number(float64(i)))
		wantTree(t, copied, tree.MustParsePath("loading"), tree.Empty)
		wantClean(t, copied)
		if err := copied.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Abort(); err != nil {
		t.Fatal(err)
	}
	wantClean(t, s)
}

// writerWith calls a function before each write.
type writerWith struct {
	io.Writer
	before func()
}

func (w *writerWith) Write(p []byte) (int, error) {
	w.before()
	return w.Writer.Write(p)
}

func readAll(t testing.TB, r io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestBackupOfMemory(t *testing.T) {
	s := open(t, "")
	defer s.Close()
	if _, err := s.Backup(io.Discard); !errors.Is(err, ErrNoFile) {
		t.Errorf("Backup of a store in memory = %v, want ErrNoFile", err)
	}
}

func TestReadOnlyRefuses(t *testing.T) {
	t.Parallel() // it waits for a lock
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, bytes.Repeat([]byte("not a database\n"), 2000), 0o600); err != nil {
		t.Fatal(err)
	}
	inUse := filepath.Join(dir, "used.db")
	s := open(t, inUse)
	defer s.Close()
	for _, c := range []struct {
		file string
		want error
	}{
		{filepath.Join(dir, "missing.db"), fs.ErrNotExist},
		{text, ErrForeign},
		{inUse, ErrLocked},
		{dir, ErrForeign},
	} {
		if _, err := CheckFile(c.file); !errors.Is(err, c.want) {
			t.Errorf("CheckFile(%s) = %v, want %v", c.file, err, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "missing.db")); err == nil {
		t.Error("CheckFile made a file")
	}
}

func TestCompact(t *testing.T) {
	tier.Unraced(t)
	file := filepath.Join(t.TempDir(), "data.db")
	s := open(t, file)
	if err := s.Declare([]Index{{"/rows", "name"}}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		mustLoad(t, s, "rows", LoadOptions{}, readAll(t, &rowsText{n: 5000}))
	}
	build(t, s)
	put(t, s, func(tx *Tx) error {
		tx.SetRevision(7)
		return tx.Disconnects().Put(Pending{"s", 1, []byte("op")})
	})
	if _, err := Compact(file, nil); !errors.Is(err, ErrLocked) {
		t.Errorf("Compact of a file in use = %v", err)
	}
	want := exported(t, s, tree.Root)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	refuse := errors.New("refused")
	if _, err := Compact(file, func(string) error { return refuse }); !errors.Is(err, refuse) {
		t.Errorf("Compact with a check that fails = %v", err)
	}
	result, err := Compact(file, func(part string) error {
		findings, err := CheckFile(part)
		return errors.Join(append(findings, err)...)
	})
	if err != nil || result.After >= result.Before {
		t.Fatalf("Compact = %+v, %v", result, err)
	}
	if left, _ := filepath.Glob(file + ".*"); len(left) > 0 {
		t.Errorf("Compact left %v", left)
	}
	s = open(t, file)
	defer s.Close()
	if got := exported(t, s, tree.Root); got != want {
		t.Errorf("the tree differs after Compact")
	}
	view(t, s, func(tx *Tx) error {
		if ok, err := tx.Indexed(tree.MustParsePath("rows"), tree.Query{OrderBy: "name"}); !ok || tx.Revision() != 7 {
			t.Errorf("after Compact: indexed %v, %v, revision %d", ok, err, tx.Revision())
		}
		return nil
	})
	wantClean(t, s)
}

// TestWritePlain: what a load has read is written in plain form, until the load has ended.
func TestWritePlain(t *testing.T) {
	tier.Unraced(t)
	for seed := range uint64(20) {
		m := &model{t: t, rnd: rand.New(rand.NewPCG(seed, 4)), store: open(t, "")}
		for range 40 {
			m.step()
		}
		s := open(t, "")
		l, err := s.NewLoad(tree.Root, tiny)
		if err != nil {
			t.Fatal(err)
		}
		plain := func() (string, error) {
			var b bytes.Buffer
			err := s.View(func(tx *Tx) error { return l.WritePlain(tx, &b) })
			return b.String(), err
		}
		if err := l.Read(t.Context(), strings.NewReader(m.want.JSON())); err != nil {
			t.Fatal(err)
		}
		if got, err := plain(); err != nil || got != string(tree.AppendPlain(nil, m.want)) {
			t.Fatalf("WritePlain = %.500s, %v\nof %.500s", got, err, m.want.JSON())
		}
		if err := l.Abort(); err != nil {
			t.Fatal(err)
		}
		if _, err := plain(); !errors.Is(err, ErrLoadEnded) {
			t.Errorf("WritePlain of a load that has ended: %v", err)
		}
		wantClean(t, s)
	}
}
