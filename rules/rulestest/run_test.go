package rulestest

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dogwooddb/dogwood/rules"
)

func mustLoad(t *testing.T, file string) *Suite {
	t.Helper()
	s, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return s
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
// invariants after each accepted write, and the tests beside them. Together they
// reach every rule of the models.
func TestModels(t *testing.T) {
	models, err := filepath.Glob("../../testdata/models/*/ops.json")
	if err != nil || len(models) != 6 {
		t.Fatalf("%d models: %v", len(models), err)
	}
	var steps Summary
	for _, model := range models {
		dir := filepath.Dir(model)
		files, err := Find(dir)
		files = slices.DeleteFunc(files, func(file string) bool { return filepath.Base(file) == "declared.rules-test.json" }) // see TestForms
		if err != nil || len(files) != 2 {
			t.Fatalf("test files of %s: %q (%v)", dir, files, err)
		}
		rs, err := mustLoad(t, files[0]).Rules.Compile()
		if err != nil {
			t.Fatal(err)
		}
		coverage := rules.NewCoverage(rs)
		for _, file := range files {
			results, err := (&Runner{Traced: coverage.Add}).Run(t.Context(), mustLoad(t, file), rs, nil)
			if err != nil {
				t.Fatal(err)
			}
			wantAllPassed(t, results)
			if filepath.Base(file) == "ops.json" {
				s := Summarize(results)
				steps.Passed += s.Passed
				steps.Skipped += s.Skipped
			}
		}
		if got := coverage.Report().Evaluated; got != 100 {
			t.Errorf("%s: %.1f %% of the rules evaluated, want all", dir, got)
		}
	}
	if want := (Summary{Passed: 244, Skipped: 3}); steps != want {
		t.Errorf("%s of the operations, want %s", steps, want)
	}
}

// TestVectors runs the single cases of the rules specification.
func TestVectors(t *testing.T) {
	s := mustLoad(t, "../../testdata/vectors/rules-cases.json")
	results, err := (&Runner{}).Run(t.Context(), s, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantAllPassed(t, results)
	if len(results) != 301 {
		t.Errorf("%d cases, want 301", len(results))
	}
}
