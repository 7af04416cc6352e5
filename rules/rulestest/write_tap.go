package rulestest

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/dogwooddb/dogwood/rules/jsonc"
)

// WriteTAP writes results in the Test Anything Protocol, version 13.
func WriteTAP(out io.Writer, results []*Result) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "TAP version 13\n1..%d\n", len(results))
	for i, r := range results {
		ok := "ok"
		if r.Status == Failed {
			ok = "not ok"
		}
		fmt.Fprintf(w, "%s %d - %s: %s", ok, i+1, tapText(r.Suite.File), tapText(r.Name()))
		if r.Status == Skipped {
			fmt.Fprintf(w, " # SKIP %s", tapText(r.Step.Skip))
		}
		fmt.Fprintln(w)
		if r.Status != Failed {
			continue
		}
		fmt.Fprintf(w, "  ---\n  at: %s\n  message: %s\n", jsonc.Quote(r.Where()), jsonc.Quote(strings.Join(r.Problems, "; ")))
		if line := deciding(r); line != "" {
			fmt.Fprintf(w, "  decided: %s\n", jsonc.Quote(line))
		}
		if r.Repro != "" {
			fmt.Fprintf(w, "  reproduce: %s\n", jsonc.Quote(r.Repro))
		}
		fmt.Fprintln(w, "  ...")
	}
	return w.Flush()
}

// tapText returns a text for a description: one line, in which no directive
// begins.
func tapText(s string) string {
	return strings.NewReplacer("\n", " ", "\r", " ", "#", `\#`).Replace(s)
}
