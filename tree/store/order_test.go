package store

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// A watchedKV notes the keys that transactions put, as the file below them sees
// it.
type watchedKV struct {
	kv.Store
	puts map[kv.Bucket][][]byte
}

func (k watchedKV) Begin(writable bool) (kv.Tx, error) {
	tx, err := k.Store.Begin(writable)
	return watchedTx{tx, k.puts}, err
}

type watchedTx struct {
	kv.Tx
	puts map[kv.Bucket][][]byte
}

func (t watchedTx) Put(b kv.Bucket, key, value []byte) error {
	t.puts[b] = append(t.puts[b], bytes.Clone(key))
	return t.Tx.Put(b, key, value)
}

// watched returns a store with an index of n, and the keys that are put from now
// on.
func watched(t *testing.T) (*Store, map[kv.Bucket][][]byte) {
	t.Helper()
	s := open(t, "")
	t.Cleanup(func() { s.Close() })
	if err := s.Declare([]Index{{"/rows", "n"}, {"/rows/$row/parts", tree.ByValue}}); err != nil {
		t.Fatal(err)
	}
	puts := make(map[kv.Bucket][][]byte)
	s.kv = watchedKV{s.kv, puts}
	return s, puts
}

// TestWideValuesArePutInOrder: what one write puts comes to the file in the order
// of keys. In another order a page that is not split before the commit makes the
// write quadratic.
func TestWideValuesArePutInOrder(t *testing.T) {
	s, puts := watched(t)
	const rows = 300
	var text strings.Builder
	for i := range rows {
		fmt.Fprintf(&text, `,"k%04d":{"n":%d,"pad":"%s"`, i, i*7%rows, strings.Repeat("x", i%3*PackLimit/3))
		if i%10 == 0 {
			fmt.Fprintf(&text, `,"parts":{"a":"%s","b":2}`, strings.Repeat("y", i%4*PackLimit))
		}
		if i%5 == 0 {
			fmt.Fprintf(&text, `,".priority":%d`, i*11%rows)
		}
		text.WriteString("}")
	}
	wide := tree.MustParseNode("{" + text.String()[1:] + "}")
	put(t, s, func(tx *Tx) error { _, err := tx.Put(tree.MustParsePath("rows"), wide); return err })

	for _, b := range []kv.Bucket{kv.Rows, kv.Index, kv.Blobs} {
		if len(puts[b]) < 10 {
			t.Errorf("%d keys were put into bucket %c", len(puts[b]), b)
		}
		for i := 1; i < len(puts[b]); i++ {
			if bytes.Compare(puts[b][i-1], puts[b][i]) >= 0 {
				t.Errorf("bucket %c: key %d, %x, was put after %x", b, i, puts[b][i], puts[b][i-1])
				break
			}
		}
	}
	wantClean(t, s)
	view(t, s, func(tx *Tx) error {
		got, err := tx.Get(tree.MustParsePath("rows"))
		if got != wide {
			t.Error("the value that was put is another one")
		}
		return err
	})
}

var errBroken = errors.New("broken")
