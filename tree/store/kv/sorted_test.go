package kv

import (
	"bytes"
	"errors"
	"testing"
)

// A watched transaction notes the keys that are put into the index bucket.
type watched struct {
	Tx
	puts *[][]byte
}

func (t watched) Put(b Bucket, key, value []byte) error {
	if b == Index {
		*t.puts = append(*t.puts, bytes.Clone(key))
	}
	return t.Tx.Put(b, key, value)
}

// TestSortedWrites: of changes of one key the last one counts, and a reader sees all
// of them.
func TestSortedWrites(t *testing.T) {
	s := NewMemory()
	below, err := s.Begin(true)
	if err != nil {
		t.Fatal(err)
	}
	var puts [][]byte
	tx := SortWrites(watched{below, &puts})
	defer tx.Rollback()
	change := func(key string, put bool) {
		t.Helper()
		var err error
		if put {
			err = tx.Put(Index, []byte(key), nil)
		} else {
			err = tx.Delete(Index, []byte(key))
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
	if len(puts) != 0 {
		t.Errorf("%q were passed on before a read", puts)
	}
	a, errA := tx.Get(Index, []byte("a"))
	b, errB := tx.Get(Index, []byte("b"))
	if a == nil || b != nil || errA != nil || errB != nil {
		t.Error("Get does not see what was held back")
	}
	if got := string(bytes.Join(puts, nil)); got != "acd" {
		t.Errorf("keys were put in the order %q, want acd", got)
	}
	change("a", false)
	if k, _ := tx.Cursor(Index).Seek([]byte("a")); string(k) != "c" {
		t.Errorf("a cursor finds %q, want c", k)
	}
	change("0", true)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	after, err := s.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	defer after.Rollback()
	if v, err := after.Get(Index, []byte("0")); v == nil || err != nil {
		t.Error("the commit forgot what was held back")
	}
}

var errBroken = errors.New("broken")

// A broken transaction cannot put into the index bucket.
type broken struct{ Tx }

func (t broken) Put(b Bucket, key, value []byte) error {
	if b == Index {
		return errBroken
	}
	return t.Tx.Put(b, key, value)
}

// TestSortedWritesFail: what fails while it is passed on fails the commit.
func TestSortedWritesFail(t *testing.T) {
	below, err := NewMemory().Begin(true)
	if err != nil {
		t.Fatal(err)
	}
	tx := SortWrites(broken{below})
	defer tx.Rollback()
	if err := tx.Put(Index, []byte("a"), nil); err != nil {
		t.Fatal(err)
	}
	_, _ = tx.Get(Index, []byte("a")) // passes it on
	if err := tx.Commit(); !errors.Is(err, errBroken) {
		t.Errorf("the commit returns %v, want %v", err, errBroken)
	}
}
