package rulestest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/dogwooddb/dogwood/rules/jsonc"
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

// WriteText writes what people want to know: each failed step with how to decide it
// again, and the counts of each file. verbose names the other steps too. The order is
// that of the files, whatever order they were run in, so two reports can be compared.
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

// A resultJSON is the form of a Result that programs read.
type resultJSON struct {
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Name     string   `json:"name"`
	Status   Status   `json:"status"`
	Skip     string   `json:"skip,omitempty"`
	Got      Verdict  `json:"got,omitempty"`
	Want     Verdict  `json:"want,omitempty"`
	Rule     string   `json:"rule,omitempty"`
	Problems []string `json:"problems,omitempty"`
	Decided  string   `json:"decided,omitempty"`
	Repro    string   `json:"reproduce,omitempty"`
	Micros   int64    `json:"microseconds"`
}

// WriteJSON writes results as one object: the counts and all steps.
func WriteJSON(out io.Writer, results []*Result) error {
	list := make([]resultJSON, 0, len(results))
	for _, r := range results {
		j := resultJSON{
			File: r.Suite.File, Line: r.Step.Line, Name: r.Name(), Status: r.Status, Skip: r.Step.Skip,
			Got: r.Got, Want: r.Step.Want.Verdict, Rule: r.Rule, Problems: r.Problems, Micros: r.Elapsed.Microseconds(),
		}
		if r.Status == Failed {
			j.Decided, j.Repro = deciding(r), r.Repro
		}
		list = append(list, j)
	}
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Summary
		Tests []resultJSON `json:"tests"`
	}{Summarize(results), list})
}

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
