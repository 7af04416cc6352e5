package rulestest

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/rules/explain"
)

// A Writer writes the results of a run in one format.
type Writer func(out io.Writer, results []*Result) error

// Writers are the formats of results.
var Writers = map[string]Writer{
	"text":  func(out io.Writer, results []*Result) error { return WriteText(out, results, false) },
	"json":  WriteJSON,
	"junit": WriteJUnit,
	"tap":   WriteTAP,
}

// WriteText writes what people want to know: each failed step with how to decide
// it again, and the counts of each file. verbose names the other steps too.
func WriteText(out io.Writer, results []*Result, verbose bool) error {
	w := bufio.NewWriter(out)
	for _, file := range byFile(results) {
		for _, r := range file {
			if r.Status == Failed {
				writeFailure(w, r)
				continue
			}
			if !verbose {
				continue
			}
			fmt.Fprintf(w, "%s  %s", r.Status, r.Name())
			switch {
			case r.Status == Skipped:
				fmt.Fprintf(w, " (%s)", r.Step.Skip)
			case r.Rule != "":
				fmt.Fprintf(w, ": %s by %s", r.Got, r.Rule)
			case r.Got != "":
				fmt.Fprintf(w, ": %s", r.Got)
			}
			fmt.Fprintln(w)
		}
		ok := "ok  "
		if Summarize(file).Failed > 0 {
			ok = "FAIL"
		}
		fmt.Fprintf(w, "%s  %s  %s\n", ok, file[0].Suite.File, Summarize(file))
	}
	return w.Flush()
}

// writeFailure writes what a step did, why, and how to see more.
func writeFailure(w io.Writer, r *Result) {
	fmt.Fprintf(w, "%s: FAIL %s\n", r.Where(), r.Name())
	for _, p := range r.Problems {
		fmt.Fprintf(w, "    %s\n", strings.ReplaceAll(p, "\n", "\n    "))
	}
	if line := deciding(r); line != "" {
		fmt.Fprintf(w, "    %s\n", line)
	}
	if r.Repro != "" {
		fmt.Fprintf(w, "    %s\n", r.Repro)
	}
}

// deciding says in a line which rule decided and where it stands.
func deciding(r *Result) string {
	if r.Trace == nil {
		return ""
	}
	return explain.Brief(r.request, r.Trace)
}

// byFile divides results by their suites, in order.
func byFile(results []*Result) [][]*Result {
	var list [][]*Result
	for i, r := range results {
		if i == 0 || results[i-1].Suite != r.Suite {
			list = append(list, nil)
		}
		list[len(list)-1] = append(list[len(list)-1], r)
	}
	return list
}

func elapsed(results []*Result) time.Duration {
	var sum time.Duration
	for _, r := range results {
		sum += r.Elapsed
	}
	return sum
}
