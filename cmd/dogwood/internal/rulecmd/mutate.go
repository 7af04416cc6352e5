package rulecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/rules/rulesmutate"
	"github.com/dogwooddb/dogwood/rules/rulestest"
)

// mutateCommand changes rules in small ways and runs the tests against each mutant. A mutant
// that passes shows a condition that no test checks.
type mutateCommand struct {
	File    string        `arg:"" help:"Rules file."`
	Tests   []string      `help:"Test files and directories; only those that name the rules file are run." default:"." placeholder:"PATH" env:"-"`
	MinKill float64       `help:"Fail if less than this percentage of the mutants is killed; those that are explained do not count." placeholder:"PERCENT" env:"-"`
	Timeout time.Duration `help:"Give up after this time." default:"10m" placeholder:"DURATION" env:"-"`
	Suggest int           `help:"Try N operations to find tests that would kill the survivors, and print these." placeholder:"N" env:"-"`
	Seed    uint64        `help:"Seed of the operations that --suggest tries." default:"1" placeholder:"N" env:"-"`
	V       bool          `short:"v" name:"verbose" help:"Also print which test kills each mutant." env:"-"`
	JSON    bool          `name:"json" help:"Print JSON." env:"-"`
	language
}

func (mutateCommand) Help() string {
	return `Makes one small mistake after the other in the rules (a mutant) and runs the tests
with each. If no test fails, nothing tests that part of the rules: the mutant
survives and is printed.

Some mutants mean the same as the rules. Test files explain those:

  "mutants": { "ignore": [
    { "rule": "/rooms/$room/.write", "from": "data.exists()", "why": "rooms always exist here" } ] }

With --suggest it looks for tests that would kill the survivors. Their verdicts
are those of the rules as they are: read them before you keep them.

rule, mutant (the kind), from and to select them; what is left out fits all. The
exit code is 1 if fewer mutants are killed than --min-kill asks for.

Examples:

  dogwood rules mutate database.rules.json --tests tests/
  dogwood rules mutate database.rules.json --min-kill 95`
}

func (c *mutateCommand) Run(e *console.Env) error {
	src, err := c.source(e, c.File)
	if err != nil {
		return err
	}
	if _, err := compile(e, src); err != nil {
		return err
	}
	suites, err := suitesFor(c.Tests, c.File)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(e.Ctx, c.Timeout, fmt.Errorf("not done after %s", c.Timeout))
	defer cancel()
	report, err := rulesmutate.Run(ctx, src, suites, progress(e, "mutants"))
	if err != nil {
		return console.Unusable(err)
	}
	if c.Suggest > 0 {
		return c.suggest(ctx, e, src, suites, report)
	}
	if c.JSON {
		err = writeMutantsJSON(e.Stdout, report)
	} else {
		err = c.write(e.Stdout, report)
	}
	if err != nil {
		return err
	}
	if rate := report.KillRate(); rate < c.MinKill {
		return console.Failed("%.1f %% of the mutants are killed, %.1f %% are asked for", rate, c.MinKill)
	}
	return nil
}

// suggest prints tests that would kill the survivors.
func (c *mutateCommand) suggest(ctx context.Context, e *console.Env, src *rulestest.Source, suites []*rulestest.Suite, report *rulesmutate.Report) error {
	var survivors []*rulesmutate.Mutant
	for _, r := range report.Results {
		if r.Fate == rulesmutate.Survived {
			survivors = append(survivors, r.Mutant)
		}
	}
	search := rulesmutate.Search{Source: src, Suites: suites, Budget: c.Suggest, Seed: c.Seed}
	if len(suites[0].Groups) > 0 {
		var err error
		if search.World, err = suites[0].World(suites[0].Groups[0]); err != nil {
			return console.Unusable(err)
		}
	}
	list, err := search.Suggest(ctx, survivors)
	if err != nil {
		return console.Unusable(err)
	}
	killed := 0
	for _, s := range list {
		killed += len(s.Kills)
		if _, err := fmt.Fprintln(e.Stdout, s.Text(suites[0].Actors)+","); err != nil {
			return err
		}
	}
	fmt.Fprintf(e.Stderr, "%s would kill %d of %s\n", console.Count(len(list), "test"), killed, console.Count(len(survivors), "survivor"))
	return nil
}

// suitesFor loads the test files that are about one of some rules files.
func suitesFor(paths []string, rules ...string) ([]*rulestest.Suite, error) {
	files, err := rulestest.Find(paths...)
	if err != nil {
		return nil, console.Unusable(err)
	}
	var suites []*rulestest.Suite
	for _, file := range files {
		s, err := rulestest.Load(file)
		if err != nil {
			return nil, console.Unusable(err)
		}
		if slices.ContainsFunc(rules, func(file string) bool { return sameFile(s.Rules.File, file) }) {
			suites = append(suites, s)
		}
	}
	if len(suites) == 0 {
		return nil, console.Unusable(fmt.Errorf("no test file names %s as its rules", strings.Join(rules, " or ")))
	}
	return suites, nil
}

func sameFile(a, b string) bool {
	if a == "" {
		return false
	}
	a, err1 := filepath.Abs(a)
	b, err2 := filepath.Abs(b)
	return errors.Join(err1, err2) == nil && a == b
}

// progress returns what shows a person how far a long work is.
func progress(e *console.Env, noun string) func(done, all int) {
	line := e.StatusLine()
	return func(done, all int) {
		line.Show("%d of %d %s", done, all, noun)
		if done == all {
			line.Clear()
		}
	}
}

func (c *mutateCommand) write(w io.Writer, report *rulesmutate.Report) error {
	for _, r := range report.Results {
		if r.Fate == rulesmutate.Killed && !c.V {
			continue
		}
		fmt.Fprintf(w, "%s:%s: %s: %s in %s\n", c.File, r.Pos, r.Fate, r.Kind, r.Rule.Path)
		fmt.Fprintf(w, "    - %s\n    + %s\n", r.From, r.To)
		if r.By != "" {
			fmt.Fprintf(w, "    %s\n", r.By)
		}
	}
	for _, ig := range report.Stale {
		fmt.Fprintf(w, "an explanation fits no survivor: %s %s %s -> %s (%s)\n", ig.Rule, ig.Mutant, ig.From, ig.To, ig.Why)
	}
	_, err := fmt.Fprintf(w, "%s: %d killed, %d survived, %d explained; %.1f %% killed\n",
		console.Count(len(report.Results), "mutant"), report.Count(rulesmutate.Killed),
		report.Count(rulesmutate.Survived), report.Count(rulesmutate.Explained), report.KillRate())
	return err
}

type mutantJSON struct {
	Rule   string           `json:"rule"`
	Line   int              `json:"line"`
	Column int              `json:"column"`
	Mutant string           `json:"mutant"`
	From   string           `json:"from"`
	To     string           `json:"to"`
	Fate   rulesmutate.Fate `json:"fate"`
	By     string           `json:"by,omitempty"`
}

func writeMutantsJSON(w io.Writer, report *rulesmutate.Report) error {
	list := make([]mutantJSON, 0, len(report.Results))
	for _, r := range report.Results {
		list = append(list, mutantJSON{r.Rule.Path, r.Pos.Line, r.Pos.Col, r.Kind, r.From, r.To, r.Fate, r.By})
	}
	return console.PrintJSON(w, struct {
		Killed    int          `json:"killed"`
		Survived  int          `json:"survived"`
		Explained int          `json:"explained"`
		KillRate  float64      `json:"killRate"`
		Mutants   []mutantJSON `json:"mutants"`
	}{
		report.Count(rulesmutate.Killed), report.Count(rulesmutate.Survived),
		report.Count(rulesmutate.Explained), report.KillRate(), list,
	})
}
