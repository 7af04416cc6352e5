package rulestest

import (
	"bytes"
	"path/filepath"
	"testing"
)

// run runs a test file and returns its results.
func run(t *testing.T, r *Runner, file string) []*Result {
	t.Helper()
	s, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	rs, compileErr := s.Rules.Compile()
	results, err := r.Run(t.Context(), s, rs, compileErr)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func wantAllPassed(t *testing.T, results []*Result) {
	t.Helper()
	var failed []*Result
	for _, r := range results {
		if r.Status == Failed {
			failed = append(failed, r)
		}
	}
	if len(failed) > 0 {
		var b bytes.Buffer
		_ = WriteText(&b, failed, false)
		t.Error(b.String())
	}
}

// TestModels runs every step of the data models but those that land, with the
// invariants after each accepted write.
func TestModels(t *testing.T) {
	files, err := filepath.Glob("../../testdata/models/*/ops.json")
	if err != nil || len(files) != 6 {
		t.Fatalf("%d models: %v", len(files), err)
	}
	var sum Summary
	for _, file := range files {
		results := run(t, &Runner{}, file)
		wantAllPassed(t, results)
		s := Summarize(results)
		sum.Passed += s.Passed
		sum.Skipped += s.Skipped
	}
	if want := (Summary{Passed: 244, Skipped: 3}); sum != want {
		t.Errorf("%s, want %s", sum, want)
	}
}

// TestVectors runs the single cases of the rules specification.
func TestVectors(t *testing.T) {
	results := run(t, &Runner{}, "../../testdata/vectors/rules-cases.json")
	wantAllPassed(t, results)
	if len(results) != 301 {
		t.Errorf("%d cases, want 301", len(results))
	}
}
