package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/checks"
	"github.com/dogwooddb/dogwood/internal/invarianttest"
	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// TestCheckModels damages the data of each model, one place at a time: either side
// of each pair is removed, each copy, counter and repeated id changed, and replaced by
// that of another record. "check --invariants" reports the place each time. Tier long does so
// with each place, the others with one in three.
func TestCheckModels(t *testing.T) {
	tier.Need(t, tier.Full)
	t.Parallel()
	for _, name := range invarianttest.Names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newCheckedModel(t, name)
			tried := make(map[string]int)
			for i, d := range m.Damages() {
				if !d.Noticed || i%tier.Pick(3, 3, 1) > 0 {
					continue
				}
				tried[d.Name]++
				if lines := m.check(t, d); !reports(lines, d) {
					t.Errorf("%s %s: %q", d.Path, d, lines)
				}
			}
			t.Logf("damaged %v", tried)
			if name != "owner-storage" && (tried["removed"] == 0 || tried["changed"]+tried["raised"]+tried["swapped"] == 0) {
				t.Error("too little was damaged") // owner-storage has nothing twice
			}
		})
	}
}

// A checkedModel is a model whose data are in a file.
type checkedModel struct {
	*invarianttest.Model
	file    string
	damaged tree.Path // what has to be put back
}

func newCheckedModel(t *testing.T, name string) *checkedModel {
	t.Helper()
	m, err := invarianttest.Load(filepath.Join("..", "..", "testdata", "models", name))
	if err != nil {
		t.Fatal(err)
	}
	c := &checkedModel{Model: m, file: filepath.Join(t.TempDir(), "model.db")}
	if lines := c.check(t, invarianttest.Damage{To: m.Data}); lines != nil {
		t.Fatalf("of the sound data: %q", lines)
	}
	return c
}

// check puts back what was damaged before, does some damage, and returns the lines
// that are printed.
func (m *checkedModel) check(t *testing.T, d invarianttest.Damage) (lines []string) {
	t.Helper()
	s, err := store.Open(m.file, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Update(func(tx *store.Tx) error {
		_, err := tx.Put(m.damaged, m.Data.Get(m.damaged))
		_, err2 := tx.Put(d.Path, d.To)
		return errors.Join(err, err2)
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	m.damaged = d.Path
	findings, err := checks.Invariants(t.Context(), m.file, m.Invariants)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		lines = append(lines, f.Error())
	}
	return lines
}

// reports reports whether one of several lines is about a damage, and names an
// invariant.
func reports(lines []string, d invarianttest.Damage) bool {
	for _, line := range lines {
		if id, problem, _ := strings.Cut(line, ": "); id != "" && d.In(problem) {
			return true
		}
	}
	return false
}
