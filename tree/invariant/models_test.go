package invariant_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/invarianttest"
	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/invariant"
	"github.com/dogwooddb/dogwood/tree/store"
)

// The tests in this file damage the data of the models in testdata/models, one
// place at a time.

// A stored is a model whose data are in a store.
type stored struct {
	*invarianttest.Model
	tx *store.Tx
}

func loadModel(t *testing.T, name string) *stored {
	t.Helper()
	m, err := invarianttest.Load(filepath.Join("..", "..", "testdata", "models", name))
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open("", store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := s.Begin(true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tx.Rollback()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &stored{m, tx}
	r.put(t, tree.Root, m.Data)
	if lines := r.violations(t); len(lines) > 0 {
		t.Fatalf("of the sound data: %q", lines)
	}
	return r
}

func (m *stored) put(t *testing.T, p tree.Path, n tree.Node) {
	t.Helper()
	if _, err := m.tx.Put(p, n); err != nil {
		t.Fatal(err)
	}
}

// violations returns what does not hold.
func (m *stored) violations(t *testing.T) (lines []string) {
	t.Helper()
	for _, v := range m.Invariants {
		err := v.Check(t.Context(), m.tx, func(b invariant.Violation) { lines = append(lines, b.String()) })
		if err != nil {
			t.Fatal(err)
		}
	}
	return lines
}

// damaged returns what does not hold after some damage, and puts back what was there.
func (m *stored) damaged(t *testing.T, d invarianttest.Damage) (lines []string) {
	t.Helper()
	m.put(t, d.Path, d.To)
	lines = m.violations(t)
	m.put(t, d.Path, m.Data.Get(d.Path))
	return lines
}

// noticed are the numbers of leaves of which something is noticed.
type noticed struct{ leaves, removed, altered int }

// Whatever a model has twice is reported with its path if it is removed, changed, or
// replaced by what another record has. Of all leaves that are removed, one at a time,
// the invariants miss what is optional; of those that are altered, what is nowhere a
// second time. No invariant is idle.
func TestModelsDamaged(t *testing.T) {
	tier.Need(t, tier.Full)
	for name, want := range map[string]noticed{
		"chat": {48, 48, 15}, "org": {22, 21, 12}, "msgy": {157, 155, 121}, "social": {82, 64, 61},
		"owner-storage": {21, 8, 0}, "im": {83, 65, 37},
	} {
		t.Run(name, func(t *testing.T) {
			m := loadModel(t, name)
			useful := make(map[string]bool)
			removed, altered := make(map[tree.Path]bool), make(map[tree.Path]bool)
			for _, d := range m.Damages() {
				lines := m.damaged(t, d)
				if d.Noticed && !slices.ContainsFunc(lines, d.In) {
					t.Errorf("%s %s: %q", d.Path, d, lines)
				}
				for _, line := range lines {
					id, _, _ := strings.Cut(line, ": ")
					useful[id] = true
				}
				if len(lines) > 0 && m.Data.Get(d.Path).IsLeaf() {
					removed[d.Path] = removed[d.Path] || d.To.IsEmpty()
					altered[d.Path] = altered[d.Path] || !d.To.IsEmpty()
				}
			}
			if lines := m.violations(t); len(lines) > 0 {
				t.Fatalf("the data were not put back: %q", lines)
			}
			if got := (noticed{len(invarianttest.Leaves(m.Data)), count(removed), count(altered)}); got != want {
				t.Errorf("noticed %+v, want %+v", got, want)
			}
			for _, v := range m.Invariants {
				if !useful[v.ID] && v.Kind != "max" && v.Kind != "excludes" { // to which something must be added
					t.Errorf("%s reports nothing", v.ID)
				}
			}
		})
	}
}

func count(of map[tree.Path]bool) (n int) {
	for _, yes := range of {
		if yes {
			n++
		}
	}
	return n
}

// What is no invariant of the data is in the files, too, and is skipped.
func TestReadModels(t *testing.T) {
	for _, name := range invarianttest.Names {
		text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "models", name, "ops.json"))
		if err != nil {
			t.Fatal(err)
		}
		var file struct{ Invariants []json.RawMessage }
		if err := json.Unmarshal(text, &file); err != nil {
			t.Fatal(err)
		}
		list, err := invariant.Read(strings.NewReader(string(text)))
		if err != nil || len(list) != len(file.Invariants) {
			t.Errorf("%s: %d of %d invariants, %v", name, len(list), len(file.Invariants), err)
		}
	}
}
