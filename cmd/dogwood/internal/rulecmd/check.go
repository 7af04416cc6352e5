package rulecmd

import (
	"errors"
	"fmt"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/project"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/explain"
	"github.com/dogwooddb/dogwood/rules/ruleslint"
	"github.com/dogwooddb/dogwood/rules/rulestest"
)

// checkCommand compiles rules and prints errors, warnings and open access. It needs no data
// and no server, so an editor or CI can run it after each change.
type checkCommand struct {
	Files  []string `arg:"" name:"file" help:"Rules files, or a firebase.json that names them; - is standard input."`
	JSON   bool     `name:"json" help:"Print a list of findings as JSON." env:"-"`
	Strict bool     `help:"Fail on warnings too." env:"-"`
	language
}

func (checkCommand) Help() string {
	return `Prints everything that is wrong, with the line and a caret, and then what is
suspicious (see dogwood rules lint --codes). The exit code is 2 if a file does
not compile; with --strict it is 1 if there are warnings.

It also asks every .read and .write on an empty database, once signed out and once
as a user that the rules don't name, and says what they may do. A write without
signing in is a warning.

Examples:

  dogwood rules check database.rules.json
  dogwood rules check --strict rules/*.json
  dogwood rules check --dialect wilddog old-rules.json`
}

// A finding is an error or a warning for programs.
type finding struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Severity string `json:"severity"` // "error", "warning" or "info"
	Code     string `json:"code,omitempty"`
	Rule     string `json:"rule,omitempty"`
	Message  string `json:"message"`
	Meant    string `json:"meant,omitempty"` // the known name that an unknown one resembles
}

func (c *checkCommand) Run(e *console.Env) error {
	r := findingReporter{Env: e, json: c.JSON}
	if err := r.checkAll(c.Files, c.language, true); err != nil {
		return err
	}
	switch {
	case r.errors > 0:
		return console.Unusable(errors.New(console.Count(r.errors, "error")))
	case c.Strict && r.warnings > 0:
		return console.Failed("%s", console.Count(r.warnings, "warning"))
	}
	return nil
}

// A findingReporter prints errors and warnings of rules.
type findingReporter struct {
	*console.Env
	json             bool
	found            []finding
	errors, warnings int
}

// checkAll checks files, and the documents that a firebase.json among them names.
func (r *findingReporter) checkAll(files []string, l language, withErrors bool) error {
	files, err := project.Documents(files)
	if err != nil {
		return console.Unusable(err)
	}
	for _, file := range files {
		src, err := l.source(r.Env, file)
		if err != nil {
			return err
		}
		if err := r.check(src, withErrors); err != nil {
			return err
		}
	}
	return r.flush()
}

// check compiles rules and, if they compile, looks for what is suspicious.
func (r *findingReporter) check(src *rulestest.Source, withErrors bool) error {
	rs, err := src.Compile()
	var errs rules.Errors
	if errors.As(err, &errs) {
		if !withErrors {
			_, err := compile(r.Env, src)
			return err
		}
		r.errors += len(errs.All())
		return r.report(src, "error", "", errs)
	}
	if err != nil {
		return console.Unusable(err)
	}
	warnings, err := ruleslint.Lint(rs)
	if err != nil {
		return console.Unusable(err)
	}
	var open []*ruleslint.Access
	if withErrors {
		if open, err = ruleslint.FindAccess(r.Ctx, rs); err != nil {
			return console.Unusable(err)
		}
		warnings = addOpenWrites(warnings, open)
	}
	r.warnings += len(warnings)
	if err := r.warn(src, warnings); err != nil || !withErrors {
		return err
	}
	if err := r.access(src, open, warnings); err != nil || len(warnings) > 0 || r.json {
		return err
	}
	return r.fine(src.File, rs)
}

// warn prints warnings.
func (r *findingReporter) warn(src *rulestest.Source, warnings []ruleslint.Warning) error {
	for _, w := range warnings {
		err := r.report(src, "warning", w.Code, rules.Errors{{Pos: w.Pos, Rule: w.Rule, Msg: w.Msg}})
		if err != nil {
			return err
		}
	}
	return nil
}

// fine says that there is nothing to say about rules.
func (r *findingReporter) fine(file string, rs *rules.Ruleset) error {
	n := 0
	for range rs.Rules() {
		n++
	}
	_, err := fmt.Fprintf(r.Stdout, "%s: %s, no warnings\n", file, console.Count(n, "rule"))
	return err
}

// report prints findings of a file, or keeps them for flush.
func (r *findingReporter) report(src *rulestest.Source, severity, code string, errs rules.Errors) error {
	for _, err := range errs.All() {
		if r.json {
			r.found = append(r.found, finding{src.File, err.Pos.Line, err.Pos.Col, severity, code, err.Rule, err.Msg, err.Meant})
			continue
		}
		shown := *err
		shown.More = nil // they are shown in turn
		if severity == "warning" {
			shown.Msg = fmt.Sprintf("warning: %s (%s)", err.Msg, code)
		}
		if err := explain.Errors(r.Stdout, src.File, src.Text, rules.Errors{&shown}); err != nil {
			return err
		}
	}
	return nil
}

// flush prints the findings as JSON if that is wanted.
func (r *findingReporter) flush() error {
	if !r.json {
		return nil
	}
	if r.found == nil {
		r.found = []finding{}
	}
	return console.PrintJSON(r.Stdout, r.found)
}
