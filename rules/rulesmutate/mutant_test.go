package rulesmutate

import (
	"fmt"
	"slices"
	"testing"

	"github.com/dogwooddb/dogwood/rules/rulestest"
)

func TestMutants(t *testing.T) {
	for _, c := range []struct {
		rule string
		want []string
	}{
		{`".read": true`, []string{"rule-false true -> false"}},
		{`".read": "auth.uid == 'a'"`, []string{
			"rule-true auth.uid == 'a' -> true",
			"rule-false auth.uid == 'a' -> false",
			"comparison auth.uid == 'a' -> auth.uid != 'a'",
		}},
		{`".validate": "!newData.exists()"`, []string{
			"drop-validate !newData.exists() -> true",
			"rule-false !newData.exists() -> false",
			"negate !newData.exists() -> newData.exists()",
			"swap-data newData.exists() -> data.exists()",
		}},
		{`".write": "data.exists() || now < 5"`, []string{
			"rule-true data.exists() || now < 5 -> true",
			"rule-false data.exists() || now < 5 -> false",
			"logic data.exists() || now < 5 -> data.exists() && now < 5",
			"drop-operand data.exists() || now < 5 -> now < 5",
			"drop-operand data.exists() || now < 5 -> data.exists()",
			"negate data.exists() -> !data.exists()",
			"swap-data data.exists() -> newData.exists()",
			"comparison now < 5 -> now <= 5",
			"comparison now < 5 -> now >= 5",
			"number now < 5 -> now < 6",
			"number now < 5 -> now < 4",
		}},
		{`".read": "data.exists() ? true : auth == null"`, []string{
			"rule-true data.exists() ? true : auth == null -> true",
			"rule-false data.exists() ? true : auth == null -> false",
			"branch data.exists() ? true : auth == null -> auth == null",
			"negate data.exists() -> !data.exists()",
			"comparison auth == null -> auth != null",
		}},
	} {
		src := &rulestest.Source{Text: `{"rules":{` + c.rule + `}}`}
		list, err := Mutants(src)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range list {
			got = append(got, fmt.Sprintf("%s %s -> %s", m.Kind, m.From, m.To))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got\n%q\nwant\n%q", c.rule, got, c.want)
		}
	}
}

func suite(t *testing.T, text string) *rulestest.Suite {
	t.Helper()
	s, err := rulestest.Parse("t.rules-test.json", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRun(t *testing.T) {
	s := suite(t, `{
		"rules": {"rules": {"a": {".read": "auth != null && now > 5"}}},
		"users": {"anon": null, "ann": {"uid": "ann"}},
		"now": 10,
		"tests": [
			{"as": "ann", "read": "/a", "expect": "allow"},
			{"as": "anon", "read": "/a", "expect": "deny"},
		],
		"mutants": {"ignore": [
			{"rule": "/a/.read", "mutant": "number", "why": "any number below 10 will do"},
			{"rule": "/b/.read", "why": "gone"},
		]},
	}`)
	r, err := Run(t.Context(), &s.Rules, []*rulestest.Suite{s}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var survived []string
	for _, res := range r.Results {
		if res.Fate == Survived {
			survived = append(survived, res.From+" -> "+res.To)
		}
	}
	want := []string{"auth != null && now > 5 -> auth != null", "now > 5 -> now >= 5"}
	if !slices.Equal(survived, want) {
		t.Errorf("%q survived, want %q", survived, want)
	}
	if killed, explained := r.Count(Killed), r.Count(Explained); killed != 6 || explained != 2 {
		t.Errorf("%d killed and %d explained, want 6 and 2", killed, explained)
	}
	if len(r.Stale) != 1 || r.Stale[0].Rule != "/b/.read" {
		t.Errorf("stale explanations %v, want that of /b", r.Stale)
	}
	if got := r.KillRate(); got != 75 {
		t.Errorf("kill rate %v, want 75", got)
	}
}

func TestRunNeedsPassingTests(t *testing.T) {
	s := suite(t, `{"rules": {"rules": {".read": true}}, "users": {"anon": null}, "tests": [{"as": "anon", "read": "/", "expect": "deny"}]}`)
	if _, err := Run(t.Context(), &s.Rules, []*rulestest.Suite{s}, nil); err == nil {
		t.Error("no error, although a test fails without a mutant")
	}
}
