package rulestest

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/modelform"
	"github.com/dogwooddb/dogwood/rules"
)

var record = flag.Bool("record", false, "record in which tests the second forms of the data models differ")

// TestForms runs the operations of the data models in their second forms, the tests of these,
// and the tests of the first forms with the rules and the document of the second. Together they
// reach every rule. The second form decides the tests of the first alike, except for those that
// are on record in testdata/forms.txt: operations without a copy that the server keeps, and trees
// that do not occur with a document. After a change of the rules,
//
//	go test ./rules/rulestest -run TestForms -record
//
// records the differences anew, to be reviewed.
func TestForms(t *testing.T) {
	models, err := filepath.Glob("../../testdata/models/*/declared.json")
	if err != nil || len(models) != 6 {
		t.Fatalf("%d models: %v", len(models), err)
	}
	var differences strings.Builder
	for _, file := range models {
		f := newFormTest(t, filepath.Dir(file))
		for _, form := range f.forms[1:] {
			f.run(f.operations(form))
		}
		f.run(mustLoad(t, filepath.Join(f.dir, "declared.rules-test.json")))
		f.compare(&differences)
		if got := f.coverage.Report().Evaluated; got != 100 {
			t.Errorf("%s: %.1f %% of the rules evaluated, want all", f.dir, got)
		}
	}
	const golden = "testdata/forms.txt"
	if *record {
		if err := os.WriteFile(golden, []byte(differences.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := differences.String(); got != string(want) {
		t.Errorf("the second forms differ from the first in\n%swant\n%s", got, want)
	}
}

// A formTest is a model with the rules of its second form.
type formTest struct {
	t        *testing.T
	dir      string
	forms    []modelform.Form
	second   *Suite // for its rules and its document
	rules    *rules.Ruleset
	coverage *rules.Coverage
}

func newFormTest(t *testing.T, dir string) *formTest {
	t.Helper()
	f := &formTest{t: t, dir: dir, second: mustLoad(t, filepath.Join(dir, "declared.rules-test.json"))}
	var err error
	if f.forms, err = modelform.Load(dir); err != nil {
		t.Fatal(err)
	}
	if f.second.Document == nil || f.second.Rules.Text != f.forms[1].Rules {
		t.Fatalf("%s: the tests are not about the second form", dir)
	}
	if f.rules, err = f.second.Rules.Compile(); err != nil {
		t.Fatal(err)
	}
	f.coverage = rules.NewCoverage(f.rules)
	return f
}

func (f *formTest) run(s *Suite) {
	f.t.Helper()
	results, err := (&Runner{Traced: f.coverage.Add}).Run(f.t.Context(), s, f.rules, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	wantAllPassed(f.t, results)
}

// operations returns those of the model in a form, without those that it accepts alone.
func (f *formTest) operations(form modelform.Form) *Suite {
	f.t.Helper()
	file := filepath.Join(f.dir, "ops.json")
	text, err := os.ReadFile(file)
	if err != nil {
		f.t.Fatal(err)
	}
	var ops map[string]json.RawMessage
	var steps []map[string]json.RawMessage
	var invariants []json.RawMessage
	for _, err := range []error{json.Unmarshal(text, &ops), json.Unmarshal(ops["steps"], &steps), json.Unmarshal(ops["invariants"], &invariants)} {
		if err != nil {
			f.t.Fatal(err)
		}
	}
	id := func(step map[string]json.RawMessage) string { return strings.Trim(string(step["id"]), `"`) }
	steps = slices.DeleteFunc(steps, func(step map[string]json.RawMessage) bool {
		_, alone := form.Accepted[id(step)]
		return alone
	})
	encode := func(v any) json.RawMessage {
		text, err := json.Marshal(v)
		if err != nil {
			f.t.Fatal(err)
		}
		return text
	}
	for _, step := range steps {
		w, ok := form.Writes[id(step)]
		if !ok {
			continue
		}
		step["op"], step["path"] = encode(w.Op), encode(w.Path)
		if delete(step, "value"); w.Value != nil {
			step["value"] = w.Value
		}
		if delete(step, "key"); w.Key != "" {
			step["key"] = encode(w.Key)
		}
	}
	if invariants, err = form.Invariants(invariants); err != nil {
		f.t.Fatal(err)
	}
	ops["steps"], ops["invariants"] = encode(steps), encode(invariants)
	s, err := Parse(file, string(encode(ops)), func(name string) (string, error) {
		text, err := os.ReadFile(filepath.Join(f.dir, filepath.Base(name)))
		return string(text), err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	s.Rules, s.Document = f.second.Rules, f.second.Document
	return s
}

// compare writes the tests of the first form that the second decides otherwise.
func (f *formTest) compare(to *strings.Builder) {
	f.t.Helper()
	name := filepath.Base(f.dir)
	s := mustLoad(f.t, filepath.Join(f.dir, name+".rules-test.json"))
	s.Rules, s.Document = f.second.Rules, f.second.Document
	results, err := (&Runner{Traced: f.coverage.Add}).Run(f.t.Context(), s, f.rules, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, r := range results {
		if r.Step.Want.Verdict != "" && r.Got != r.Step.Want.Verdict {
			fmt.Fprintf(to, "%s: %s instead of %s: %s %s\n", name, r.Got, r.Step.Want.Verdict, r.Name(), r.Step.Op.Value)
		}
	}
}
