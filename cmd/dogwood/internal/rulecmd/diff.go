package rulecmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/rulesdiff"
	"github.com/dogwooddb/dogwood/rules/rulestest"
)

// diffCommand compares two rules files by their decisions. A comparison of their text would
// show changes that matter to no client, and hide the effect of those that do.
type diffCommand struct {
	Old      string   `arg:"" help:"Rules file."`
	New      string   `arg:"" help:"Rules file to compare with it."`
	Tests    []string `help:"Test files and directories whose operations are compared." placeholder:"PATH" env:"-"`
	Traffic  string   `help:"Recorded traffic whose operations are compared: lines of {\"op\", \"path\", \"auth\", \"value\" or \"values\", \"query\", \"now\", \"allow\"}." placeholder:"FILE" env:"-"`
	Data     string   `help:"Data for traffic and generated operations: a file, TESTFILE#LINE, or JSON." placeholder:"FILE" env:"-"`
	Apply    bool     `help:"Carry out the recorded writes that were allowed, one after the other." env:"-"`
	Generate int      `help:"How many operations to generate from what the rules mention; 0 for none." default:"20000" placeholder:"N" env:"-"`
	Now      string   `help:"The clock of generated operations." placeholder:"TIME" env:"-"`
	FailOn   string   `help:"Fail on new-grants, on any change, or never." default:"never" enum:"new-grants,any,never" env:"-"`
	JSON     bool     `name:"json" help:"Print JSON." env:"-"`
	MaxPrint int      `name:"max" help:"How many changes to print." default:"50" placeholder:"N" env:"-"`
	dataDocument
	language
}

func (diffCommand) Help() string {
	return `Prints the operations that one rules file allows and the other denies: new grants
first, since they are the dangerous ones. It compares the operations of tests, those of
recorded traffic (dogwood serve --record), and some that it generates from what the
rules mention, and the .limit of each path. It may miss changes: no difference is no
proof.

Examples:

  dogwood rules diff deployed.json database.rules.json --tests tests/
  dogwood rules diff old.json new.json --traffic decisions.log --data export.json
  dogwood rules diff old.json new.json --tests . --fail-on new-grants`
}

func (c *diffCommand) Run(e *console.Env) error {
	cmp := &rulesdiff.Comparer{NewFile: c.New, Document: c.DataDocument}
	var err error
	if cmp.Old, err = c.load(e, c.Old); err != nil {
		return err
	}
	if cmp.New, err = c.load(e, c.New); err != nil {
		return err
	}
	actors, err := c.suites(e, cmp)
	if err != nil {
		return err
	}
	if err := c.others(e, cmp, actors); err != nil {
		return err
	}
	if err := c.write(e.Stdout, cmp); err != nil {
		return err
	}
	grants, denials := cmp.Count(rulesdiff.NewGrant), cmp.Count(rulesdiff.NewDenial)
	if c.FailOn == "any" && grants+denials > 0 || c.FailOn == "new-grants" && grants > 0 {
		return console.Failed("%s, %s", console.Count(grants, "new grant"), console.Count(denials, "new denial"))
	}
	return nil
}

// load reads and compiles one of the two files.
func (c *diffCommand) load(e *console.Env, file string) (*rules.Ruleset, error) {
	src, err := c.source(e, file)
	if err != nil {
		return nil, err
	}
	return compile(e, src)
}

// suites compares the operations of the tests and returns their actors.
func (c *diffCommand) suites(e *console.Env, cmp *rulesdiff.Comparer) ([]rulestest.Actor, error) {
	if len(c.Tests) == 0 {
		return nil, nil
	}
	suites, err := suitesFor(c.Tests, c.Old, c.New)
	if err != nil {
		return nil, err
	}
	document, err := c.document()
	if err != nil {
		return nil, err
	}
	var actors []rulestest.Actor
	for _, s := range suites {
		for _, name := range s.Names() {
			if a := s.Actors[name]; !a.Admin {
				actors = append(actors, a)
			}
		}
		if s.Document == nil {
			s.Document, s.Declared = document, c.DataDocument
		}
		if err := cmp.Suite(e.Ctx, s); err != nil {
			return nil, console.Unusable(err)
		}
	}
	return actors, nil
}

// others compares recorded and generated operations.
func (c *diffCommand) others(e *console.Env, cmp *rulesdiff.Comparer, actors []rulestest.Actor) error {
	var world rulestest.World
	var err error
	if c.Data != "" {
		if world, err = readWorld(e, c.Data); err != nil {
			return err
		}
	}
	document, err := c.document()
	if err != nil {
		return err
	}
	if document != nil {
		if world, err = world.Declare(document); err != nil {
			return console.Unusable(err)
		}
	}
	if c.Traffic != "" {
		if err := c.traffic(e, cmp, world); err != nil {
			return console.Unusable(err)
		}
	}
	now := time.Now().UnixMilli()
	if c.Now != "" {
		if now, err = parseNow(c.Now); err != nil {
			return console.Unusable(err)
		}
	}
	if c.Generate < 0 {
		return console.Unusable(errors.New("--generate must not be negative"))
	}
	if c.Generate == 0 {
		return nil
	}
	return console.Unusable(cmp.Generated(e.Ctx, world, c.Data, actors, now, c.Generate))
}

// traffic compares the operations of a recording.
func (c *diffCommand) traffic(e *console.Env, cmp *rulesdiff.Comparer, world rulestest.World) error {
	f, err := os.Open(c.Traffic)
	if err != nil {
		return fmt.Errorf("--traffic: %w", err)
	}
	defer f.Close()
	t, err := cmp.Traffic(e.Ctx, c.Traffic, f, world, c.Data, c.Apply)
	if err == nil && t.Unlike > 0 {
		fmt.Fprintf(e.Stderr, "%d of %d recorded verdicts are not those of %s with this data\n", t.Unlike, t.Records, c.Old)
	}
	return err
}

func (c *diffCommand) write(w io.Writer, cmp *rulesdiff.Comparer) error {
	changes, limits := cmp.Changes(), cmp.Limits()
	grants, denials := cmp.Count(rulesdiff.NewGrant), cmp.Count(rulesdiff.NewDenial)
	if c.JSON {
		return console.PrintJSON(w, struct {
			Asked      int                     `json:"compared"`
			NewGrants  int                     `json:"newGrants"`
			NewDenials int                     `json:"newDenials"`
			Limits     []rulesdiff.LimitChange `json:"limits,omitempty"`
			Changes    []rulesdiff.Change      `json:"changes"`
		}{cmp.Asked(), grants, denials, limits, append([]rulesdiff.Change{}, changes...)})
	}
	for _, l := range limits {
		fmt.Fprintf(w, "%s: reads of many children (%s)\n    old: %s\n    new: %s\n", l.Kind, l.Rule, limitText(l.Old), limitText(l.New))
	}
	for _, ch := range changes[:min(len(changes), max(c.MaxPrint, 0))] {
		fmt.Fprintf(w, "%s: %s (%s)\n", ch.Kind, ch.What, ch.Where)
		fmt.Fprintf(w, "    old: %s\n    new: %s\n    %s\n", verdictOf(ch.Kind == rulesdiff.NewDenial, ch.OldRule), verdictOf(ch.Kind == rulesdiff.NewGrant, ch.NewRule), ch.Repro)
	}
	if more := grants + denials - len(limits) - min(len(changes), max(c.MaxPrint, 0)); more > 0 {
		fmt.Fprintf(w, "... and %d more\n", more)
	}
	_, err := fmt.Fprintf(w, "%s compared: %s, %s\n", console.Count(cmp.Asked(), "operation"), console.Count(grants, "new grant"), console.Count(denials, "new denial"))
	if err == nil && grants+denials == 0 {
		_, err = fmt.Fprintln(w, "No difference is no proof: compare tests and recorded traffic, too (--tests, --traffic).")
	}
	return err
}

// limitText says what a .limit allows.
func limitText(most int) string {
	if most == 0 {
		return "as many as there are"
	}
	return fmt.Sprintf("at most %d at once", most)
}

// verdictOf names a decision and the rule behind it.
func verdictOf(allow bool, rule string) string {
	verdict := rulestest.Deny
	if allow {
		verdict = rulestest.Allow
	}
	if rule == "" {
		return string(verdict) + ", there is no rule on the way"
	}
	return string(verdict) + " by " + rule
}
