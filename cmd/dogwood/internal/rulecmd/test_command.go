package rulecmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/rulestest"
)

type testCommand struct {
	Paths  []string `arg:"" name:"path" optional:"" help:"Test files, and directories with *.rules-test.json and *.ops.json; the current directory if there is none."`
	Match  string   `name:"run" help:"Only tests whose name matches this regular expression." placeholder:"REGEXP" env:"-"`
	Format string   `help:"Format of the results: text, json, junit or tap." default:"text" enum:"text,json,junit,tap" env:"-"`
	Output string   `short:"o" help:"Write the results to a file and only the counts to standard output." placeholder:"FILE" env:"-"`
	V      bool     `short:"v" name:"verbose" help:"Name all tests." env:"-"`
	Count  int      `help:"Run everything N times." default:"1" placeholder:"N" env:"-"`
	Watch  bool     `help:"Run again whenever a file changes, until Ctrl-C." env:"-"`
	dataDocument
	coverFlags
}

func (testCommand) Help() string {
	return `Runs test files. One names the rules, the users, the data and a list of tests:

  {
    "rules": "database.rules.json",
    "users": { "anon": null, "ann": { "uid": "ann" } },
    "data": { "rooms": { "r1": { "members": { "ann": true } } } },
    "tests": [
      { "as": "ann", "read": "/rooms/r1", "expect": "allow" },
      { "as": "anon", "read": "/rooms/r1", "expect": "deny", "by": "/rooms/$room .read" },
      { "as": "ann", "write": "/rooms/r1/name", "value": "Lobby", "expect": "allow" },
      { "group": "leave", "steps": [
        { "as": "ann", "update": "/", "values": { "rooms/r1/members/ann": null }, "expect": "allow" },
        { "as": "ann", "read": "/rooms/r1", "expect": "deny" } ] },
      { "for": { "who": ["anon", "ann"] }, "as": "${who}", "read": "/log", "expect": "deny" }
    ]
  }

A failed test says which rule decided and how to look at it. The exit code is 1
if a test fails or the coverage is too low, 2 if something cannot be read or
does not compile.

Examples:

  dogwood rules test
  dogwood rules test tests/ --run 'members' -v
  dogwood rules test --watch
  dogwood rules test --format junit -o results.xml
  dogwood rules test --cover --cover-min 90 --cover-html coverage.html`
}

func (c *testCommand) Run(e *console.Env) error {
	if len(c.Paths) == 0 {
		c.Paths = []string{"."}
	}
	if c.Count < 1 {
		return console.Unusable(errors.New("--count must be positive"))
	}
	if c.Watch {
		return c.watch(e)
	}
	return c.once(e)
}

// once finds the files and runs them.
func (c *testCommand) once(e *console.Env) error {
	runner := &rulestest.Runner{}
	if c.Match != "" {
		var err error
		if runner.Match, err = regexp.Compile(c.Match); err != nil {
			return console.Unusable(fmt.Errorf("--run: %w", err))
		}
	}
	files, err := rulestest.Find(c.Paths...)
	if err != nil {
		return console.Unusable(err)
	}
	if len(files) == 0 {
		return console.Unusable(errors.New("no test files (*.rules-test.json, *.ops.json)"))
	}
	coverage := newCoverages()
	var results []*rulestest.Result
	for _, file := range files {
		list, err := c.file(e, runner, file, coverage)
		if err != nil {
			return err
		}
		results = append(results, list...)
	}
	if len(results) == 0 {
		return console.Unusable(errors.New("no test matches"))
	}
	if err := c.write(e, results); err != nil {
		return err
	}
	coverErr := c.report(e, coverage)
	if n := rulestest.Summarize(results).Failed; n > 0 {
		return console.Failed("%d of %s failed", n, console.Count(len(results), "test"))
	}
	return coverErr
}

// file runs one test file.
func (c *testCommand) file(e *console.Env, runner *rulestest.Runner, file string, coverage *coverages) ([]*rulestest.Result, error) {
	suite, err := rulestest.Load(file)
	if err != nil {
		return nil, console.Unusable(err)
	}
	if suite.Document == nil {
		if suite.Document, err = c.document(); err != nil {
			return nil, err
		}
		suite.Declared = c.DataDocument
	}
	r := *runner
	var rs *rules.Ruleset // nil where each case has its own
	if suite.Rules.Text != "" {
		cov, err := coverage.of(e, suite)
		if err != nil {
			return nil, err
		}
		rs = cov.rules
		if c.wanted() {
			r.Traced = cov.count.Add
		}
	}
	var results []*rulestest.Result
	for range c.Count {
		list, err := r.Run(e.Ctx, suite, rs, nil)
		if err != nil {
			return nil, console.Unusable(err)
		}
		results = append(results, list...)
	}
	return results, nil
}

// write writes the results in the format that was asked for.
func (c *testCommand) write(e *console.Env, results []*rulestest.Result) error {
	write := rulestest.Writers[c.Format]
	if c.Format == "text" {
		write = func(out io.Writer, results []*rulestest.Result) error {
			return rulestest.WriteText(out, results, c.V)
		}
	}
	if c.Output == "" {
		return write(e.Stdout, results)
	}
	var b bytes.Buffer
	if err := write(&b, results); err != nil {
		return err
	}
	if err := os.WriteFile(c.Output, b.Bytes(), 0o666); err != nil {
		return console.Unusable(err)
	}
	_, err := fmt.Fprintln(e.Stdout, rulestest.Summarize(results))
	return err
}
