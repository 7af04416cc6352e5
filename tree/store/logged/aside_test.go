package logged

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// putBeside puts a row that nothing refers to.
func (m *machine) putBeside(key, value string) {
	m.t.Helper()
	err := Aside(m.store, 1<<10, func(tx kv.Tx) error { return tx.Put(kv.Rows, []byte(key), []byte(value)) })
	if err != nil {
		m.t.Fatal(err)
	}
}

// commit calls f with a write transaction and commits it.
func (m *machine) commit(f func(tx *Tx) error) {
	m.t.Helper()
	tx, err := m.store.Begin(true)
	if err != nil {
		m.t.Fatal(err)
	}
	defer tx.Rollback()
	if err := f(tx.(*Tx)); err != nil {
		m.t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		m.t.Fatal(err)
	}
}

// bypass commits what goes by the log.
func (m *machine) bypass(key, value string) {
	m.t.Helper()
	m.commit(func(tx *Tx) error {
		tx.Dense()
		return tx.Put(kv.Rows, []byte(key), []byte(value))
	})
}

// wants compares what transactions show with a model, and the rows that were stored past the
// log before a commit that bypassed it.
func (m *machine) wants(model, rows map[string]string) {
	m.t.Helper()
	for _, writable := range []bool{false, true} {
		tx, err := m.store.Begin(writable)
		if err != nil {
			m.t.Fatal(err)
		}
		compare(m.t, tx, model)
		for key, want := range rows {
			if v, err := tx.Get(kv.Rows, []byte(key)); string(v) != want || err != nil {
				m.t.Errorf("%s is %q, want %q: %v", key, v, want, err)
			}
		}
		tx.Rollback()
	}
}

// TestBeside: whatever is committed, stored past the log, applied and killed in between, commits
// are what a map has, and rows past the log are there for all that begins behind a commit that
// bypasses it.
func TestBeside(t *testing.T) {
	for _, freeze := range []int64{1 << 10, 8 << 20} {
		for seed := range tier.Pick[uint64](2, 3, 150) {
			rnd := rand.New(rand.NewPCG(seed, 2))
			m := start(t, t.TempDir(), Options{FreezeBytes: freeze})
			model, rows, coming := make(map[string]string), make(map[string]string), make(map[string]string)
			for n := range 60 {
				switch rnd.IntN(8) {
				case 0, 1:
					key := fmt.Sprint("z", n)
					coming[key] = strings.Repeat("r", rnd.IntN(3000))
					m.putBeside(key, coming[key])
				case 2:
					model[string(kv.Rows)+"k link"] = fmt.Sprint(n)
					m.bypass("k link", fmt.Sprint(n))
					maps.Copy(rows, coming)
					clear(coming)
				case 3:
					next := m.killed()
					m.stop()
					m.remove()
					m = next
					clear(coming) // they may be there, and nothing will refer to them
				case 4:
					if err := m.store.Apply(); err != nil {
						t.Fatal(err)
					}
				case 5:
					m.commit(func(tx *Tx) error { // a piece: it has no rows
						tx.SetChange([]byte("piece"))
						return nil
					})
				default:
					m.commit(func(tx *Tx) error { change(t, rnd, tx, model); return nil })
				}
				m.wants(model, rows)
				if t.Failed() {
					t.Fatalf("freeze %d, seed %d, step %d", freeze, seed, n)
				}
			}
			m.stop()
			m.remove()
		}
	}
}

// TestBesideTakesNoWriter: rows are stored past the log while a write transaction is open, which
// does not see them, and commits come through the log while rows are stored.
func TestBesideTakesNoWriter(t *testing.T) {
	m := start(t, t.TempDir(), Options{})
	defer m.stop()
	m.must(m.put("k1"))
	m.commit(func(tx *Tx) error {
		m.putBeside("z", "row")
		if v, err := tx.Get(kv.Rows, []byte("z")); v != nil || err != nil {
			t.Errorf("the transaction sees %q: %v", v, err)
		}
		return tx.Put(kv.Rows, []byte("k2"), []byte("v"))
	})
	err := Aside(m.store, 1<<10, func(tx kv.Tx) error {
		m.must(m.put("k3"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	m.bypass("k4", "v")
	n := string(kv.Rows)
	m.wants(map[string]string{n + "k1": "1", n + "k2": "v", n + "k3": "1", n + "k4": "v"}, map[string]string{"z": "row"})
}

// TestBesideFails: a transaction past the log that fails leaves nothing.
func TestBesideFails(t *testing.T) {
	m := start(t, t.TempDir(), Options{})
	defer m.stop()
	failed := errors.New("failed")
	err := Aside(m.store, 1<<10, func(tx kv.Tx) error { return errors.Join(tx.Put(kv.Rows, []byte("z"), []byte("row")), failed) })
	if !errors.Is(err, failed) {
		t.Fatal(err)
	}
	m.bypass("k", "v")
	m.wants(map[string]string{string(kv.Rows) + "k": "v"}, map[string]string{"z": ""})
}

// TestBesideOlderFile: a copy of the file without the rows does not fit the log when something
// may refer to them.
func TestBesideOlderFile(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	m := start(t, t.TempDir(), Options{})
	m.must(m.put("k1"))
	dir := t.TempDir()
	m.copied("a.db", dir)
	m.putBeside("z", "row")
	m.bypass("k2", "v")
	m.must(m.put("k3"))
	next := m.killed()
	n := string(kv.Rows)
	next.wants(map[string]string{n + "k1": "1", n + "k2": "v", n + "k3": "1"}, map[string]string{"z": "row"})
	m.copied("log", dir)
	next.stop()
	m.stop()
	log, err := OpenLog(filepath.Join(dir, "log"), LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	f, err := kv.OpenFile(filepath.Join(dir, "a.db"), kv.FileOptions{NoSync: true})
	if err == nil {
		err = f.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := Open(f, log, Options{}); !errors.Is(err, ErrUnfit) {
		t.Errorf("an older file: %v", err)
	}
}

// TestBesideReleases: the log does not grow with the pieces of an import, whether or not others
// commit meanwhile.
func TestBesideReleases(t *testing.T) {
	for _, others := range []bool{false, true} {
		m := start(t, t.TempDir(), Options{})
		piece, model := []byte(strings.Repeat("p", 30<<10)), make(map[string]string)
		most := int64(0)
		for n := range 400 {
			m.commit(func(tx *Tx) error {
				tx.SetChange(piece)
				return nil
			})
			if n%4 == 3 {
				m.putBeside(fmt.Sprint("z", n), "row")
			}
			if others && n%10 == 0 {
				key := fmt.Sprint("k", n)
				model[string(kv.Rows)+key] = "1"
				m.must(m.put(key))
			}
			most = max(most, m.log.Stats().Bytes)
		}
		if bound := int64(2*4*besideInTurn*len(piece) + 1<<20); most > bound {
			t.Errorf("with others %t: the log had %d bytes, want at most %d", others, most, bound)
		}
		next := m.killed()
		next.wants(model, nil)
		next.stop()
		m.stop()
	}
}
