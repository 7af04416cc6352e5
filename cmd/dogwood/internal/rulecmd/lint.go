package rulecmd

import (
	"errors"
	"fmt"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/rules/ruleslint"
)

// lintCommand prints warnings about rules that compile.
type lintCommand struct {
	Files []string `arg:"" name:"file" optional:"" help:"Rules files, or a firebase.json that names them; - is standard input."`
	JSON  bool     `name:"json" help:"Print a list of findings as JSON." env:"-"`
	Codes bool     `help:"List the codes and what they are for." env:"-"`
	language
}

func (lintCommand) Help() string {
	return `Prints what is suspicious: holes, rules without effect, and expressions that do
not do what they seem to. The exit code is 1 if there is anything.

A comment "// lint:ignore CODE" on the line of a rule, or the line above it,
silences a warning; "// lint:file-ignore CODE" does so in the whole file.

Examples:

  dogwood rules lint database.rules.json
  dogwood rules lint --codes`
}

func (c *lintCommand) Run(e *console.Env) error {
	if c.Codes {
		for _, code := range ruleslint.Codes {
			fmt.Fprintf(e.Stdout, "%-21s %s\n", code.Code, code.Text)
		}
		return nil
	}
	if len(c.Files) == 0 {
		return console.Unusable(errors.New("no file is given; see dogwood rules lint --help"))
	}
	r := findingReporter{Env: e, json: c.JSON}
	if err := r.checkAll(c.Files, c.language, false); err != nil {
		return err
	}
	if r.warnings > 0 {
		return console.Failed("%s", console.Count(r.warnings, "warning"))
	}
	return nil
}
