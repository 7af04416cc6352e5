package rules

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

func coverageOf(t *testing.T, r *Ruleset, requests ...*Request) *Coverage {
	t.Helper()
	c := NewCoverage(r)
	for _, q := range requests {
		x, err := r.Explain(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		c.Add(x)
	}
	return c
}

func TestCoverage(t *testing.T) {
	r := mustRules(t, `{"rules":{"a":{".read":"auth != null && data.val() > 1", ".write":false},
		"$k":{".read":"$k == 'x' || auth.n > 2"}}}`)
	read := func(path string, auth Auth) *Request {
		return &Request{Op: OpRead, Path: tree.MustParsePath(path), Auth: auth, Data: stored{tree.MustParseNode(`{"a":5}`)}}
	}
	signedIn := NewAuth(`{"uid":"u"}`)
	c := coverageOf(t, r, read("a", signedIn), read("a", Auth{}), read("x", signedIn), read("y", signedIn), read("y", Auth{}))
	c.Add(&Trace{Steps: []Step{{Rule: &Rule{Path: "/of/another"}}}})
	report := c.Report()
	var lines []string
	line := func(n Counts, text string) {
		lines = append(lines, strings.Join([]string{digits(n), text, strings.Join(n.Samples, ", ")}, " | "))
	}
	for _, rule := range report.Rules {
		line(rule.Counts, rule.Path)
		for _, x := range rule.Expressions {
			if rule.Source[x.From:x.To] != x.Text {
				t.Errorf("%s spans %s", x.Text, rule.Source[x.From:x.To])
			}
			line(x.Counts, x.Text)
		}
	}
	want := []string{
		"110 | /a/.read | ",
		"110 | auth != null && data.val() > 1 | ",
		"110 | auth != null | ",
		"100 | data.val() > 1 | 5",
		"000 | /a/.write | ",
		"102 | /$k/.read | the left operand must be a number or a string, not null",
		"100 | $k == 'x' || auth.n > 2 | ",
		`120 | $k == 'x' | "x", "y"`,
		"002 | auth.n > 2 | null, the left operand must be a number or a string, not null",
	}
	if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if report.Evaluated != 100*2.0/3 || report.Outcomes != 100*8.0/13 {
		t.Errorf("%v%% evaluated, %v%% of outcomes", report.Evaluated, report.Outcomes)
	}
	if text, err := json.Marshal(report); err != nil || strings.Contains(string(text), "null,\"") {
		t.Errorf("JSON: %s, %v", text, err)
	}
}

func digits(n Counts) string {
	return string([]byte{byte('0' + n.True), byte('0' + n.False), byte('0' + n.Error)})
}

func TestCoverageOfNothing(t *testing.T) {
	if r := NewCoverage(new(Ruleset)).Report(); r.Evaluated != 100 || r.Outcomes != 100 {
		t.Errorf("%+v", r)
	}
	if r := NewCoverage(Open()).Report(); r.Evaluated != 0 || r.Outcomes != 0 || !r.Rules[0].Never() {
		t.Errorf("%+v", r)
	}
}

func TestCoverageIsConcurrent(t *testing.T) {
	r, q := memberRead(t)
	x, err := r.Explain(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	c := NewCoverage(r)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			c.Add(x)
			c.Report()
		})
	}
	wg.Wait()
	if n := c.Report().Rules[0].True; n != 10 {
		t.Errorf("%d times true, want 10", n)
	}
}
