package rulestest

import (
	"context"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/invariant"
)

// An Invariant is something that must hold of the tree after each accepted
// write; see tree/invariant.
type Invariant struct {
	ID, Text string // its name in reports, and what it means to people

	parsed *invariant.Invariant
}

// ParseInvariant reads an invariant.
func ParseInvariant(text []byte) (*Invariant, error) {
	v, err := invariant.Parse(text)
	if err != nil {
		return nil, err
	}
	return &Invariant{ID: v.ID, Text: v.Text, parsed: v}, nil
}

// maxBroken bounds what one check reports of an invariant.
const maxBroken = 20

// Check returns what breaks the invariant, in words, with paths.
func (v *Invariant) Check(root tree.Node) []string {
	var list []string
	err := v.parsed.Check(context.Background(), World{Root: root}, func(b invariant.Violation) {
		if len(list) < maxBroken {
			list = append(list, b.Problem)
		}
	})
	if err != nil { // not of a tree in memory
		list = append(list, err.Error())
	}
	return list
}
