package benchcmd

import (
	"errors"
	"time"

	"github.com/dogwooddb/dogwood/bench"
	"github.com/dogwooddb/dogwood/bench/soak"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

// A load is the command of a workload, whose fields are its flags.
type load[W bench.Workload] struct {
	Of W `embed:""`
}

func (c *load[W]) Run(e *console.Env, b *Command) error { return b.measure(e, c.Of) }

type chatCommand struct {
	Of           bench.Chat `embed:""`
	CompareRules bool       `help:"Measure with chat rules and with open rules in turn, three times unless --repeat says otherwise, and print the ratio." env:"-"`
}

func (c *chatCommand) Run(e *console.Env, b *Command) error {
	w := c.Of
	w.SignIn = c.CompareRules
	if !c.CompareRules {
		return b.measure(e, w)
	}
	if b.comparesServers() || b.Spawn == spawnBare {
		return errors.New("--compare-rules needs a server that has rules, and no other comparison")
	}
	if b.Spawn == "" && b.Namespace != "" && b.Keep {
		return errors.New("--compare-rules needs an empty database for each run; leave --keep out")
	}
	strict, open := w, w
	strict.Rules, open.Rules = bench.RulesChat, bench.RulesOpen
	return b.compare(e, subject{workload: strict, spawn: b.Spawn}, subject{workload: open, spawn: b.Spawn}, comparison{
		label: "open", rate: "chat rules run at %.0f %% of the rate of open rules", p50: "its p50 is %.2f times as long", time: "a post takes %.2f times the server's processor time",
	})
}

type queryCommand struct {
	Of bench.Query `embed:""`
}

func (c *queryCommand) Run(e *console.Env, b *Command) error {
	w := c.Of
	if w.Over != "both" {
		return b.measure(e, w)
	}
	w.Over = bench.OverSocket
	if err := b.measure(e, w); err != nil {
		return err
	}
	w.Over = bench.OverREST
	return b.measure(e, w)
}

type importLoad struct {
	Rows    int  `help:"Rows of ten leaves, some 220 bytes each. Nine million make two gigabytes." default:"1000000" env:"-"`
	Indexed bool `help:"Declare an index before the import." env:"-"`
	Sockets int  `help:"Connections of the reads and writes that follow, with one request each at a time." default:"8" env:"-"`
}

func (c *importLoad) Run(e *console.Env, b *Command) error {
	return b.measure(e, bench.Import{Rows: bench.Rows{Rows: c.Rows}, Indexed: c.Indexed, Sockets: c.Sockets})
}

type soakCommand struct {
	Of soak.Workload `embed:""`
}

// soakDuration is how long a soak lasts without --duration.
const soakDuration = 30 * time.Minute

func (c *soakCommand) Run(e *console.Env, b *Command) error {
	if b.Duration == 0 && b.Count == 0 {
		b.Duration = soakDuration
	}
	return b.measure(e, c.Of)
}
