package store

import (
	"path/filepath"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

func BenchmarkShallow(b *testing.B) {
	s, err := Open(filepath.Join(b.TempDir(), "data.db"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if err := loadText(b, s, tree.Root, LoadOptions{}, &rowsText{n: benchRows()}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		err := s.View(func(tx *Tx) error {
			l, err := tx.Shallow(tree.Root, "", 0)
			if l.Keys.Len() != benchRows() {
				b.Fatal(l.Keys.Len())
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
