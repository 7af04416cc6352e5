package rulecmd

import (
	"errors"
	"fmt"
	"io"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/rules/jsonc"
	"github.com/dogwooddb/dogwood/rules/rulestest"
	"github.com/tailscale/hujson"
)

// convertCommand prints rules as strict JSON, for tools that read no relaxed JSON, and tests
// of targaryen as a test file.
type convertCommand struct {
	File  string `arg:"" help:"A rules file, or a test file of targaryen; - is standard input."`
	Rules string `help:"Name of the rules file that converted tests are for." default:"database.rules.json" placeholder:"FILE" env:"-"`
}

func (convertCommand) Help() string {
	return `A rules file becomes strict JSON: no comments, no trailing commas, no line breaks
in texts. A test file of targaryen (root, users, tests) becomes a test file for
dogwood rules test. The result is printed.

Examples:

  dogwood rules convert database.rules.json > strict.json
  dogwood rules convert targaryen.json --rules rules.json > all.rules-test.json`
}

func (c *convertCommand) Run(e *console.Env) error {
	text, err := readText(e, c.File)
	if err != nil {
		return console.Unusable(err)
	}
	out, err := c.convert(text)
	if err != nil {
		return console.Unusable(fmt.Errorf("%s:%w", c.File, err))
	}
	_, err = io.WriteString(e.Stdout, out)
	return err
}

func (c *convertCommand) convert(text string) (string, error) {
	doc, err := jsonc.Parse(text)
	if err != nil {
		return "", err
	}
	_, isObject := doc.Root.Value.(*hujson.Object)
	switch {
	case isObject && doc.Root.Find("/rules") != nil:
		return jsonc.StrictIndent(doc.Root, "", "  ") + "\n", nil
	case isObject && doc.Root.Find("/tests") != nil:
		return rulestest.ConvertTargaryen(text, c.Rules)
	}
	return "", errors.New(" neither rules nor tests of targaryen")
}
