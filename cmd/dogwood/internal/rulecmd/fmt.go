package rulecmd

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/rules/rulesfmt"
	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// fmtCommand rewrites rules files in one layout, so that changes of layout do not hide
// changes of meaning in their history.
type fmtCommand struct {
	Files []string `arg:"" name:"file" optional:"" help:"Rules files; without any, or for -, standard input."`
	Write bool     `short:"w" help:"Write the result to the file instead of printing it." env:"-"`
	Check bool     `help:"Print the names of the files that would change; the exit code is 1 if there are any." env:"-"`
	language
}

func (fmtCommand) Help() string {
	return `Comments, the order of properties and the meaning of the rules stay. An expression
over several lines gets one operand on each.

Examples:

  dogwood rules fmt database.rules.json
  dogwood rules fmt -w rules/*.json
  dogwood rules fmt --check database.rules.json`
}

func (c *fmtCommand) Run(e *console.Env) error {
	files := c.Files
	if len(files) == 0 {
		files = []string{"-"}
	}
	changed := 0
	for _, file := range files {
		src, err := c.source(e, file)
		if err != nil {
			return err
		}
		out, err := rulesfmt.Format(src.Text, src.Options.Dialect)
		if err != nil {
			return console.Unusable(fmt.Errorf("%s:%w", file, err))
		}
		switch {
		case c.Check:
			if out != src.Text {
				changed++
				fmt.Fprintln(e.Stdout, file)
			}
		case c.Write && file != "-":
			if out != src.Text {
				err = replaceFile(file, out)
			}
		default:
			_, err = io.WriteString(e.Stdout, out)
		}
		if err != nil {
			return err
		}
	}
	if changed > 0 {
		return console.Failed("%s not in standard layout; see dogwood rules fmt -w", console.Count(changed, "file"))
	}
	return nil
}

// replaceFile replaces a file's content, at once, and keeps its mode. A symbolic
// link stays one.
func replaceFile(file, text string) error {
	file, err := filepath.EvalSymlinks(file)
	if err != nil {
		return err
	}
	return durable.Replace(file, []byte(text), 0o777)
}
