package store

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// rowsLeft counts all rows, chunks and index entries.
func rowsLeft(t testing.TB, s *Store) (n int) {
	t.Helper()
	err := s.View(func(tx *Tx) error {
		for _, b := range []kv.Bucket{kv.Rows, kv.Blobs, kv.Index, kv.Reclaim} {
			c := tx.kv.Cursor(b)
			for k, _ := c.Seek(nil); k != nil; k, _ = c.Next() {
				n++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestLoadCutShort copies the file at every batch of a load, as a crash would
// leave it, and wants the old tree in every copy and nothing of the new one.
func TestLoadCutShort(t *testing.T) {
	tier.Unraced(t)
	dir := t.TempDir()
	file, cut := filepath.Join(dir, "data.db"), filepath.Join(dir, "cut.db")
	s := open(t, file)
	defer s.Close()
	if err := s.Declare([]Index{{"/", "name"}, {"/$any", tree.ByValue}}); err != nil {
		t.Fatal(err)
	}
	mustLoad(t, s, "/", LoadOptions{}, `{"old":{"a":1,"b":"`+strings.Repeat("b", 3000)+`"}}`)
	wantClean(t, s)
	rows, old := rowsLeft(t, s), tree.MustParseNode(exported(t, s, tree.Root))
	crashes := 0
	crash := func(int64) {
		copyFile(t, file, cut)
		c := open(t, cut)
		wantTree(t, c, tree.Root, old)
		wantClean(t, c)
		if got := rowsLeft(t, c); got != rows {
			t.Errorf("crash %d: %d rows, want %d", crashes, got, rows)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		crashes++
	}
	text := `{"new":` + readAll(t, &rowsText{n: 300}) + `,"long":"` + strings.Repeat("é", 90_000) + `","n":[` + strings.Repeat(`{".priority":1,".value":2},`, 2000) + `0]}`
	o := LoadOptions{SliceBytes: 20_000, WholeBytes: 512, Progress: crash}
	mustLoad(t, s, "/", o, text)
	if crashes < 10 {
		t.Errorf("only %d slices", crashes)
	}
	wantTree(t, s, tree.Root, tree.MustParseNode(text))
	wantClean(t, s)
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestLoadAborted(t *testing.T) {
	s := open(t, "")
	defer s.Close()
	mustLoad(t, s, "/", LoadOptions{}, `{"old":1}`)
	rows := rowsLeft(t, s)
	broken := errors.New("broken")
	src := io.MultiReader(strings.NewReader(`{"a":`+readAll(t, &rowsText{n: 50})+`,`), failingReader{broken})
	if err := loadText(t, s, tree.Root, tiny, src); !errors.Is(err, broken) {
		t.Errorf("load from a broken reader = %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l, err := s.NewLoad(tree.Root, tiny)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Read(ctx, &rowsText{n: 5000}); !errors.Is(err, context.Canceled) {
		t.Errorf("load with a context that ended = %v", err)
	}
	link := func() error { return s.Update(func(tx *Tx) error { _, err := l.Link(tx); return err }) }
	if err := link(); !errors.Is(err, ErrLoadEnded) {
		t.Errorf("Link of what was not read = %v", err)
	}
	for range 2 {
		if err := l.Abort(); err != nil {
			t.Error(err)
		}
	}
	wantTree(t, s, tree.Root, tree.MustParseNode(`{"old":1}`))
	wantClean(t, s)
	if got := rowsLeft(t, s); got != rows {
		t.Errorf("%d rows are left, want %d", got, rows)
	}
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

// TestLinkThatIsRolledBack can be done again; one that was committed can not.
func TestLinkThatIsRolledBack(t *testing.T) {
	s := open(t, "")
	defer s.Close()
	l, err := s.NewLoad(tree.MustParsePath("a/b"), tiny)
	if err != nil {
		t.Fatal(err)
	}
	text := readAll(t, &rowsText{n: 100})
	if err := l.Read(t.Context(), strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	tx, err := s.Begin(true)
	if err != nil {
		t.Fatal(err)
	}
	if changed, err := l.Link(tx); err != nil || !changed {
		t.Errorf("Link = %t, %v", changed, err)
	}
	tx.Rollback()
	wantTree(t, s, tree.Root, tree.Empty)
	check(t, s)
	link := func() error { return s.Update(func(tx *Tx) error { _, err := l.Link(tx); return err }) }
	if err := link(); err != nil {
		t.Error(err)
	}
	if err := l.Abort(); err != nil {
		t.Error(err)
	}
	if err := link(); !errors.Is(err, ErrLoadEnded) {
		t.Errorf("the second Link = %v", err)
	}
	wantTree(t, s, tree.MustParsePath("a/b"), tree.MustParseNode(text))
	wantClean(t, s)
}

// TestLoadsAtTheSameTime run beside each other and other writes, readers see
// each as a whole or not at all.
func TestLoadsAtTheSameTime(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "data.db"))
	defer s.Close()
	const loads = 3
	rounds := tier.Pick(1, 1, 10)
	text := readAll(t, &rowsText{n: 150})
	whole := tree.MustParseNode(text).NumChildren()
	var work sync.WaitGroup
	for i := range loads {
		work.Go(func() {
			for range rounds {
				if err := loadText(t, s, tree.Root.Child(string(rune('a'+i))), tiny, strings.NewReader(text)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() { // writes, as the one committer does
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			default:
			}
			err := s.Update(func(tx *Tx) error {
				tx.SetRevision(tx.Revision() + 1)
				_, err := tx.Put(tree.MustParsePath("n"), tree.Number(float64(n)))
				return err
			})
			if err == nil && n%4 == 0 {
				_, err = s.Reclaim(500, nil)
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	others.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			err := s.View(func(tx *Tx) error {
				for i := range loads {
					l, err := tx.Shallow(tree.Root.Child(string(rune('a'+i))), "", 0)
					if err != nil || l.Keys.Len() != 0 && l.Keys.Len() != whole {
						t.Errorf("a reader sees %d of %d rows, %v", l.Keys.Len(), whole, err)
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
	})
	work.Wait()
	close(done)
	others.Wait()
	for i := range loads {
		wantTree(t, s, tree.Root.Child(string(rune('a'+i))), tree.MustParseNode(text))
	}
	wantClean(t, s)
}

// TestLinkReadsFewRows holds the commit that makes a load visible to the rows on
// the way.
func TestLinkReadsFewRows(t *testing.T) {
	tier.Unraced(t)
	s := open(t, "")
	defer s.Close()
	for range 2 { // into an empty place, and in place of another load
		l, err := s.NewLoad(tree.MustParsePath("a/b/c"), LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Read(t.Context(), &rowsText{n: 20_000}); err != nil {
			t.Fatal(err)
		}
		stats := put(t, s, func(tx *Tx) error { _, err := l.Link(tx); return err })
		if stats.Written > 8 || stats.Read > 24 {
			t.Errorf("Link of 20,000 rows: %+v, want at most 8 written and 24 read", stats)
		}
	}
	wantClean(t, s)
}

// TestLoadBesideNewIndexes declares an index while a load goes on, which is
// built before the load is linked. It must hold what the load brings.
func TestLoadBesideNewIndexes(t *testing.T) {
	s := open(t, "")
	defer s.Close()
	old := Index{"/rows", "age"}
	if err := s.Declare([]Index{old}); err != nil {
		t.Fatal(err)
	}
	build(t, s)
	l, err := s.NewLoad(tree.MustParsePath("rows"), LoadOptions{SliceBytes: 4096})
	if err != nil {
		t.Fatal(err)
	}
	change := func(int64) {}
	l.options.Progress = func(n int64) { change(n) }
	change = func(int64) {
		change = func(int64) {}
		if err := s.Declare([]Index{{"/rows", "name"}}); err != nil { // and no longer by age
			t.Fatal(err)
		}
		build(t, s)
	}
	if err := l.Read(t.Context(), &rowsText{n: 200}); err != nil {
		t.Fatal(err)
	}
	put(t, s, func(tx *Tx) error { _, err := l.Link(tx); return err })
	check(t, s)
	build(t, s)
	wantClean(t, s)
	q := tree.Query{OrderBy: "name", Limit: 3, FromLast: true}
	view(t, s, func(tx *Tx) error {
		indexed, err := tx.Indexed(tree.MustParsePath("rows"), q)
		got, err2 := tx.Window(tree.MustParsePath("rows"), q, 0)
		if want := q.Apply(tree.MustParseNode(readAll(t, &rowsText{n: 200}))); !indexed || got != want {
			t.Errorf("indexed %t; by name: %s\nwant %s", indexed, got.JSON(), want.JSON())
		}
		return errors.Join(err, err2)
	})
}

// TestAbortOnABrokenDisk is made up for by Reclaim.
func TestAbortOnABrokenDisk(t *testing.T) {
	s := open(t, "")
	defer s.Close()
	l, err := s.NewLoad(tree.Root, tiny)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Read(t.Context(), &rowsText{n: 100}); err != nil {
		t.Fatal(err)
	}
	working := s.kv
	broken := errors.New("no space left on device")
	s.kv = brokenKV{working, broken}
	if err := l.Abort(); !errors.Is(err, broken) {
		t.Errorf("Abort on a broken disk = %v", err)
	}
	if _, err := s.Reclaim(10, nil); !errors.Is(err, broken) {
		t.Errorf("Reclaim on a broken disk = %v", err)
	}
	s.kv = working
	wantClean(t, s)
	if left := rowsLeft(t, s); left != 0 {
		t.Errorf("%d rows are left", left)
	}
}

// A brokenKV refuses to commit.
type brokenKV struct {
	kv.Store
	err error
}

func (k brokenKV) Begin(writable bool) (kv.Tx, error) {
	tx, err := k.Store.Begin(writable)
	return brokenTx{tx, k.err}, err
}

type brokenTx struct {
	kv.Tx
	err error
}

func (t brokenTx) Commit() error { return t.err }
