package lang_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/rules/lang"
)

// vectors reads a file of recorded or documented behaviour.
func vectors(t testing.TB, name string, into any) {
	t.Helper()
	data, err := os.ReadFile("../../testdata/vectors/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

// compile parses and checks a rule. It returns the message of the error, or "".
func compile(src string, s lang.Scope) string {
	x, err := lang.Parse(src, s.Dialect)
	if err == nil {
		err = lang.Check(x, s)
	}
	if err != nil {
		return err.Msg
	}
	return ""
}

// scopeAt returns the scope of a rule of a kind (read, write, validate) at path.
func scopeAt(kind, path string) lang.Scope {
	s := lang.Scope{NewData: kind != "read"}
	for _, key := range strings.Split(path, "/") {
		if strings.HasPrefix(key, "$") {
			s.Captures = append(s.Captures, key)
		}
	}
	return s
}

// A rule is one rule of a rules document.
type rule struct{ kind, path, src string }

// rulesOf lists the rules below a node of a document that are expressions.
func rulesOf(node map[string]any, path string) []rule {
	var all []rule
	for key, v := range node {
		switch v := v.(type) {
		case map[string]any:
			all = append(all, rulesOf(v, path+"/"+key)...)
		case string:
			if key != ".indexOn" {
				all = append(all, rule{strings.TrimPrefix(key, "."), path, v})
			}
		}
	}
	return all
}

type ruleCase struct {
	Name, Expect string
	Rules        any
	Given        struct{ Rules map[string]any }
	When         struct{ Op, Kind, At, Expression, Template string }
}

// documentCases are refused for what is outside expressions.
var documentCases = map[string]bool{
	"doc: rules is a string":      true,
	"doc: child node is a string": true,
}

// TestRulesCases compiles all expressions of the rules cases. What is to be
// refused must have one that is.
func TestRulesCases(t *testing.T) {
	var cases []ruleCase
	vectors(t, "rules-cases.json", &cases)
	accepted, refused := 0, 0
	for _, c := range cases {
		doc, ok := c.Rules.(map[string]any)
		if !ok {
			continue // documents that are no JSON are tested where they are parsed
		}
		rules := rulesOf(doc, "")
		var errs []string
		for _, r := range rules {
			if msg := compile(r.src, scopeAt(r.kind, r.path)); msg != "" {
				errs = append(errs, r.src+": "+msg)
			}
		}
		switch {
		case documentCases[c.Name]:
		case c.Expect != "compile-error" && errs != nil:
			t.Errorf("%s: %q", c.Name, errs)
		case c.Expect == "compile-error" && len(rules) > 0 && errs == nil:
			t.Errorf("%s: %q compiles", c.Name, rules)
		case errs != nil:
			refused++
		default:
			accepted += len(rules)
		}
	}
	if accepted != 231 || refused != 59 {
		t.Errorf("%d rules accepted and %d cases refused, want 231 and 59", accepted, refused)
	}
}

// TestRecordedRules compiles the rules of all recorded requests.
func TestRecordedRules(t *testing.T) {
	var cases []ruleCase
	vectors(t, "prod-observations.json", &cases)
	n := 0
	for _, c := range cases {
		for _, r := range rulesOf(c.Given.Rules, "") {
			n++
			if msg := compile(r.src, scopeAt(r.kind, r.path)); msg != "" {
				t.Errorf("%s: %s: %s", c.Name, r.src, msg)
			}
		}
	}
	if n != 861 {
		t.Errorf("%d rules, want 861", n)
	}
}

// TestRecordedUploads compares the messages of recorded uploads of one rule.
func TestRecordedUploads(t *testing.T) {
	var cases []struct {
		ruleCase
		Then struct{ Message string }
	}
	vectors(t, "prod-observations.json", &cases)
	n := 0
	for _, c := range cases {
		if c.When.Op != "rules-dry-run" {
			continue
		}
		n++
		if got := compile(c.When.Expression, scopeAt(c.When.Kind, c.When.At)); got != c.Then.Message {
			t.Errorf("%s: %q, want %q", c.When.Expression, got, c.Then.Message)
		}
	}
	if n != 99 {
		t.Errorf("%d uploads, want 99", n)
	}
}

// TestRecordedOperands compares the messages for operands of all types in all
// positions.
func TestRecordedOperands(t *testing.T) {
	var cases []struct {
		Name string
		When struct {
			Op, Kind, At, Template string
			Samples                map[string]string
		}
		Then struct {
			Accepted []string
			Refused  map[string][]string
		}
	}
	vectors(t, "prod-observations.json", &cases)
	n := 0
	for _, c := range cases {
		if c.When.Op != "rules-dry-run-each" {
			continue
		}
		want := make(map[string]string)
		for _, sample := range c.Then.Accepted {
			want[sample] = ""
		}
		for msg, samples := range c.Then.Refused {
			for _, sample := range samples {
				want[sample] = msg
			}
		}
		for _, sample := range slices.Sorted(maps.Keys(want)) {
			n++
			src := strings.ReplaceAll(c.When.Template, "@", c.When.Samples[sample])
			if got := compile(src, scopeAt(c.When.Kind, c.When.At)); got != want[sample] {
				t.Errorf("%s: %q, want %q", src, got, want[sample])
			}
		}
	}
	if n != 285 {
		t.Errorf("%d operands, want 285", n)
	}
}
