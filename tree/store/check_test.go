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
