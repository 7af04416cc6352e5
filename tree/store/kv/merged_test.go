package kv

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A mergedModel is a merged cursor and a sorted list of what it should show.
type mergedModel struct {
	t       *testing.T
	cursor  Cursor
	entries []string // key=value, sorted
	at      int      // of the entry that was returned last; -1: none
}

// newMergedModel puts entries into a store and two trees in front of it.
func newMergedModel(t *testing.T, choose func(n int) int) *mergedModel {
	shown := make(map[string]string)
	base := NewMemory()
	update(t, base, func(tx Tx) error {
		for range choose(20) {
			k, v := fmt.Sprint(choose(30)), fmt.Sprint(choose(3))
			shown[k] = v
			if err := tx.Put(Rows, []byte(k), []byte(v)); err != nil {
				return err
			}
		}
		return nil
	})
	trees := []memTree{newMemTree(), newMemTree()}
	for _, tree := range slices.Backward(trees) {
		for range choose(12) {
			k := fmt.Sprint(choose(30))
			if choose(2) == 0 {
				tree.Set(k, new([]byte))
				delete(shown, k)
				continue
			}
			shown[k] = fmt.Sprint(choose(3), "above")
			putCopy(tree, []byte(k), []byte(shown[k]))
		}
	}
	tx, err := base.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	m := &mergedModel{t: t, at: -1}
	if behind := tx.Cursor(Rows); choose(2) == 0 { // as in a draft
		m.cursor = newMerged(newMerged(behind, nil, trees[1]), func() error { return nil }, trees[0])
	} else {
		m.cursor = newMerged(behind, func() error { return nil }, trees...)
	}
	for k, v := range shown {
		m.entries = append(m.entries, k+"="+v)
	}
	slices.SortFunc(m.entries, func(a, b string) int { return strings.Compare(keyOf(a), keyOf(b)) })
	return m
}

// keyOf returns the key of an entry.
func keyOf(entry string) string {
	key, _, _ := strings.Cut(entry, "=")
	return key
}

// find returns where the first entry is that is not below a key.
func (m *mergedModel) find(key string) int {
	at, _ := slices.BinarySearchFunc(m.entries, key, func(e, key string) int { return strings.Compare(keyOf(e), key) })
	return at
}

// step takes a step with the cursor, and compares.
func (m *mergedModel) step(choose func(n int) int) {
	m.t.Helper()
	var k, v []byte
	var did string
	to := m.at
	switch n := choose(7); {
	case n == 0:
		key := fmt.Sprint(choose(32))
		did = "Seek " + key
		k, v = m.cursor.Seek([]byte(key))
		to = m.find(key)
	case n == 6:
		key := fmt.Sprint(choose(32))
		did = "Before " + key
		k, v = m.cursor.(Passer).Before([]byte(key))
		to = m.find(key) - 1
	case n == 1:
		did = "Last"
		k, v = m.cursor.Last()
		to = len(m.entries) - 1
	case m.at < 0 || m.at >= len(m.entries):
		return // the cursor has no place
	case n < 4:
		did = "Next"
		k, v = m.cursor.Next()
		to++
	default:
		did = "Prev"
		k, v = m.cursor.Prev()
		to--
	}
	want := ""
	if to >= 0 && to < len(m.entries) {
		want = m.entries[to]
	}
	got := ""
	if k != nil {
		got = string(k) + "=" + string(v)
	}
	if got != want || m.cursor.Err() != nil {
		m.t.Fatalf("%s from %d of %v: %q, want %q", did, m.at, m.entries, got, want)
	}
	m.at = to
}

// TestMergedCursor: a merged cursor shows what a sorted list of the same entries does,
// whichever way it goes.
func TestMergedCursor(t *testing.T) {
	for seed := range uint64(3000) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		m := newMergedModel(t, rnd.IntN)
		for range 60 {
			m.step(rnd.IntN)
		}
	}
}

// TestMergedCursorWithin: a walk within a prefix shows all entries with it, and passes no deleted entries
// behind them.
func TestMergedCursorWithin(t *testing.T) {
	const prefix = "2"
	for seed := range uint64(1000) {
		m := newMergedModel(t, rand.New(rand.NewPCG(seed, 3)).IntN)
		var want, up, down []string
		for _, e := range m.entries {
			if strings.HasPrefix(e, prefix) {
				want = append(want, e)
			}
		}
		c := m.cursor.(*merged)
		c.Within([]byte(prefix))
		c.OnPass(func() error {
			if !strings.HasPrefix(string(c.at), prefix) {
				t.Fatalf("seed %d: %s was passed", seed, c.at)
			}
			return nil
		})
		for k, v := c.Seek([]byte(prefix)); strings.HasPrefix(string(k), prefix); k, v = c.Next() {
			up = append(up, string(k)+"="+string(v))
		}
		for k, v := c.Before([]byte(prefix + "~")); strings.HasPrefix(string(k), prefix); k, v = c.Prev() {
			down = append(down, string(k)+"="+string(v))
		}
		slices.Reverse(down)
		if !slices.Equal(up, want) || !slices.Equal(down, want) {
			t.Fatalf("seed %d: up %v, down %v, want %v", seed, up, down, want)
		}
	}
}

// TestFinder: a finder finds what there is, and nothing else, for keys that ascend.
func TestFinder(t *testing.T) {
	for seed := range uint64(1000) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		m := newMergedModel(t, rnd.IntN)
		f := NewFinder(m.cursor)
		for n := range 100 {
			key := fmt.Sprintf("%d", n/10)
			if n%10 > 0 {
				key += fmt.Sprint(n % 10)
			}
			if rnd.IntN(3) > 0 {
				continue
			}
			v, err := f.Find([]byte(key))
			want := ""
			if at := m.find(key); at < len(m.entries) && keyOf(m.entries[at]) == key {
				want = strings.TrimPrefix(m.entries[at], key+"=")
			}
			if err != nil || string(v) != want {
				t.Fatalf("seed %d: %s is %q, %v, want %q", seed, key, v, err, want)
			}
		}
	}
}

// FuzzMergedCursor is TestMergedCursor with choices that are sought.
func FuzzMergedCursor(f *testing.F) {
	f.Add([]byte("a cursor that goes this way and that"))
	f.Fuzz(func(t *testing.T, choices []byte) {
		choose := func(n int) int {
			if len(choices) == 0 {
				return 0
			}
			c := int(choices[0]) % n
			choices = choices[1:]
			return c
		}
		m := newMergedModel(t, choose)
		for len(choices) > 0 {
			m.step(choose)
		}
	})
}

// TestMergedCursorFails: an error of a source ends the walk and is told.
func TestMergedCursorFails(t *testing.T) {
	m := newMergedModel(t, func(n int) int { return n - 1 })
	failure := errors.New("no")
	m.cursor.(*merged).tick = func() error { return failure }
	if k, _ := m.cursor.Seek(nil); k != nil || !errors.Is(m.cursor.Err(), failure) {
		t.Error(k, m.cursor.Err())
	}
}

// TestMergedCursorGoesOn: after an error between two entries, a walk goes on where it was.
func TestMergedCursorGoesOn(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		m := newMergedModel(t, rnd.IntN)
		fails := false
		m.cursor.(*merged).tick = func() error {
			if fails = !fails; fails {
				return errors.New("no")
			}
			return nil
		}
		var got []string
		for k, v := m.cursor.Seek(nil); k != nil || m.cursor.Err() != nil; k, v = m.cursor.Next() {
			if k != nil {
				got = append(got, string(k)+"="+string(v))
			}
		}
		if !slices.Equal(got, m.entries) {
			t.Fatalf("seed %d: %v, want %v", seed, got, m.entries)
		}
	}
}
