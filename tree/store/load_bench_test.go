package store

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// A rowsText is the text of an object with n rows of ten leaves, about 220 bytes
// each, made while it is read.
type rowsText struct {
	n, next int
	ahead   []byte
}

func (r *rowsText) Read(p []byte) (int, error) {
	for len(r.ahead) < len(p) && r.next <= r.n {
		r.ahead = r.append(r.ahead)
		r.next++
	}
	if len(r.ahead) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.ahead)
	r.ahead = append(r.ahead[:0], r.ahead[n:]...)
	return n, nil
}

func (r *rowsText) append(b []byte) []byte {
	i := r.next
	switch {
	case i == r.n:
		return append(b, '}')
	case i == 0:
		b = append(b, '{')
	default:
		b = append(b, ',')
	}
	return fmt.Appendf(b, `"k%07d":{"name":"user number %d","mail":"user%d@example.org","age":%d,"active":%t,"score":%d.5,"city":"Springfield","zip":"%05d","team":%d,"joined":%d,"note":"lorem ipsum"}`,
		i, i, i, i%90, i%2 == 0, i%1000, i%100000, i%50, 1700000000000+i)
}

func benchRows() int {
	if n, err := strconv.Atoi(os.Getenv("DOGWOOD_BENCH_ROWS")); err == nil {
		return n
	}
	return 100_000
}

func BenchmarkLoad(b *testing.B) {
	for _, indexes := range [][]Index{nil, {{"/rows", "name"}}} {
		b.Run(fmt.Sprintf("rows=%d/indexes=%d", benchRows(), len(indexes)), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				s, err := Open(filepath.Join(b.TempDir(), "data.db"), Options{})
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Declare(indexes); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				l, err := s.NewLoad(tree.MustParsePath("rows"), LoadOptions{})
				if err != nil {
					b.Fatal(err)
				}
				if err := l.Read(context.Background(), &rowsText{n: benchRows()}); err != nil {
					b.Fatal(err)
				}
				if err := s.Update(func(tx *Tx) error { _, err := l.Link(tx); return err }); err != nil {
					b.Fatal(err)
				}
				b.SetBytes(l.Stats().Bytes)
				b.StopTimer()
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}

func BenchmarkExport(b *testing.B) {
	s, err := Open(filepath.Join(b.TempDir(), "data.db"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if err := loadText(b, s, tree.Root, LoadOptions{}, &rowsText{n: benchRows()}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		var w countingWriter
		if err := s.View(func(tx *Tx) error { return tx.WriteJSON(&w, tree.Root) }); err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(w))
	}
}

type countingWriter int64

func (w *countingWriter) Write(p []byte) (int, error) {
	*w += countingWriter(len(p))
	return len(p), nil
}

func BenchmarkBackup(b *testing.B) {
	s, err := Open(filepath.Join(b.TempDir(), "data.db"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if err := loadText(b, s, tree.Root, LoadOptions{}, &rowsText{n: benchRows()}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		size, err := s.Backup(io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(size)
	}
}
