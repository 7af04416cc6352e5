package kv

import (
	"bytes"

	"github.com/tidwall/btree"
)

// A merged cursor walks entries in memory in front of those of another cursor. The memory
// is trees, the first of which is the one in front. An entry of a tree hides those with its
// key behind it, and one without a value is deleted.
//
// It keeps a place in each source and seeks only when it turns round, so a step costs a
// step of the sources that have the entry.
//
// The sources are few (own, active, frozen and the file), so the smallest key is found by
// comparing all of them. A heap would cost more. Most entries are those of the file between two
// of the trees: they are compared with the next one of these only (alone).
type merged struct {
	sources []source
	at      []byte // key of the entry that was returned last
	back    bool   // the places are at or before it, and not at or behind it
	alone   bool   // the base has it, and no tree has an entry between it and ahead
	ahead   []byte // the smallest key of the trees; nil: there is none
	tick    func() error
	passed  func() error // for every deleted entry, nil for not
	prefix  []byte       // where walks end
	failed  error
}

// A source is one of the things that a merged cursor walks, and the entry where it is: k is
// nil in front of the first entry, behind the last one and in front of a damaged one.
type source struct {
	k, v []byte
	base Cursor // nil: it is a tree
	tree btree.MapIter[string, *[]byte]
}

// newMerged returns a cursor over trees and base behind them. tick is called for every
// entry that is looked at, nil for not; an error ends the walk.
func newMerged(base Cursor, tick func() error, trees ...memTree) Cursor {
	m := &merged{tick: tick, sources: make([]source, 0, len(trees)+1)}
	for _, t := range trees {
		m.sources = append(m.sources, source{tree: t.Iter()})
	}
	if behind, ok := base.(*merged); ok { // of a draft: its steps would pass what is deleted behind
		m.sources = append(m.sources, behind.sources...)
		return m
	}
	m.sources = append(m.sources, source{base: base})
	return m
}

// OnPass has f called for every deleted entry that is passed, see [Passer].
func (m *merged) OnPass(f func() error) { m.passed = f }

// Within ends walks where keys with the prefix end, see [Passer].
func (m *merged) Within(prefix []byte) { m.prefix = prefix }

// Before goes to the last entry below a key. Entries from there on are not passed.
func (m *merged) Before(key []byte) (k, v []byte) {
	m.failed, m.back, m.alone = nil, true, false
	for i := range m.sources {
		m.sources[i].before(key)
	}
	return m.descend()
}

func (m *merged) Seek(key []byte) (k, v []byte) {
	m.failed = nil
	m.turn(key)
	return m.ascend()
}

func (m *merged) Last() (k, v []byte) {
	m.failed, m.back, m.alone = nil, true, false
	for i := range m.sources {
		m.sources[i].last()
	}
	return m.descend()
}

func (m *merged) Next() (k, v []byte) {
	m.failed = nil
	if m.alone {
		return m.nextAlone()
	}
	if m.back {
		m.turn(m.at)
	}
	m.pass(m.at, (*source).next)
	return m.ascend()
}

// nextAlone is Next while alone is set. That the base has an entry means that it has no error.
func (m *merged) nextAlone() (k, v []byte) {
	s := &m.sources[len(m.sources)-1]
	s.next()
	if s.k == nil || m.ahead != nil && bytes.Compare(s.k, m.ahead) >= 0 {
		return m.ascend()
	}
	if m.tick != nil {
		if m.failed = m.tick(); m.failed != nil {
			m.alone = false // the base is at an entry that was not returned
			return nil, nil
		}
	}
	m.at = s.k
	return s.k, s.v
}

func (m *merged) Prev() (k, v []byte) {
	if !m.back {
		return m.Before(m.at)
	}
	m.failed, m.alone = nil, false
	m.pass(m.at, (*source).prev)
	return m.descend()
}

// turn places the sources at a key or behind it.
func (m *merged) turn(key []byte) {
	m.back = false
	for i := range m.sources {
		m.sources[i].seek(key)
	}
}

// pass has the sources that are at a key go on.
func (m *merged) pass(key []byte, step func(*source)) {
	for i := range m.sources {
		if s := &m.sources[i]; s.k != nil && bytes.Equal(s.k, key) {
			step(s)
		}
	}
}

func (m *merged) ascend() (k, v []byte) {
	m.alone = false
	k, v = m.settle((*source).next, -1)
	base := &m.sources[len(m.sources)-1]
	if k == nil || base.k == nil || !bytes.Equal(base.k, k) {
		return k, v
	}
	m.ahead = nil
	for i := range m.sources[:len(m.sources)-1] {
		s := &m.sources[i]
		if s.k == nil {
			continue
		}
		if bytes.Equal(s.k, k) {
			return k, v // it hides that of the base
		}
		if m.ahead == nil || bytes.Compare(s.k, m.ahead) < 0 {
			m.ahead = s.k
		}
	}
	m.alone = true
	return k, v
}

func (m *merged) descend() (k, v []byte) { return m.settle((*source).prev, 1) }

// settle returns the entry that comes next among the places of the sources: the one whose
// key compares with all others as wanted, or 0. It passes over deleted ones.
func (m *merged) settle(step func(*source), wanted int) (k, v []byte) {
	for {
		if m.failed = m.base().Err(); m.failed == nil && m.tick != nil {
			m.failed = m.tick()
		}
		if m.failed != nil {
			return nil, nil
		}
		var first *source
		for i := range m.sources {
			s := &m.sources[i]
			if s.k != nil && (first == nil || bytes.Compare(s.k, first.k) == wanted) {
				first = s
			}
		}
		if first == nil || !bytes.HasPrefix(first.k, m.prefix) {
			return nil, nil
		}
		if m.at = first.k; first.v != nil {
			return first.k, first.v
		}
		if m.passed != nil {
			if m.failed = m.passed(); m.failed != nil {
				return nil, nil
			}
		}
		m.pass(first.k, step)
	}
}

func (m *merged) base() Cursor { return m.sources[len(m.sources)-1].base }

func (m *merged) Err() error { return m.failed }

func (s *source) seek(key []byte) {
	if s.base != nil {
		s.read(s.base.Seek(key))
		return
	}
	s.take(s.tree.Seek(asString(key)))
}

// before goes to the last entry before a key.
func (s *source) before(key []byte) {
	switch {
	case s.base == nil && s.tree.Seek(asString(key)):
		s.take(s.tree.Prev())
	case s.base == nil:
		s.take(s.tree.Last())
	default:
		if k, _ := s.base.Seek(key); k != nil {
			s.read(s.base.Prev())
		} else if s.k, s.v = nil, nil; s.base.Err() == nil {
			s.read(s.base.Last())
		}
	}
}

func (s *source) next() {
	if s.base != nil {
		s.read(s.base.Next())
		return
	}
	s.take(s.tree.Next())
}

func (s *source) prev() {
	if s.base != nil {
		s.read(s.base.Prev())
		return
	}
	s.take(s.tree.Prev())
}

func (s *source) last() {
	if s.base != nil {
		s.read(s.base.Last())
		return
	}
	s.take(s.tree.Last())
}

// read takes the entry that base is at. Its value is never nil, as that of a deleted one is.
func (s *source) read(k, v []byte) {
	if s.k, s.v = k, v; v == nil {
		s.v = []byte{}
	}
}

// take takes the entry that the tree is at, if there is one.
func (s *source) take(ok bool) {
	s.k, s.v = nil, nil
	if ok {
		s.k, s.v = asBytes(s.tree.Key()), *s.tree.Value()
	}
}
