package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/explain"
	"github.com/dogwooddb/dogwood/rules/rulestest"
)

// rulesCommand is the tools for authors of rules. None needs a server, except
// where its help says so.
type rulesCommand struct {
	Check   rulesCheckCommand   `cmd:"" help:"Compile rules and say what is wrong or suspicious."`
	Lint    rulesLintCommand    `cmd:"" help:"Say what is suspicious in rules that compile."`
	Fmt     rulesFmtCommand     `cmd:"" help:"Give rules their standard layout."`
	Test    rulesTestCommand    `cmd:"" help:"Run test files."`
	Eval    rulesEvalCommand    `cmd:"" help:"Decide one operation."`
	Explain rulesExplainCommand `cmd:"" help:"Decide one operation and show how, with the value of every sub-expression."`
	Repl    rulesReplCommand    `cmd:"" help:"Try expressions and operations, one line after the other."`
	Mutate  rulesMutateCommand  `cmd:"" help:"Find out which mistakes in rules no test would notice."`
	Diff    rulesDiffCommand    `cmd:"" help:"Find the operations that new rules allow or deny, unlike the old ones."`
	Convert rulesConvertCommand `cmd:"" help:"Make strict JSON of rules, or our test files of those of targaryen."`

	Deploy   rulesDeployCommand   `cmd:"" help:"Have a server check rules and put them in force."`
	History  rulesHistoryCommand  `cmd:"" help:"List the versions of a server's rules, or print one."`
	Rollback rulesRollbackCommand `cmd:"" help:"Put an earlier version of a server's rules in force again."`
}

func (rulesCommand) Help() string {
	return `Rules say who may read and write which path. Most of these tools need no server.

Examples:

  dogwood rules check database.rules.json
  dogwood rules test --cover
  dogwood rules explain database.rules.json --op read /rooms/r1 --auth '{"uid":"ann"}'
  dogwood rules deploy database.rules.json --secret-file dogwood-data/admin-secret`
}

// An exitError is a failure with an exit code of its own.
type exitError struct {
	code int
	error
}

// failed is a failure that is an answer: a test that fails, an operation that is
// denied.
func failed(format string, args ...any) error {
	return exitError{1, fmt.Errorf(format, args...)}
}

// unusable is a failure of what was given: a file that cannot be read, rules that
// do not compile.
func unusable(err error) error {
	if err == nil {
		return nil
	}
	return exitError{2, err}
}

// fail prints a failure and returns the exit code for it.
func (e *env) fail(err error) int {
	if text := err.Error(); text != "" {
		fmt.Fprintln(e.stderr, "dogwood:", text)
	}
	if x := (exitError{}); errors.As(err, &x) {
		return x.code
	}
	return 1
}

// rulesLanguage says in which language rules are written.
type rulesLanguage struct {
	Dialect    string   `help:"Dialect of the rules: firebase or wilddog." default:"firebase" enum:"firebase,wilddog" env:"-"`
	Extensions []string `help:"Extensions of the language that the rules may use: newRoot." placeholder:"NAME" env:"-"`
}

// source reads a rules file.
func (l rulesLanguage) source(e *env, file string) (*rulestest.Source, error) {
	text, err := readText(e, file)
	if err != nil {
		return nil, unusable(err)
	}
	o, err := rulestest.ParseOptions(l.Dialect, l.Extensions)
	if err != nil {
		return nil, unusable(err)
	}
	return &rulestest.Source{File: file, Text: text, Options: o}, nil
}

// readText reads a file, or standard input if its name is "-".
func readText(e *env, file string) (string, error) {
	if file == "-" {
		text, err := io.ReadAll(e.stdin)
		return string(text), err
	}
	text, err := os.ReadFile(file)
	return string(text), err
}

// compile compiles rules. If they do not compile, it says why on standard error.
func compile(e *env, src *rulestest.Source) (*rules.Ruleset, error) {
	rs, err := src.Compile()
	var errs rules.Errors
	if errors.As(err, &errs) {
		if err := explain.Errors(e.stderr, src.File, src.Text, errs); err != nil {
			return nil, err
		}
		return nil, unusable(fmt.Errorf("%s does not compile", src.File))
	}
	return rs, unusable(err)
}

// count returns "1 warning" or "2 warnings".
func count(n int, noun string) string {
	if n != 1 && !strings.HasSuffix(noun, "s") {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
