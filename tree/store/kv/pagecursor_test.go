package kv

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"path/filepath"
	"testing"
)

// TestLocate: the finder of a bucket, which stays in a leaf for neighbouring keys, answers
// as a cursor that begins anew for each key.
func TestLocate(t *testing.T) {
	for _, entries := range []int{0, 1, 20, 3000} {
		k, err := openBolt(filepath.Join(t.TempDir(), "x.db"), true)
		if err != nil {
			t.Fatal(err)
		}
		defer k.Close()
		if err := k.start(); err != nil {
			t.Fatal(err)
		}
		key := func(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }
		tx := beginBolt(t, k, true)
		for n := range entries {
			if err := tx.put(Rows, key(2*n+1), bytes.Repeat([]byte{1}, 100)); err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.commit(); err != nil {
			t.Fatal(err)
		}

		tx = beginBolt(t, k, false)
		defer tx.rollback()
		open := tx.bucket(Rows)
		at := 0
		for range 5000 {
			if at = at + rand.IntN(7) - 3; rand.IntN(10) == 0 {
				at = rand.IntN(2*entries + 3)
			}
			want := key(max(at, 0))
			fresh := pageCursor{pages: &tx.pages, root: open.root}
			wantK, wantV := fresh.Seek(want)
			wantBefore, _ := fresh.before()
			gotK, gotV := open.finder.locate(want)
			gotBefore, _ := open.finder.before()
			if !bytes.Equal(gotK, wantK) || !bytes.Equal(gotV, wantV) || !bytes.Equal(gotBefore, wantBefore) {
				t.Fatalf("of %d entries, locate(%d) is at %x behind %x, want %x behind %x", entries, at, gotK, gotBefore, wantK, wantBefore)
			}
			if got, want := open.finder.home, fresh.home; got.page.id != want.page.id || !bytes.Equal(got.first, want.first) || !bytes.Equal(got.next, want.next) {
				t.Fatalf("of %d entries, %d belongs to page %d, want %d", entries, at, got.page.id, want.page.id)
			}
		}
	}
}

func beginBolt(t *testing.T, k *boltKV, writable bool) *boltTx {
	t.Helper()
	tx, err := k.begin(writable)
	if err != nil {
		t.Fatal(err)
	}
	return tx
}
