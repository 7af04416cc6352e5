package rulestest

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/dogwooddb/dogwood/tree"
)

// TestConversations runs testdata/conversations. The commands are
//
//	file NAME               keep the input as a file that test files can name
//	test [NAME] [verbose]   run the input as a test file; format= and run= as in the CLI
//	invariants              check the invariants of the first line on the data below it
//	targaryen               convert the input
//	query                   read the input as a query and print it as rules see it
func TestConversations(t *testing.T) {
	datadriven.Walk(t, "testdata/conversations", func(t *testing.T, path string) {
		files := map[string]string{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out, err := converse(t, files, d)
			if err != nil {
				return out + "error: " + err.Error() + "\n"
			}
			return out
		})
	})
}

func converse(t *testing.T, files map[string]string, d *datadriven.TestData) (string, error) {
	switch d.Cmd {
	case "file":
		files[d.CmdArgs[0].Key] = d.Input
		return "", nil
	case "test":
		return runText(t, files, d)
	case "invariants":
		return checkInvariant(d.Input)
	case "targaryen":
		return ConvertTargaryen(d.Input, "rules.json")
	case "query":
		q, err := ParseQuery(d.Input)
		if err != nil {
			return "", err
		}
		return QueryText(&Op{Query: q}) + "\n", nil
	}
	t.Fatalf("unknown command %s", d.Cmd)
	return "", nil
}

func runText(t *testing.T, files map[string]string, d *datadriven.TestData) (string, error) {
	s, err := Parse("my.rules-test.json", d.Input, func(name string) (string, error) {
		if text, ok := files[name]; ok {
			return text, nil
		}
		return "", fmt.Errorf("open %s: %w", name, os.ErrNotExist)
	})
	if err != nil {
		return "", err
	}
	runner := &Runner{}
	if d.HasArg("run") {
		var expr string
		d.ScanArgs(t, "run", &expr)
		runner.Match = regexp.MustCompile(expr)
	}
	rs, compileErr := s.Rules.Compile()
	results, err := runner.Run(t.Context(), s, rs, compileErr)
	if err != nil {
		return "", err
	}
	for _, r := range results {
		r.Elapsed = 0
	}
	format := "text"
	if d.HasArg("format") {
		d.ScanArgs(t, "format", &format)
	}
	var b bytes.Buffer
	if d.HasArg("verbose") {
		err = WriteText(&b, results, true)
	} else {
		err = Writers[format](&b, results)
	}
	return b.String(), err
}

func checkInvariant(input string) (string, error) {
	def, data, _ := strings.Cut(input, "\n")
	v, err := ParseInvariant([]byte(def))
	if err != nil {
		return "", err
	}
	n, err := tree.ParseNode(data)
	if err != nil {
		return "", err
	}
	out := "holds\n"
	for i, broken := range v.Check(n) {
		if i == 0 {
			out = ""
		}
		out += broken + "\n"
	}
	return out, nil
}
