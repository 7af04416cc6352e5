package rules

import (
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// A stored tree with its queries.
type queried struct{ stored }

func (s queried) Keys(p tree.Path) iter.Seq2[string, error] { return s.stored.Keys(p) }

func (s queried) Query(p tree.Path, q tree.Query) ([]tree.Entry, error) {
	n, err := s.Get(p)
	return q.Entries(n), err
}

func (s queried) Count(p tree.Path, q tree.Query) (int, error) {
	list, err := s.Query(p, q)
	return len(list), err
}

// A .limit has two outcomes: a read keeps to it, or it does not. What no read comes
// by was not evaluated.
func TestCoverageOfLimits(t *testing.T) {
	r := mustRules(t, `{"rules":{".read":true,"m":{"$room":{".limit":2}},"n":{".limit":1},"o":{".limit":9}}}`)
	data := queried{stored{tree.MustParseNode(`{"m":{"one":{"a":1,"b":2,"c":3},"two":{"a":1}},"n":{"a":1}}`)}}
	c := NewCoverage(r)
	c.CountLimits(r)
	for _, path := range []string{"m/one", "m/two", "m/two", "m", "n"} {
		trace, err := r.Explain(t.Context(), &Request{Op: OpRead, Path: tree.MustParsePath(path), Plain: true, Data: data, Children: data})
		if err != nil {
			t.Fatal(err)
		}
		c.Add(trace)
	}
	report := c.Report()
	var got []string
	for _, l := range report.Rules {
		got = append(got, fmt.Sprintf("%s %d:%d %s %d %d", l.Path, l.Line, l.Column, l.Kind, l.True, l.False))
	}
	want := []string{"/.read 1:19 .read 5 0", "/m/$room/.limit 1:47 .limit 2 2", "/n/.limit 1:65 .limit 1 0", "/o/.limit 1:82 .limit 0 0"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if report.Evaluated != 100*3.0/4 || report.Outcomes != 100*4.0/7 {
		t.Errorf("%v%% evaluated, %v%% of outcomes", report.Evaluated, report.Outcomes)
	}
}
