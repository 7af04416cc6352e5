// Package fingerprint remembers the hashes of the values that the conditions of writes are
// about, so that repeated conditions do not read and hash a value again.
package fingerprint

import (
	"container/list"
	"errors"
	"sync"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/trie"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A Fingerprint is what the condition of a write needs to know about one value. It
// is true until a write touches the value.
type Fingerprint struct {
	Path   tree.Path
	size   int64 // bytes of the value as text
	over   bool  // the value has more than size bytes, and no hashes
	hash   string
	hashJS string

	rules  *rules.Ruleset // with whose .limit the value was compared
	excess *rules.Excess  // nil: the value is within the limits

	stale bool          // a write touched the value
	place *list.Element // in Cache.order; nil: not remembered
}

// Decide is the outcome of a condition that says which hash the value has, for a caller that
// may compare up to most bytes; stale is that of a value that differs.
func (f *Fingerprint) Decide(hash string, admin bool, most int64, stale error) error {
	switch {
	case f.over || f.size > most:
		return fault.ErrTooBig
	case f.excess != nil && !admin:
		return &fault.UnboundedError{Excess: f.excess}
	case f.hash != hash && f.hashJS != hash:
		return stale
	}
	return nil
}

// Read fills in a fingerprint from a snapshot, of a value of up to most bytes.
func (f *Fingerprint) Read(tx *store.Tx, most int64, rs *rules.Ruleset) error {
	n, err := tx.GetLimit(f.Path, most)
	if errors.Is(err, store.ErrTooBig) {
		f.rules, f.size, f.over = rs, most, true
		return nil
	}
	if err != nil {
		return err
	}
	return f.Set(n, tx, rs)
}

// Set makes f the fingerprint of a value, and compares that with the limits of the rules.
func (f *Fingerprint) Set(n tree.Node, tx *store.Tx, rs *rules.Ruleset) (err error) {
	f.size, f.hash, f.hashJS, f.rules = int64(len(n.Text())), n.Hash(), n.HashJS(), rs
	f.excess, err = rs.Excess(tx, f.Path, tree.Query{}, false)
	return err
}

// Answers reports whether f is enough to decide about the condition of a caller
// that may compare up to most bytes.
func (f *Fingerprint) Answers(most int64, rs *rules.Ruleset) bool {
	return f.rules == rs && (!f.over || f.size >= most)
}

// Max bounds the fingerprints that a Cache remembers.
const Max = 256

// A Cache remembers the fingerprints of the values that conditions are about, so
// that repeated conditions do not read and hash a value again. The lock that orders
// commits guards it, but for Has.
type Cache struct {
	watched trie.Trie[*Fingerprint] // those that writes make stale
	mu      sync.RWMutex            // held to change byPath, and by Has
	byPath  map[tree.Path]*Fingerprint
	order   list.List // of byPath; the most recently used first
}

// Has reports whether the fingerprint is known of a value at p that has more than size bytes
// as text. It waits for no commit, which may change that at any time.
func (h *Cache) Has(p tree.Path, size int64) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	f := h.byPath[p]
	return f != nil && f.size > size
}

// Find returns the fingerprint of the value at p, nil if it is not known.
func (h *Cache) Find(p tree.Path) *Fingerprint {
	f := h.byPath[p]
	if f != nil {
		h.order.MoveToFront(f.place)
	}
	return f
}

// Watch notes whether a write touches the value of f from now on.
func (h *Cache) Watch(f *Fingerprint) { h.watched.Add(f.Path, f) }

// Keep remembers a fingerprint that is watched, in place of the one before and of
// the least recently used.
func (h *Cache) Keep(f *Fingerprint) {
	if f.stale {
		return
	}
	if old := h.byPath[f.Path]; old != nil {
		h.Drop(old)
	}
	if len(h.byPath) >= Max {
		h.Drop(h.order.Back().Value.(*Fingerprint))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byPath == nil {
		h.byPath = make(map[tree.Path]*Fingerprint)
	}
	h.byPath[f.Path], f.place = f, h.order.PushFront(f)
}

// Drop forgets a fingerprint and no longer watches it.
func (h *Cache) Drop(f *Fingerprint) {
	if f.stale {
		return
	}
	f.stale = true
	h.watched.Remove(f.Path, f)
	if f.place != nil {
		h.order.Remove(f.place)
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.byPath, f.Path)
	}
}

// Touch drops the fingerprints of the values that writes may change: those at, above
// and below a target. Each is dropped once, so this costs no more than making it.
func (h *Cache) Touch(writes []tree.ResolvedWrite) {
	for _, w := range writes {
		if h.watched.None() {
			return
		}
		var touched []*Fingerprint
		for f := range h.watched.Above(w.Path) {
			touched = append(touched, f)
		}
		for f := range h.watched.Below(w.Path) {
			touched = append(touched, f)
		}
		for _, f := range touched {
			h.Drop(f)
		}
	}
}
