// Package rulesdiff finds what changes with new rules: which operations become
// allowed that were denied, and which the other way round. It asks both rulesets
// about the operations of tests, of recorded traffic, and about operations made
// up from what the rules mention.
//
// Its nouns: a Change is an operation on which the rulesets differ, a LimitChange a
// .limit in which they do, a Comparer asks them and collects Changes, a Record is a
// line of recorded traffic.
package rulesdiff

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/rulestest"
)

// Bounds of how many changes are kept; all are counted.
const (
	maxChanges = 10_000
	maxAlike   = 3 // generated ones of one kind of operation on which the same rules decide
)

// generated is where changes are that were found with operations made up.
const generated = "generated"

// A Kind says in which direction a verdict changes.
type Kind string

// The kinds of changes.
const (
	NewGrant  Kind = "new-grant"  // denied by the old rules, allowed by the new
	NewDenial Kind = "new-denial" // allowed by the old rules, denied by the new
)

// A Change is an operation on which the rulesets differ.
type Change struct {
	Kind    Kind   `json:"kind"`
	Where   string `json:"where"` // "a.rules-test.json:12 name", "traffic.log:3" or "generated"
	What    string `json:"what"`  // "write /rooms/r1"
	OldRule string `json:"oldRule"`
	NewRule string `json:"newRule"`
	Repro   string `json:"reproduce"`
}

// A Comparer asks an old and a new ruleset and collects the changes.
//
// It can show a difference and never that there is none: two rulesets that
// differ only on operations it does not make up look equal. So the number of
// operations that were asked is part of every report.
//
// Lists of changes are bounded and the counts are not, so a change that
// concerns everything is still counted in full.
type Comparer struct {
	Old, New *rules.Ruleset

	// For commands that decide an operation again:
	NewFile  string // of New
	Document string // the file of the data document; "": none

	changes []Change
	counts  map[Kind]int
	asked   int
	seen    map[string]bool
	alike   map[string]int
}

// Asked returns how many operations were compared.
func (c *Comparer) Asked() int { return c.asked }

// Count returns how many changes of a kind there are, of operations and of limits.
func (c *Comparer) Count(k Kind) int {
	n := c.counts[k]
	for _, l := range c.Limits() {
		if l.Kind == k {
			n++
		}
	}
	return n
}

// Changes returns the changes, new grants first, in the order they were found.
func (c *Comparer) Changes() []Change {
	list := slices.Clone(c.changes)
	sort.SliceStable(list, func(i, j int) bool {
		a, b := list[i], list[j]
		return cmp.Compare(order[a.Kind], order[b.Kind]) < 0
	})
	return list
}

var order = map[Kind]int{NewGrant: 0, NewDenial: 1}

// compare asks both rulesets. data is the file that the request's data are from.
func (c *Comparer) compare(ctx context.Context, where, data string, op *rulestest.Op, q *rules.Request) error {
	c.asked++
	before, err := c.Old.Check(ctx, q)
	if err != nil {
		return err
	}
	after, err := c.New.Check(ctx, q)
	if err != nil {
		return err
	}
	if before.Allow == after.Allow {
		return nil
	}
	change := Change{
		Kind: NewDenial, Where: where, What: op.String(),
		OldRule: before.Rule, NewRule: after.Rule,
		Repro: op.Command("explain", c.NewFile, data, c.Document),
	}
	if after.Allow {
		change.Kind = NewGrant
	}
	c.add(change)
	return nil
}

func (c *Comparer) add(change Change) {
	if c.counts == nil {
		c.counts, c.seen, c.alike = make(map[Kind]int), make(map[string]bool), make(map[string]int)
	}
	if c.seen[change.Repro] {
		return
	}
	c.counts[change.Kind]++
	if change.Where == generated {
		verb, _, _ := strings.Cut(change.What, " ")
		class := strings.Join([]string{string(change.Kind), verb, change.OldRule, change.NewRule}, " ")
		if c.alike[class]++; c.alike[class] > maxAlike {
			return
		}
	}
	if len(c.changes) < maxChanges {
		c.seen[change.Repro] = true
		c.changes = append(c.changes, change)
	}
}

// Suite compares the operations of a test file, whose data change as the old
// rules allow.
func (c *Comparer) Suite(ctx context.Context, s *rulestest.Suite) error {
	runner := &rulestest.Runner{
		VerdictsOnly: true,
		Asked: func(s *rulestest.Suite, step *rulestest.Step, q *rules.Request) error {
			where := fmt.Sprintf("%s:%d %s", s.File, step.Line, step.Name)
			return c.compare(ctx, where, fmt.Sprintf("%s#%d", s.File, step.Line), &step.Op, q)
		},
	}
	_, err := runner.Run(ctx, s, c.Old, nil)
	return err
}
