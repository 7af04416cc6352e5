package sync

import (
	"container/list"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/trie"
	"github.com/dogwooddb/dogwood/tree"
)

// A fingerprint is what the condition of a write needs to know about one value. It
// is true until a write touches the value.
type fingerprint struct {
	path   tree.Path
	size   int64 // bytes of the value as text
	over   bool  // the value has more than size bytes, and no hashes
	hash   string
	hashJS string

	rules  *rules.Ruleset // with whose .limit the value was compared
	excess *rules.Excess  // nil: the value is within the limits

	stale bool          // a write touched the value
	place *list.Element // in hashes.order; nil: not remembered
}

// newFingerprint hashes a value.
func newFingerprint(p tree.Path, n tree.Node) *fingerprint {
	return &fingerprint{path: p, size: int64(len(n.Text())), hash: n.Hash(), hashJS: n.HashJS()}
}

func (f *fingerprint) matches(hash string) bool { return f.hash == hash || f.hashJS == hash }

// answers reports whether f is enough to decide about the condition of a caller
// that may compare up to most bytes.
func (f *fingerprint) answers(most int64, rs *rules.Ruleset) bool {
	return f.rules == rs && (!f.over || f.size >= most)
}

// maxHashes bounds the fingerprints that a database remembers.
const maxHashes = 256

// Hashes remembers the fingerprints of the values that conditions are about, so
// that repeated conditions do not read and hash a value again. A database's mu
// guards it.
type hashes struct {
	watched trie.Trie[*fingerprint] // those that writes make stale
	byPath  map[tree.Path]*fingerprint
	order   list.List // of byPath; the most recently used first
}

// find returns the fingerprint of the value at p, nil if it is not known.
func (h *hashes) find(p tree.Path) *fingerprint {
	f := h.byPath[p]
	if f != nil {
		h.order.MoveToFront(f.place)
	}
	return f
}

// watch notes whether a write touches the value of f from now on.
func (h *hashes) watch(f *fingerprint) { h.watched.Add(f.path, f) }

// keep remembers a fingerprint that is watched, in place of the one before and of
// the least recently used.
func (h *hashes) keep(f *fingerprint) {
	if f.stale {
		return
	}
	if old := h.byPath[f.path]; old != nil {
		h.drop(old)
	}
	if len(h.byPath) >= maxHashes {
		h.drop(h.order.Back().Value.(*fingerprint))
	}
	if h.byPath == nil {
		h.byPath = make(map[tree.Path]*fingerprint)
	}
	h.byPath[f.path], f.place = f, h.order.PushFront(f)
}

// drop forgets a fingerprint and no longer watches it.
func (h *hashes) drop(f *fingerprint) {
	if f.stale {
		return
	}
	f.stale = true
	h.watched.Remove(f.path, f)
	if f.place != nil {
		h.order.Remove(f.place)
		delete(h.byPath, f.path)
	}
}

// touch drops the fingerprints of the values that writes may change: those at, above
// and below a target. Each is dropped once, so this costs no more than making it.
func (h *hashes) touch(writes []tree.ResolvedWrite) {
	for _, w := range writes {
		if h.watched.None() {
			return
		}
		var touched []*fingerprint
		for f := range h.watched.Above(w.Path) {
			touched = append(touched, f)
		}
		for f := range h.watched.Below(w.Path) {
			touched = append(touched, f)
		}
		for _, f := range touched {
			h.drop(f)
		}
	}
}
