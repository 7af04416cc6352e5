package rules

import (
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
)

// Reads is what a decision about a read depends on. As long as none of it
// changes, the decision stays the same.
type Reads struct {
	// Paths are the locations that the granting rule looked at: what is at one,
	// above it or below it may change the decision. There are at most MaxReads;
	// of a rule that looked at more, they are places above those.
	Paths []tree.Path

	// Exists are those of Paths of which the rule only asked whether there is anything:
	// the decision stays the same as long as the answer does.
	Exists []tree.Path

	// Auth and Now say how the granting rule looked at the caller, and whether it
	// looked at the time. If none granted, they are about all rules that were
	// asked.
	Auth AuthUse
	Now  bool
}

// MaxReads bounds the paths that are noted for a decision.
const MaxReads = 1000

// An AuthUse is how much of the caller a decision looked at.
type AuthUse int

// The uses, from less to more.
const (
	AuthUnused AuthUse = iota // equal for all callers
	AuthNull                  // equal for all that are signed in, and for all that are not
	AuthFull                  // anything
)

// noteValue notes that the current expression depends on the node at s.
func (e *evaluation) noteValue(s snapshot) {
	if e.noting && !s.new {
		e.uses.Paths = append(e.uses.Paths, s.path)
	}
}

// noteExists notes that the current expression depends on whether there is a node at s.
func (e *evaluation) noteExists(s snapshot) {
	if e.noting && !s.new {
		e.uses.Exists = append(e.uses.Exists, s.path)
	}
}

// noteReads notes in the request what the rule that was just asked depends on.
func (d *decider) noteReads(r *rule, granted bool) {
	reads := d.q.Reads
	switch {
	case reads == nil || d.q.Op != OpRead:
	case granted:
		*reads = Reads{}
		if r.program != nil {
			*reads = d.e.uses.noted()
		}
	case r.program != nil:
		reads.Auth = max(reads.Auth, d.e.uses.Auth)
		reads.Now = reads.Now || d.e.uses.Now
	}
}

// noted returns the uses of an expression, whose Exists are those that it asked for, as
// those of a decision.
func (u Reads) noted() Reads {
	exists := sorted(slices.Clone(u.Exists))
	all := sorted(slices.Concat(u.Paths, exists))
	if len(all) > MaxReads {
		u.Paths, u.Exists = collapse(all), nil
		return u
	}
	values := sorted(slices.Clone(u.Paths))
	u.Paths, u.Exists = all, nil
	for _, p := range exists {
		if _, read := slices.BinarySearchFunc(values, p, comparePaths); !read {
			u.Exists = append(u.Exists, p)
		}
	}
	return u
}

func comparePaths(a, b tree.Path) int { return strings.Compare(a.Clean(), b.Clean()) }

// sorted sorts paths and takes duplicates away.
func sorted(paths []tree.Path) []tree.Path {
	slices.SortFunc(paths, comparePaths)
	return slices.Compact(paths)
}

// collapse returns the parents of too many paths, and so on.
func collapse(paths []tree.Path) []tree.Path {
	for len(paths) > MaxReads {
		for i := range paths {
			paths[i], _ = paths[i].Parent()
		}
		paths = sorted(paths)
	}
	return paths
}
