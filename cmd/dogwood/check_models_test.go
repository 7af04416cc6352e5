package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A modelInvariant is what of an invariant says where a model has things twice.
type modelInvariant struct {
	ID, Kind, A, B, Counter, Each, Field, From, Path string
}

// A damage is another value at a place that some invariant speaks of.
type damage struct {
	id   string // of the invariant
	path tree.Path
	to   tree.Node
}

// TestCheckModels damages the data of each model, one place at a time: either side
// of each pair is removed, each copy and each counter altered. "check --invariants"
// names the invariant and the place each time.
func TestCheckModels(t *testing.T) {
	tried := make(map[string]int)
	for _, name := range []string{"chat", "org", "msgy", "social", "im"} { // owner-storage has nothing twice
		dir := filepath.Join("..", "..", "testdata", "models", name)
		list, err := readInvariants(filepath.Join(dir, "ops.json"))
		if err != nil {
			t.Fatal(err)
		}
		root := tree.MustParseNode(string(readModel(t, dir, "data.json")))
		file := filepath.Join(t.TempDir(), "model.db")
		putInFile(t, file, tree.Root, root)
		if findings, err := checkInvariants(t.Context(), file, list); err != nil || len(findings) > 0 {
			t.Fatalf("%s: %v, %v", name, findings, err)
		}
		for _, d := range damages(t, dir, root) {
			putInFile(t, file, d.path, d.to)
			findings, err := checkInvariants(t.Context(), file, list)
			if err != nil {
				t.Fatal(err)
			}
			if !reports(errors.Join(findings...), d) {
				t.Errorf("%s: %s with %s at %s: %v", name, d.id, d.to.JSON(), d.path, findings)
			}
			putInFile(t, file, d.path, root.Get(d.path))
			tried[name]++
		}
	}
	t.Logf("damaged %v", tried)
	for _, name := range []string{"chat", "org", "msgy", "social", "im"} {
		if tried[name] < 10 {
			t.Errorf("%s: %d places were damaged", name, tried[name])
		}
	}
}

// reports reports whether one of several lines is about a damage: it has the id of
// the invariant and the path.
func reports(findings error, d damage) bool {
	if findings == nil {
		return false
	}
	for line := range strings.SplitSeq(findings.Error(), "\n") {
		if strings.HasPrefix(line, d.id+": ") && strings.Contains(line+" ", d.path.String()+" ") {
			return true
		}
	}
	return false
}

func readModel(t *testing.T, dir, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// putInFile replaces a value in a data file.
func putInFile(t *testing.T, file string, p tree.Path, n tree.Node) {
	t.Helper()
	s, err := store.Open(file, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Update(func(tx *store.Tx) error {
		_, err := tx.Put(p, n)
		return err
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
}

// damages returns one damage for each place that a model has twice.
func damages(t *testing.T, dir string, root tree.Node) (list []damage) {
	t.Helper()
	var file struct{ Invariants []modelInvariant }
	if err := json.Unmarshal(readModel(t, dir, "ops.json"), &file); err != nil {
		t.Fatal(err)
	}
	for _, v := range file.Invariants {
		alter := func(pattern string) {
			for _, p := range matching(root, pattern) {
				list = append(list, damage{v.ID, p, otherLeaf(root.Get(p))})
			}
		}
		remove := func(pattern string) {
			for _, p := range matching(root, pattern) {
				list = append(list, damage{v.ID, p, tree.Empty})
			}
		}
		switch v.Kind {
		case "inverse":
			remove(v.A)
			remove(v.B)
		case "equal":
			alter(v.A)
		case "copy":
			alter(v.Each + "/" + v.Field)
		case "varEquals":
			if v.From == v.Path { // a record repeats its key
				alter(v.From)
			}
		case "count":
			alter(v.Counter)
		}
	}
	return list
}

// matching returns the places that a pattern fits whose variables differ.
func matching(root tree.Node, pattern string) []tree.Path {
	found := []tree.Path{tree.Root}
	for key := range strings.SplitSeq(pattern, "/") {
		var next []tree.Path
		for _, p := range found {
			for child := range root.Get(p).Children() {
				if child == key || strings.HasPrefix(key, "$") {
					next = append(next, p.Child(child))
				}
			}
		}
		found = next
	}
	return found
}

// otherLeaf returns another leaf of the same kind.
func otherLeaf(n tree.Node) tree.Node {
	if f, ok := n.NumberValue(); ok {
		return tree.Number(f + 1)
	}
	s, _ := n.StringValue()
	return tree.String(s + "-")
}
