package rulestest

import (
	"encoding/json"
	"io"
)

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
