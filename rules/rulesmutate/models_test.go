package rulesmutate

import (
	"path/filepath"
	"testing"

	"github.com/dogwooddb/dogwood/rules/rulestest"
)

// TestModels mutates the rules of the data models: their tests kill every mutant
// but those that they explain, and explain none that they kill.
func TestModels(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of mutants")
	}
	models, err := filepath.Glob("../../testdata/models/*/ops.json")
	if err != nil || len(models) != 6 {
		t.Fatalf("%d models: %v", len(models), err)
	}
	for _, model := range models {
		dir := filepath.Dir(model)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel() // mutants are made by one goroutine, and tried by several
			files, err := rulestest.Find(dir)
			if err != nil {
				t.Fatal(err)
			}
			var suites []*rulestest.Suite
			for _, file := range files {
				s, err := rulestest.Load(file)
				if err != nil {
					t.Fatal(err)
				}
				suites = append(suites, s)
			}
			r, err := Run(t.Context(), &suites[0].Rules, suites, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, res := range r.Results {
				if res.Fate == Survived {
					t.Errorf("%s: %s: %s -> %s survives", res.Rule.Path, res.Kind, res.From, res.To)
				}
			}
			for _, ig := range r.Stale {
				t.Errorf("%s: %s: %s -> %s is explained and does not survive", ig.Rule, ig.Mutant, ig.From, ig.To)
			}
			t.Logf("%d killed, %d explained", r.Count(Killed), r.Count(Explained))
		})
	}
}
