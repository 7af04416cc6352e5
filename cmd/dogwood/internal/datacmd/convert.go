package datacmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/tree/invariant"
)

// convertCommand proposes definitions. An invariant says that two places agree, and not which
// of them follows from the other, so its result is for people to read.
type convertCommand struct {
	File string `arg:"" help:"File of invariants, as for dogwood check --invariants."`
}

func (convertCommand) Help() string {
	return `Prints a data document with a definition for each invariant that says what follows from
other data: inverse and inverseValue become map, count becomes count, equal becomes map,
max becomes keep. Standard error has the others, which remain for dogwood check
--invariants, and why. Read the document before you deploy it: an inverse index may also
follow in the other direction, and keep removes children instead of refusing them.

Examples:

  dogwood data convert chat.ops.json > database.data.json`
}

func (c *convertCommand) Run(e *console.Env) error {
	text, err := os.ReadFile(c.File)
	if err != nil {
		return console.Unusable(err)
	}
	list, err := readInvariants(text)
	if err != nil {
		return console.Unusable(fmt.Errorf("%s: %w", c.File, err))
	}
	found, left := proposals(list)
	for _, s := range left {
		fmt.Fprintln(e.Stderr, s)
	}
	if len(found) == 0 {
		return console.Failed("none of %s says what follows from other data", console.Count(len(list), "invariant"))
	}
	_, err = io.WriteString(e.Stdout, documentOf(c.File, found))
	return err
}

// readInvariants reads a file of invariants.
func readInvariants(text []byte) ([]statement, error) {
	if _, err := invariant.Read(bytes.NewReader(text)); err != nil {
		return nil, err
	}
	var file struct{ Invariants []statement }
	return file.Invariants, json.Unmarshal(text, &file)
}

// documentOf returns the text of a document with some definitions.
func documentOf(file string, list []proposal) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "// Proposed from %s. Read it before it is deployed.\n{\n  \"format\": %q,\n  \"define\": {\n", console.Printable(file), derive.Format)
	for _, p := range list {
		fmt.Fprintf(&b, "    // %s\n    %q: %s,\n", console.Printable(p.remark), p.name, p.definition)
	}
	b.WriteString("  },\n}\n")
	return b.String()
}

// proposals returns the definitions that some invariants are, and a line for each of the others.
// Definitions that one document may not have together are left out.
func proposals(list []statement) (found []proposal, left []string) {
	names := make(map[string]bool)
	for _, s := range list {
		definition, err := s.definition(list)
		if err != nil {
			left = append(left, fmt.Sprintf("%s (%s): %v", console.Printable(s.ID), s.Kind, err))
			continue
		}
		found = append(found, proposal{s.name(names), definition, s.remark()})
	}
	for {
		wrong := refusedBy(documentOf("", found))
		if len(wrong) == 0 {
			return found, left
		}
		kept := found[:0]
		for _, p := range found {
			if why, refused := wrong[p.name]; refused {
				left = append(left, fmt.Sprintf("%s: %s", p.remark, why))
				continue
			}
			kept = append(kept, p)
		}
		if len(kept) == len(found) { // the mistake is in no definition, so there is nothing to propose
			return nil, append(left, wrong[""])
		}
		found = kept
	}
}

// refusedBy returns why definitions of a document are refused, by their names. Of those that
// may not be together, the last is.
func refusedBy(document string) map[string]string {
	_, err := derive.Parse(document)
	var errs derive.Errors
	if !errors.As(err, &errs) {
		return nil
	}
	wrong := make(map[string]string)
	for _, e := range errs {
		wrong[e.Definition] = e.Msg
	}
	return wrong
}
