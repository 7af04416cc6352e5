// Package rulecmd has the commands of dogwood rules. Those for rules in files are built on
// the packages below rules; deploy, history and rollback ask a server.
package rulecmd

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/project"
	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/explain"
	"github.com/dogwooddb/dogwood/rules/rulestest"
)

// Command is the tools for authors of rules. None needs a server, except
// where its help says so.
type Command struct {
	Check   checkCommand   `cmd:"" help:"Compile rules and say what is wrong or suspicious."`
	Lint    lintCommand    `cmd:"" help:"Say what is suspicious in rules that compile."`
	Fmt     fmtCommand     `cmd:"" help:"Give rules their standard layout."`
	Test    testCommand    `cmd:"" help:"Run test files."`
	Eval    evalCommand    `cmd:"" help:"Decide one operation."`
	Explain explainCommand `cmd:"" help:"Decide one operation and show how, with the value of every sub-expression."`
	Repl    replCommand    `cmd:"" help:"Try expressions and operations, one line after the other."`
	Mutate  mutateCommand  `cmd:"" help:"Find out which mistakes in rules no test would notice."`
	Diff    diffCommand    `cmd:"" help:"Find the operations that new rules allow or deny, unlike the old ones."`
	Convert convertCommand `cmd:"" help:"Convert rules to strict JSON, or test files of targaryen to test files of dogwood rules test."`

	Deploy   deployCommand   `cmd:"" help:"Have a server check rules and put them in force."`
	History  historyCommand  `cmd:"" help:"List the versions of a server's rules, or print one."`
	Rollback rollbackCommand `cmd:"" help:"Put an earlier version of a server's rules in force again."`
}

func (Command) Help() string {
	return `Rules say who may read and write which path. Most of these tools need no server.

Examples:

  dogwood rules check database.rules.json
  dogwood rules test --cover
  dogwood rules explain database.rules.json --op read /rooms/r1 --auth '{"uid":"ann"}'
  dogwood rules deploy database.rules.json --secret-file dogwood-data/admin-secret`
}

// language says in which language rules are written.
type language struct {
	Dialect    string   `help:"Dialect of the rules: firebase or wilddog." default:"firebase" enum:"firebase,wilddog" env:"-"`
	Extensions []string `help:"Extensions of the language that the rules may use: newRoot, text, dates, counts." placeholder:"NAME" env:"-"`
}

// source reads a rules file.
func (l language) source(e *console.Env, file string) (*rulestest.Source, error) {
	text, err := readText(e, file)
	if err != nil {
		return nil, console.Unusable(err)
	}
	o, err := rulestest.ParseOptions(l.Dialect, l.Extensions)
	if err != nil { // of the dialects, kong takes those that there are
		return nil, console.Unusable(fmt.Errorf("--extensions: %w", err))
	}
	return &rulestest.Source{File: file, Text: text, Options: o}, nil
}

// readText reads a file, or standard input if its name is "-".
func readText(e *console.Env, file string) (string, error) {
	if file == "-" {
		text, err := io.ReadAll(e.Input("the rules"))
		return string(text), err
	}
	text, err := os.ReadFile(file)
	return string(text), err
}

// compile compiles rules. If they do not compile, it says why on standard error.
func compile(e *console.Env, src *rulestest.Source) (*rules.Ruleset, error) {
	rs, err := src.Compile()
	var errs rules.Errors
	if errors.As(err, &errs) {
		if err := explain.Errors(e.Stderr, src.File, src.Text, errs); err != nil {
			return nil, err
		}
		return nil, console.Unusable(fmt.Errorf("%s does not compile", src.File))
	}
	return rs, console.Unusable(err)
}

// dataDocument is the flag that names a data document.
type dataDocument struct {
	DataDocument string `help:"Data document that is in force: what follows from a write follows here, too. Test files name theirs." placeholder:"FILE" env:"-"`
}

// document reads the data document, nil if none is named.
func (f dataDocument) document() (*derive.Document, error) {
	if f.DataDocument == "" {
		return nil, nil
	}
	text, err := os.ReadFile(f.DataDocument)
	if err != nil {
		return nil, console.Unusable(err)
	}
	d, err := project.ParseData(f.DataDocument, string(text))
	return d, console.Unusable(err)
}
