package store

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
)

// TestLoadNodes: nodes are stored in steps, between which others commit and after each of
// which the transaction may be rolled back; then they take effect together.
func TestLoadNodes(t *testing.T) {
	tier.Unraced(t)
	s, err := Open(filepath.Join(t.TempDir(), "db"), Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Declare([]Index{{"/a", "n"}}); err != nil {
		t.Fatal(err)
	}
	steps := 0
	update := func(step func(*Tx) error) error {
		steps++
		tx, err := s.Begin(true)
		if err != nil {
			return err
		}
		if err := step(tx); err != nil {
			t.Error(err)
		}
		tx.Rollback()
		return s.Update(func(tx *Tx) error {
			if _, err := tx.Put(tree.MustParsePath(fmt.Sprint("other/", steps)), tree.Bool(true)); err != nil {
				return err
			}
			return step(tx)
		})
	}
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, `,"k%d":{"n":%d}`, i, i)
	}
	large, err := tree.ParseNode("{" + b.String()[1:] + "}")
	if err != nil {
		t.Fatal(err)
	}
	nodes := []PathNode{{tree.MustParsePath("a"), large}, {tree.MustParsePath("b/c"), tree.Bool(true)}, {tree.MustParsePath("d"), large}}
	l, err := s.NewLoad(tree.Root, LoadOptions{SliceBytes: 16 << 10, Update: update})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Nodes(t.Context(), nodes); err != nil {
		t.Fatal(err)
	}
	get := func(p tree.Path) (n tree.Node) {
		if err := s.View(func(tx *Tx) error { n, err = tx.Get(p); return err }); err != nil {
			t.Error(err)
		}
		return n
	}
	if steps < 10 || len(get(tree.MustParsePath("other")).Text()) == 0 {
		t.Errorf("stored in %d steps, want many", steps)
	}
	err = s.Update(func(tx *Tx) error {
		if err := l.Claim(tx); err != nil {
			return err
		}
		for i, n := range nodes {
			if _, err := l.PutNode(tx, i, n.Path); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		if get(n.Path) != n.Node {
			t.Errorf("%s is not what was stored", n.Path)
		}
	}
	for more := true; more; {
		if more, err = s.Reclaim(1000, nil); err != nil {
			t.Fatal(err)
		}
	}
	findings, err := s.Check()
	if err != nil || len(findings) > 0 {
		t.Errorf("Check() = %v, %v", findings, err)
	}
}
