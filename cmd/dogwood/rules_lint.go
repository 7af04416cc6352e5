package main

import (
	"errors"
	"fmt"

	"github.com/dogwooddb/dogwood/rules/ruleslint"
)

type rulesLintCommand struct {
	Files []string `arg:"" name:"file" optional:"" help:"Rules files, or a firebase.json that names them; - is standard input."`
	JSON  bool     `name:"json" help:"Print a list of findings as JSON." env:"-"`
	Codes bool     `help:"List the codes and what they are for." env:"-"`
	rulesLanguage
}

func (rulesLintCommand) Help() string {
	return `Prints what is suspicious: holes, rules without effect, and expressions that do
not do what they seem to. The exit code is 1 if there is anything.

A comment "// lint:ignore CODE" on the line of a rule, or the line above it,
silences a warning; "// lint:file-ignore CODE" does so in the whole file.

Examples:

  dogwood rules lint database.rules.json
  dogwood rules lint --codes`
}

func (c *rulesLintCommand) Run(e *env) error {
	if c.Codes {
		for _, code := range ruleslint.Codes {
			fmt.Fprintf(e.stdout, "%-21s %s\n", code.Code, code.Text)
		}
		return nil
	}
	if len(c.Files) == 0 {
		return unusable(errors.New("which file? see dogwood rules lint --help"))
	}
	r := findingReporter{env: e, json: c.JSON}
	files, err := rulesDocuments(c.Files)
	if err != nil {
		return unusable(err)
	}
	for _, file := range files {
		src, err := c.source(e, file)
		if err != nil {
			return err
		}
		if err := r.check(src, false); err != nil {
			return err
		}
	}
	if err := r.flush(); err != nil {
		return err
	}
	if r.warnings > 0 {
		return failed("%s", count(r.warnings, "warning"))
	}
	return nil
}
