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

// note notes that the current expression depends on the node at s.
func (e *evaluation) note(s snapshot) {
	if e.noting && !s.new {
		e.uses.Paths = append(e.uses.Paths, s.path)
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
			*reads = Reads{collapse(d.e.uses.Paths), d.e.uses.Auth, d.e.uses.Now}
		}
	case r.program != nil:
		reads.Auth = max(reads.Auth, d.e.uses.Auth)
		reads.Now = reads.Now || d.e.uses.Now
	}
}

// collapse returns the paths without duplicates. If there are still too many, it
// returns their parents, and so on.
func collapse(paths []tree.Path) []tree.Path {
	paths = slices.Clone(paths)
	for {
		slices.SortFunc(paths, func(a, b tree.Path) int { return strings.Compare(a.Clean(), b.Clean()) })
		paths = slices.Compact(paths)
		if len(paths) <= MaxReads {
			return paths
		}
		for i := range paths {
			paths[i], _ = paths[i].Parent()
		}
	}
}
