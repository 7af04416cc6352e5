package benchcmd

import (
	"github.com/dogwooddb/dogwood/bench"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

// A subject is a workload and the server that it loads.
type subject struct {
	workload bench.Workload
	spawn    string // as --spawn
}

// A comparison says how one subject is labelled and compared with another. A
// ratio of neighbouring runs says more than two figures: the machine is the
// same for both.
type comparison struct {
	label string // of the lines about the other one
	first bool   // the other one is measured first of each pair
	rate  string // says which percentage of the other's rate there is
	time  string // says how many times the other's processor time is taken
}

// compareRepeat is how often a comparison is made without --repeat.
const compareRepeat = 3

// compare measures two subjects in turn.
func (c *Command) compare(e *console.Env, s, other subject, how comparison) error {
	if c.Repeat == 1 {
		c.Repeat = compareRepeat
	}
	return c.measureAll(e, []subject{s, other}, how)
}
