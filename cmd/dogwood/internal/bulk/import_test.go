package bulk

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// TestImportEndsItsLoad: an import that fails when it has read everything leaves its rows to the reclaimer.
func TestImportEndsItsLoad(t *testing.T) {
	s, err := store.Open(filepath.Join(t.TempDir(), "db"), store.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	l, err := s.NewLoad(tree.Root, store.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Read(t.Context(), strings.NewReader(`{"list":{"a":{"b":1}}}`)); err != nil {
		t.Fatal(err)
	}
	err = s.Update(func(tx *store.Tx) error {
		const text = `{"format":"dogwood-data/1"}`
		v := versions.Version{Number: 1, Hash: versions.Hash(text), Size: len(text)}
		return errors.Join(versions.PutData(tx, v, text), tx.SetMeta("data-states", []byte("{")))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := link(s, l, tree.Root); err == nil || !strings.Contains(err.Error(), "states of the data document") {
		t.Errorf("the import fails with %v", err)
	}
	err = s.Update(func(tx *store.Tx) error {
		_, err := l.Link(tx)
		return err
	})
	if !errors.Is(err, store.ErrLoadEnded) {
		t.Errorf("the load goes on: %v", err)
	}
}
