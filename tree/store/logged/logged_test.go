package logged

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A machine is a store with its log, in a directory.
type machine struct {
	t     *testing.T
	dir   string
	o     Options
	keep  int64 // of the log
	log   *Log
	store *Store
}

func start(t *testing.T, dir string, o Options) *machine {
	t.Helper()
	m := &machine{t: t, dir: dir, o: o}
	m.open()
	return m
}

func (m *machine) open() {
	m.t.Helper()
	var err error
	if m.log, err = OpenLog(filepath.Join(m.dir, "log"), LogOptions{SegmentBytes: 64 << 10, KeepBytes: m.keep}); err != nil {
		m.t.Fatal(err)
	}
	f, err := kv.OpenFile(filepath.Join(m.dir, "a.db"), kv.FileOptions{NoSync: true})
	if err == nil {
		err = f.Start()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	if m.store, err = Open(f, m.log, m.o); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) stop() {
	m.t.Helper()
	if err := m.store.Close(); err != nil {
		m.t.Error(err)
	}
	if err := m.log.Close(); err != nil {
		m.t.Error(err)
	}
}

// remove removes the directory of a machine that was stopped. A test makes thousands of them,
// each with a file of megabytes, and TMPDIR may be memory.
func (m *machine) remove() {
	m.t.Helper()
	if err := os.RemoveAll(m.dir); err != nil {
		m.t.Error(err)
	}
}

// killed returns a machine with what the files are now, as after the end of the process.
func (m *machine) killed() *machine {
	m.t.Helper()
	dir := m.t.TempDir()
	// Not while something is applied: the copy is not taken at one moment.
	m.store.started.Wait()
	if err := os.CopyFS(dir, os.DirFS(m.dir)); err != nil {
		m.t.Fatal(err)
	}
	next := &machine{t: m.t, dir: dir, o: m.o, keep: m.keep}
	next.open()
	return next
}

var testBuckets = []kv.Bucket{kv.Rows, kv.Index, kv.Meta}

// change makes changes in a transaction and in a model of it.
func change(t *testing.T, rnd *rand.Rand, tx kv.Tx, model map[string]string) {
	t.Helper()
	for range 1 + rnd.IntN(20) {
		b, key := testBuckets[rnd.IntN(len(testBuckets))], fmt.Sprint("k", rnd.IntN(60))
		var err error
		if rnd.IntN(3) == 0 {
			delete(model, string(b)+key)
			err = tx.Delete(b, []byte(key))
		} else {
			value := strings.Repeat("v", rnd.IntN(200)) + fmt.Sprint(rnd.Uint64())
			model[string(b)+key] = value
			err = tx.Put(b, []byte(key), []byte(value))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// compare compares all that a transaction shows with a model, forwards and backwards.
func compare(t *testing.T, tx kv.Tx, model map[string]string) {
	t.Helper()
	shown := make(map[string]string)
	for _, b := range testBuckets {
		var keys []string
		c := tx.Cursor(b)
		for k, v := c.Seek([]byte("k")); k != nil && strings.HasPrefix(string(k), "k"); k, v = c.Next() {
			keys = append(keys, string(k))
			shown[string(b)+string(k)] = string(v)
			got, err := tx.Get(b, k)
			if err != nil || string(got) != string(v) {
				t.Fatalf("%c %s: %q, and %q by a cursor: %v", b, k, got, v, err)
			}
		}
		if err := c.Err(); err != nil {
			t.Fatal(err)
		}
		var back []string
		for k, _ := c.Last(); k != nil; k, _ = c.Prev() {
			if strings.HasPrefix(string(k), "k") {
				back = append(back, string(k))
			}
		}
		slices.Reverse(back)
		if !slices.Equal(keys, back) {
			t.Fatalf("bucket %c: %v forwards, %v backwards", b, keys, back)
		}
	}
	if !maps.Equal(shown, model) {
		t.Fatalf("shown %d entries, want %d", len(shown), len(model))
	}
}

// TestModel: whatever is committed, rolled back, applied, killed and opened again, a store
// shows what a map has, and each snapshot what the map had at its beginning.
func TestModel(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	for _, freeze := range []int64{1 << 10, 64 << 10, 8 << 20} {
		t.Run(fmt.Sprint(freeze), func(t *testing.T) {
			t.Parallel()
			for seed := range tier.Pick[uint64](1, 2, 200) {
				run(t, rand.New(rand.NewPCG(seed, 1)), Options{FreezeBytes: freeze})
			}
		})
	}
}

func run(t *testing.T, rnd *rand.Rand, o Options) {
	t.Helper()
	m := start(t, t.TempDir(), o)
	model := make(map[string]string)
	type snapshot struct {
		tx    kv.Tx
		model map[string]string
	}
	var snapshots []snapshot
	end := func() {
		for _, s := range snapshots {
			compare(t, s.tx, s.model)
			s.tx.Rollback()
		}
		snapshots = nil
	}
	for range 80 {
		switch rnd.IntN(13) {
		case 0:
			tx, err := m.store.Begin(false)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, tx, model)
			snapshots = append(snapshots, snapshot{tx, maps.Clone(model)})
		case 1:
			end()
		case 2:
			if err := m.store.Apply(); err != nil {
				t.Fatal(err)
			}
		case 11:
			tx, err := m.store.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			compare(t, tx, model)
			if needs, err := kv.NeedsLog(tx); needs || err != nil {
				t.Fatal("a snapshot that needs the log", err)
			}
			snapshots = append(snapshots, snapshot{tx, maps.Clone(model)})
		case 3:
			end()
			next := m.killed()
			m.stop()
			m.remove()
			m = next
		case 4:
			end()
			m.stop()
			m.open()
		default:
			tx, err := m.store.Begin(true)
			if err != nil {
				t.Fatal(err)
			}
			next := maps.Clone(model)
			change(t, rnd, tx, next)
			compare(t, tx, next)
			if rnd.IntN(5) == 0 {
				tx.Rollback()
			} else if err := tx.Commit(); err != nil {
				t.Fatal(err)
			} else {
				model = next
			}
		}
	}
	end()
	m.stop()
	m.remove()
}

// TestLargeCommit: a commit that is too large for the log is in the file at once, behind
// those before it.
func TestLargeCommit(t *testing.T) {
	m := start(t, t.TempDir(), Options{})
	put := func(size int) {
		t.Helper()
		tx, err := m.store.Begin(true)
		if err == nil {
			err = tx.Put(kv.Rows, []byte("a"), make([]byte, size))
		}
		if err == nil {
			err = tx.Commit()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	wants := func(m *machine, size int) {
		t.Helper()
		tx, err := m.store.Begin(false)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if v, err := tx.Get(kv.Rows, []byte("a")); len(v) != size || err != nil {
			t.Errorf("%d bytes, want %d: %v", len(v), size, err)
		}
	}
	put(10)
	put(maxRows)
	wants(m, maxRows)
	if m.store.unapplied() > 0 {
		t.Error("something is not in the file")
	}
	put(20)
	next := m.killed()
	wants(next, 20)
	next.stop()
	m.stop()
}

// TestReadersWhileApplying: readers that scan while everything is applied all the time see
// one state each: all keys have the same value.
func TestReadersWhileApplying(t *testing.T) {
	m := start(t, t.TempDir(), Options{FreezeBytes: 1 << 10})
	const keys = 20
	set := func(n int) {
		tx, err := m.store.Begin(true)
		if err != nil {
			t.Error(err)
			return
		}
		defer tx.Rollback()
		for k := range keys {
			_ = tx.Put(kv.Rows, fmt.Append(nil, "k", k), fmt.Append(nil, n))
		}
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
	}
	set(0)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for last := 0; ; {
				select {
				case <-done:
					return
				default:
				}
				tx, err := m.store.Begin(false)
				if err != nil {
					t.Error(err)
					return
				}
				first, c, n := "", tx.Cursor(kv.Rows), 0
				for k, v := c.Seek([]byte("k")); k != nil; k, v = c.Next() {
					if n++; n == 1 {
						first = string(v)
					}
					if string(v) != first {
						t.Errorf("%s has %s, another key %s", k, v, first)
					}
				}
				tx.Rollback()
				now := 0
				if fmt.Sscan(first, &now); n != keys || now < last {
					t.Errorf("%d keys with %s, after %d", n, first, last)
				}
				last = now
			}
		})
	}
	for n := range tier.Pick(150, 500, 500) {
		set(n + 1)
	}
	close(done)
	wg.Wait()
	m.stop()
}

// TestOtherLog: a file that needs its log is refused with another one, and by a program that
// knows no logs.
func TestOtherLog(t *testing.T) {
	m := start(t, t.TempDir(), Options{})
	tx, err := m.store.Begin(true)
	if err == nil {
		err = tx.Put(kv.Rows, []byte("a"), []byte("1"))
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
	next := m.killed()
	defer next.stop()
	m.stop()
	tx, err = next.store.file.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if needs, err := kv.NeedsLog(tx); !needs || err != nil {
		t.Error("the file does not say that it needs the log", err)
	}
	other, err := OpenLog(t.TempDir(), LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := Open(next.store.file, other, Options{}); err == nil || !strings.Contains(err.Error(), "another log") {
		t.Error(err)
	}
}

// FuzzDecodeRows: any bytes are rows that are written as the same entries, or an error.
func FuzzDecodeRows(f *testing.F) {
	layer := new(kv.Layer)
	layer.Put(kv.Rows, []byte("a"), []byte("1"))
	layer.Delete(kv.Index, []byte("b"))
	f.Add(encodeRows(7, layer))
	f.Fuzz(func(t *testing.T, b []byte) {
		layer := new(kv.Layer)
		previous, err := decodeRows(b, layer.Set)
		if err != nil {
			return
		}
		again := new(kv.Layer)
		if p, err := decodeRows(encodeRows(previous, layer), again.Set); err != nil || p != previous {
			t.Fatal(p, err)
		}
		if !slices.EqualFunc(slices.Collect(layer.All()), slices.Collect(again.All()), func(a, b kv.Entry) bool {
			return a.Bucket == b.Bucket && string(a.Key) == string(b.Key) && string(a.Value) == string(b.Value) && (a.Value == nil) == (b.Value == nil)
		}) {
			t.Error("other entries")
		}
	})
}
