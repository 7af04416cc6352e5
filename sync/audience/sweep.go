package audience

import (
	"github.com/dogwooddb/dogwood/sync/trie"
	"github.com/dogwooddb/dogwood/tree"
)

// A write above very many places that grants have read makes all of these grants stale, and does not
// look for them. It is noted at its path, with a number, and each grant has the number of its last
// decision: a grant is stale if a sweep above one of its places has a greater one. The slices that
// follow find these grants, as they go through all of them from the one that was decided first.

// maxSwept is how many grants one slice goes through to find one that is stale.
const maxSwept = 1024

// Sweeps are the writes that have made all grants stale which had read something below.
type sweeps struct {
	above        trie.Trie[*sweep]
	last         uint64 // number of the last one
	first, final *grant // that depend on anything, in the order of their numbers
}

type sweep struct{ number uint64 }

// An aging is the place of a grant among those that depend on anything.
type aging struct {
	decided      uint64 // number of the last sweep when it was
	older, newer *grant
}

func (s *sweeps) isSweeping() bool { return !s.above.None() }

// sweep makes all grants stale that have read something at p or below it. It need not be undone, like
// makeStale.
func (s *sweeps) sweep(p tree.Path) {
	s.last++
	n := s.above.At(p.Clone()) // not a part of the request
	if len(n.Items) == 0 {
		n.Items = append(n.Items, new(sweep))
	}
	n.Items[0].number = s.last
}

// isSwept reports whether a sweep has made a grant stale.
func (s *sweeps) isSwept(g *grant) bool {
	if g.decided >= s.last || !s.isSweeping() {
		return false
	}
	for _, p := range g.reads.Paths {
		for w := range s.above.Above(p) {
			if w.number > g.decided {
				return true
			}
		}
	}
	return false
}

// nextSwept returns a grant that a sweep has made stale. If it returns nil and goes on sweeping, it has
// not come to one yet.
func (s *sweeps) nextSwept() *grant {
	if !s.isSweeping() {
		return nil
	}
	for range maxSwept {
		g := s.first
		if g == nil || g.decided >= s.last {
			s.above = trie.Trie[*sweep]{} // the others were decided after all of them
			return nil
		}
		if s.isSwept(g) {
			return g
		}
		s.renew(g)
	}
	return nil
}

// renew notes that a grant is good in the state that there is now, or that it depends on nothing.
func (s *sweeps) renew(g *grant) {
	if g.older != nil || s.first == g {
		s.unlink(g)
	}
	if len(g.reads.Paths) == 0 {
		return
	}
	if g.decided, g.older = s.last, s.final; s.final == nil {
		s.first = g
	} else {
		s.final.newer = g
	}
	s.final = g
}

func (s *sweeps) unlink(g *grant) {
	if g.older == nil {
		s.first = g.newer
	} else {
		g.older.newer = g.newer
	}
	if g.newer == nil {
		s.final = g.older
	} else {
		g.newer.older = g.older
	}
	g.older, g.newer = nil, nil
}
