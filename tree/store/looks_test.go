package store

import (
	"errors"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// A slow filter spends a lot at each child.
type slow struct{}

func (slow) Needs() []tree.Need { return nil }
func (slow) Text() string       { return "slow" }
func (slow) Most() int          { return 1000 }
func (slow) Match(tree.Reader, tree.Path, string, int) (bool, int, error) {
	return true, briefLooked/2 + 1, nil
}

// TestBriefLooks: a read whose filter takes long is no brief one, also over one row.
func TestBriefLooks(t *testing.T) {
	s, err := Open("", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.Update(func(tx *Tx) error {
		_, err := tx.Put(tree.Root, tree.MustParseNode(`{"one":{"a":1},"two":{"a":1,"b":2}}`))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	q := tree.Query{OrderBy: tree.ByKey, Filter: slow{}}
	for _, c := range []struct {
		path        string
		brief, long bool
	}{{"/one", true, false}, {"/two", true, true}, {"/two", false, false}} {
		for what, read := range map[string]func(*Tx, tree.Path) error{
			"Query":  func(tx *Tx, p tree.Path) error { _, err := tx.Query(p, q); return err },
			"Window": func(tx *Tx, p tree.Path) error { _, err := tx.Window(p, q, 0); return err },
			"Count":  func(tx *Tx, p tree.Path) error { _, err := tx.Count(p, q); return err },
		} {
			err := s.View(func(tx *Tx) error {
				tx.Brief(c.brief)
				return read(tx, tree.MustParsePath(c.path))
			})
			if errors.Is(err, ErrLong) != c.long || !c.long && err != nil {
				t.Errorf("%s of %s, brief %t: %v", what, c.path, c.brief, err)
			}
		}
	}
}
