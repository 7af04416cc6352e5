package store

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// A watchedKV notes the keys that transactions put, as the file below them sees
// it.
type watchedKV struct {
	kv
	puts map[bucket][][]byte
}

func (k watchedKV) begin(writable bool) (kvTx, error) {
	tx, err := k.kv.begin(writable)
	return watchedTx{tx, k.puts}, err
}

type watchedTx struct {
	kvTx
	puts map[bucket][][]byte
}

func (t watchedTx) put(b bucket, key, value []byte) error {
	t.puts[b] = append(t.puts[b], bytes.Clone(key))
	return t.kvTx.put(b, key, value)
}

// watched returns a store with an index of n, and the keys that are put from now
// on.
func watched(t *testing.T) (*Store, map[bucket][][]byte) {
	t.Helper()
	s := open(t, "")
	t.Cleanup(func() { s.Close() })
	if err := s.Declare([]Index{{"/rows", "n"}, {"/rows/$row/parts", tree.ByValue}}); err != nil {
		t.Fatal(err)
	}
	puts := make(map[bucket][][]byte)
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

	for _, b := range []bucket{bucketRows, bucketIndex, bucketBlobs} {
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

// TestOrderedTx: of changes of one key the last one counts, and whoever looks
// sees all of them.
func TestOrderedTx(t *testing.T) {
	s, puts := watched(t)
	tx, err := s.Begin(true)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	change := func(key string, put bool) {
		t.Helper()
		if put {
			err = tx.put(bucketIndex, []byte(key), nil)
		} else {
			err = tx.delete(bucketIndex, []byte(key))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"c", "a", "b", "d"} {
		change(key, true)
	}
	change("b", false)
	change("d", false)
	change("d", true)
	if len(puts[bucketIndex]) != 0 {
		t.Errorf("%q were passed on before anybody looked", puts[bucketIndex])
	}
	a, errA := tx.get(bucketIndex, []byte("a"))
	b, errB := tx.get(bucketIndex, []byte("b"))
	if a == nil || b != nil || errA != nil || errB != nil {
		t.Error("get does not see what was held back")
	}
	if got := string(bytes.Join(puts[bucketIndex], nil)); got != "acd" {
		t.Errorf("keys were put in the order %q, want acd", got)
	}
	change("a", false)
	if k, _ := tx.kv.cursor(bucketIndex).seek([]byte("a")); string(k) != "c" {
		t.Errorf("a cursor finds %q, want c", k)
	}
	change("0", true)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	view(t, s, func(tx *Tx) error {
		if v, err := tx.get(bucketIndex, []byte("0")); v == nil || err != nil {
			t.Error("the commit forgot what was held back")
		}
		return nil
	})
}

var errBroken = errors.New("broken")

// TestOrderedTxFails: what fails while it is passed on fails the commit.
func TestOrderedTxFails(t *testing.T) {
	s := open(t, "")
	defer s.Close()
	s.kv = brokenIndexKV{s.kv}
	err := s.Update(func(tx *Tx) error {
		if err := tx.put(bucketIndex, []byte("a"), nil); err != nil {
			t.Fatal(err)
		}
		tx.get(bucketIndex, []byte("a"))
		return nil
	})
	if !errors.Is(err, errBroken) {
		t.Errorf("the commit returns %v, want %v", err, errBroken)
	}
}

type brokenIndexKV struct{ kv }

func (k brokenIndexKV) begin(writable bool) (kvTx, error) {
	tx, err := k.kv.begin(writable)
	return brokenIndexTx{tx}, err
}

type brokenIndexTx struct{ kvTx }

func (t brokenIndexTx) put(b bucket, key, value []byte) error {
	if b == bucketIndex {
		return errBroken
	}
	return t.kvTx.put(b, key, value)
}
