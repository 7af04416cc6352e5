package store

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// TestCheckWhileWriting: what is written meanwhile is no damage.
func TestCheckWhileWriting(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "db"))
	defer s.Close()
	stop, stopped := make(chan struct{}), make(chan error)
	go func() { stopped <- writeUntil(s, stop) }()
	for range 200 {
		check(t, s)
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
}

// writeUntil makes, replaces and frees pages until it is told to stop.
func writeUntil(s *Store, stop <-chan struct{}) error {
	large := tree.String(strings.Repeat("x", 20_000))
	for i := 0; ; i++ {
		select {
		case <-stop:
			return nil
		default:
		}
		value := large
		if i%3 == 0 {
			value = tree.Empty
		}
		err := s.Update(func(tx *Tx) error {
			_, err := tx.Put(tree.MustParsePath(fmt.Sprintf("a/%d", i%7)), value)
			return err
		})
		if err == nil {
			_, err = s.Reclaim(100, nil)
		}
		if err != nil {
			return err
		}
	}
}

// TestCheckNamesWhatIsTooDeep: a value that is too deep, which old versions stored for a POST, is
// found by its path, and removing its parent mends the store.
func TestCheckNamesWhatIsTooDeep(t *testing.T) {
	for name, size := range map[string]int{"packed": 1, "in a container": PackLimit + 1} {
		s := open(t, "")
		parent := tree.MustParsePath(strings.Repeat("k/", tree.MaxDepth))
		deep := parent.Child("deep")
		put := func(p tree.Path, n tree.Node) {
			err := s.Update(func(tx *Tx) error {
				_, err := tx.Put(p, n)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		sibling, _ := parent.Parent()
		put(sibling.Child("first"), tree.MustParseNode(`{".value":1,".priority":2}`))
		put(deep, tree.String(strings.Repeat("x", size)))
		findings, err := s.Check()
		if err != nil || len(findings) == 0 || !strings.HasPrefix(findings[0].Error(), deep.String()+": ") {
			t.Errorf("%s: the check finds %v, %v, want what is wrong at %s", name, findings, err, deep)
		}
		put(parent, tree.Empty)
		check(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
