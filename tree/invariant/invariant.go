package invariant

import (
	"context"
	"fmt"

	"github.com/dogwooddb/dogwood/tree"
)

// An Invariant is one statement that must hold of a tree. Parse makes it.
//
// An invariant relates places of a tree that rules cannot relate, since rules
// see one operation at a time. It is checked on a whole tree, by tests after
// each write and by dogwood check on a file, and never by a server.
type Invariant struct {
	ID   string // its name in reports
	Kind string // "inverse", "ref", …; see the package comment
	Text string // what it means to people

	definition
}

// A Violation is one place where an invariant does not hold.
type Violation struct {
	ID      string    // of the invariant
	Path    tree.Path // of the node that was looked at
	Problem string    // what is wrong, with all paths; long values are cut
}

// String returns the violation as one line.
func (v Violation) String() string { return v.ID + ": " + v.Problem }

// Check calls report for each violation, in the order of the tree. It stops at
// the end of ctx and at the first error of r.
//
// It goes on after a violation, so that one report shows all of them. Report
// may be called very often for a damaged tree; to bound what is kept is for its
// caller.
func (v *Invariant) Check(ctx context.Context, r tree.Reader, report func(Violation)) error {
	return v.check(ctx, r, maxTally, report)
}

func (v *Invariant) check(ctx context.Context, r tree.Reader, tally int, report func(Violation)) error {
	s := &scan{ctx: ctx, r: r, tally: tally, broken: func(p tree.Path, format string, args ...any) {
		report(Violation{v.ID, p, fmt.Sprintf(format, args...)})
	}}
	if err := kinds[v.Kind].check(&v.definition, s); err != nil {
		return fmt.Errorf("invariant %s: %w", v.ID, err)
	}
	return nil
}
