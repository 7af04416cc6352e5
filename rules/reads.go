package rules

import (
	"slices"
	"sort"
	"strings"

	"github.com/dogwooddb/dogwood/rules/internal/eval"
	"github.com/dogwooddb/dogwood/tree"
)

// Reads is what a decision about a read depends on. As long as none of it
// changes, the decision stays the same.
type Reads struct {
	// Paths are the paths that the granting rule looked at: a change at one, above
	// it or below it may change the decision. There are at most MaxReads; of a rule
	// that looked at more, they are paths above those.
	Paths []tree.Path

	// Exists are those of Paths that the rule only asked the existence of. As long as
	// that does not change, the decision does not.
	Exists []tree.Path

	// Auth and Now say how the granting rule looked at the caller, and whether it
	// looked at the time. If no rule granted, they are about all that were asked.
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

// authUse returns how an expression looked at the caller.
func authUse(u eval.Uses) AuthUse {
	switch {
	case u.Claims:
		return AuthFull
	case u.Caller:
		return AuthNull
	}
	return AuthUnused
}

// readsOf returns what a decision depends on that depends on the uses of one
// expression.
func readsOf(u eval.Uses) Reads {
	r := Reads{Auth: authUse(u), Now: u.Now}
	exists := sorted(slices.Clone(u.Exists))
	r.Paths = sorted(slices.Concat(u.Paths, exists))
	if len(r.Paths) > MaxReads {
		r.Paths = collapse(r.Paths)
		return r
	}
	values := sorted(slices.Clone(u.Paths))
	for _, p := range exists {
		if _, read := slices.BinarySearchFunc(values, p, comparePaths); !read {
			r.Exists = append(r.Exists, p)
		}
	}
	return r
}

func comparePaths(a, b tree.Path) int { return strings.Compare(a.Clean(), b.Clean()) }

// sorted sorts paths and takes duplicates away.
func sorted(paths []tree.Path) []tree.Path {
	sort.Slice(paths, func(i, j int) bool { return comparePaths(paths[i], paths[j]) < 0 })
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
