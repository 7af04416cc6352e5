package kv

import (
	"fmt"
	"path/filepath"
	"testing"
)

// BenchmarkMerged walks 100,000 entries of a file, without and with one entry in memory behind
// them.
func BenchmarkMerged(b *testing.B) {
	store := openTest(b, filepath.Join(b.TempDir(), "a.db"))
	defer store.Close()
	value := make([]byte, 200)
	update(b, store, func(tx Tx) error {
		for i := range 100_000 {
			if err := tx.Put(Rows, fmt.Appendf(nil, "row %08d", i), value); err != nil {
				return err
			}
		}
		return nil
	})
	reader, err := store.Begin(false)
	if err != nil {
		b.Fatal(err)
	}
	defer reader.Rollback()
	front := newMemTree()
	putCopy(front, []byte("row z"), value)
	for name, trees := range map[string][]memTree{"file": nil, "merged": {front}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				c := reader.Cursor(Rows)
				if len(trees) > 0 {
					c = newMerged(c, func() error { return nil }, trees...)
				}
				n := 0
				for k, _ := c.Seek(nil); k != nil; k, _ = c.Next() {
					n++
				}
				if n < 100_000 {
					b.Fatal(n, c.Err())
				}
			}
		})
	}
}
