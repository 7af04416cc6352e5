package store

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// wideNode returns an object of n children, each with a field n that is a
// permutation of their numbers and pad bytes of text.
func wideNode(n, pad int) tree.Node {
	var b strings.Builder
	filler := strings.Repeat("x", pad)
	for i := range n {
		fmt.Fprintf(&b, `,"k%07d":{"n":%d,"pad":"%s"}`, i, i*1_000_003%n, filler)
	}
	return tree.FromCanonical("{" + b.String()[1:] + "}")
}

// BenchmarkPutWide puts a wide value with an index in one write.
func BenchmarkPutWide(b *testing.B) {
	for _, c := range []struct{ children, pad int }{{20_000, 200}, {80_000, 200}, {4000, 3000}} {
		n := wideNode(c.children, c.pad)
		b.Run(fmt.Sprintf("children=%d/bytes=%d", c.children, c.pad), func(b *testing.B) {
			benchmarkWide(b, func(tx *Tx) error { _, err := tx.Put(tree.MustParsePath("rows"), n); return err })
		})
	}
}

// BenchmarkPutEach puts the same value child by child, in one transaction, in
// no order.
func BenchmarkPutEach(b *testing.B) {
	const children = 20_000
	var writes []tree.ResolvedWrite
	for key, child := range wideNode(children, 200).Children() {
		writes = append(writes, tree.ResolvedWrite{Target: tree.Target{Path: tree.MustParsePath("rows/" + key)}, Node: child})
	}
	for i := range writes {
		j := i * 1_000_003 % children
		writes[i], writes[j] = writes[j], writes[i]
	}
	benchmarkWide(b, func(tx *Tx) error {
		for _, w := range writes {
			if _, err := tx.Put(w.Path, w.Node); err != nil {
				return err
			}
		}
		return nil
	})
}

func benchmarkWide(b *testing.B, write func(*Tx) error) {
	for b.Loop() {
		b.StopTimer()
		s, err := Open(filepath.Join(b.TempDir(), "data.db"), Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Declare([]Index{{"/rows", "n"}}); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if err := s.Update(write); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
