package sync

import (
	"iter"
	"maps"
)

// A listenSet is the listens of a session by their keys. Most sessions of many have one, for
// which a map would be large.
type listenSet struct {
	one  *listen // nil: none, or all are in more
	more map[listenKey]*listen
}

func (s *listenSet) size() int {
	if s.one != nil {
		return 1
	}
	return len(s.more)
}

// at returns a listen, nil if there is none.
func (s *listenSet) at(key listenKey) *listen {
	if s.one != nil && s.one.key == key {
		return s.one
	}
	return s.more[key]
}

// add adds a listen with a key that no other has.
func (s *listenSet) add(l *listen) {
	if s.size() == 0 && s.more == nil {
		s.one = l
		return
	}
	if s.more == nil {
		s.more = map[listenKey]*listen{s.one.key: s.one}
		s.one = nil
	}
	s.more[l.key] = l
}

// remove removes a listen, which may be done while all yields it.
func (s *listenSet) remove(l *listen) {
	if s.one == l {
		s.one = nil
		return
	}
	delete(s.more, l.key)
}

func (s *listenSet) all() iter.Seq[*listen] {
	if s.one == nil {
		return maps.Values(s.more)
	}
	return func(yield func(*listen) bool) { yield(s.one) }
}
