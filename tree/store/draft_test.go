package store

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// TestDraft: what is written to a draft, read from it and counted is the same as in the
// write transaction, which runs at the same time, and nobody else sees anything of it.
func TestDraft(t *testing.T) {
	tier.Unraced(t)
	seeds := tier.Pick[uint64](4, 8, 200)
	for name, file := range map[string]string{"memory": "", "file": filepath.Join(t.TempDir(), "a.db")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range seeds {
				m := &model{t: t, rnd: rand.New(rand.NewPCG(seed, 1))}
				s, err := Open(file, Options{NoSync: true})
				if err != nil {
					t.Fatal(err)
				}
				compareDrafts(t, m, s)
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func compareDrafts(t *testing.T, m *model, s *Store) {
	t.Helper()
	if err := s.Declare([]Index{{"/", "a"}, {"/$k", tree.ByValue}}); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		d, err := s.Draft()
		if err != nil {
			t.Fatal(err)
		}
		w, err := s.Begin(true)
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + m.rnd.IntN(8) {
			draftStep(t, m, d, w)
		}
		d.Rollback()
		if m.rnd.IntN(4) == 0 {
			w.Rollback()
		} else if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	findings, err := s.Check()
	if err != nil || len(findings) > 0 {
		t.Fatal(err, findings)
	}
}

// draftStep makes one change in two transactions, and compares them.
func draftStep(t *testing.T, m *model, d, w *Tx) {
	t.Helper()
	p, n, priority := m.path(3), m.leaf(), m.rnd.IntN(5) == 0
	switch m.rnd.IntN(4) {
	case 0:
		n = tree.Empty
	case 1:
		var b strings.Builder
		for i := range 1 + m.rnd.IntN(300) {
			b.WriteString(",{"[min(max(1-i, 0), 1) : min(max(1-i, 0), 1)+1])
			b.WriteString(`"k` + strconv.Itoa(i) + `":"some text"`)
		}
		n = tree.MustParseNode(b.String() + "}")
	}
	change := func(tx *Tx) (bool, error) {
		if priority {
			return tx.PutPriority(p, tree.Number(3))
		}
		return tx.Put(p, n)
	}
	changed, err := change(d)
	if really, failed := change(w); changed != really || err != nil || failed != nil {
		t.Fatalf("put at %s: %t %v, want %t %v", p, changed, err, really, failed)
	}
	a, b := d.Stats(), w.Stats()
	if a.Written != b.Written || a.Entries != b.Entries {
		t.Fatalf("put at %s: %+v, want %+v", p, a, b)
	}
	compareReads(t, d, w, p)
	compareReads(t, d, w, m.path(1))
}

func compareReads(t *testing.T, d, w *Tx, p tree.Path) {
	t.Helper()
	for _, order := range []string{tree.ByKey, tree.ByPriority, tree.ByValue, "a"} {
		for _, last := range []bool{false, true} {
			q := tree.Query{OrderBy: order, Limit: 7, FromLast: last}
			got, err := d.Query(p, q)
			want, failed := w.Query(p, q)
			if err != nil || failed != nil || !slices.Equal(got, want) {
				t.Fatalf("%s by %s, from last: %t: %v %v, want %v %v", p, order, last, got, err, want, failed)
			}
		}
	}
	got, err := d.Get(p)
	want, failed := w.Get(p)
	if err != nil || failed != nil || got != want {
		t.Fatalf("%s: %.200s %v, want %.200s %v", p, got.JSON(), err, want.JSON(), failed)
	}
	n, err := d.Count(p, tree.Query{})
	if children, _ := w.Count(p, tree.Query{}); n != children || err != nil {
		t.Fatalf("%s has %d children, want %d: %v", p, n, children, err)
	}
}

// TestDraftEnds: a draft is not committed, and Interrupt ends its writes.
func TestDraftEnds(t *testing.T) {
	s, err := Open("", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d, err := s.Draft()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Put(tree.Root, tree.Bool(true)); err != nil {
		t.Fatal(err)
	}
	if err := d.Commit(); !errors.Is(err, kv.ErrDraft) {
		t.Errorf("Commit() = %v", err)
	}
	if d, err = s.Draft(); err != nil {
		t.Fatal(err)
	}
	defer d.Rollback()
	if n, err := d.Get(tree.Root); !n.IsEmpty() || err != nil {
		t.Errorf("the next draft has %s, %v", n.JSON(), err)
	}
	ended := errors.New("ended")
	d.Interrupt = func() error { return ended }
	value := tree.MustParseNode("[" + strings.Repeat("1,", 5000) + "1]")
	if _, err := d.Put(tree.Root, value); !errors.Is(err, ended) {
		t.Errorf("Put() = %v, want that it ends", err)
	}
}
