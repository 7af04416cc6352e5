package rulesdiff

import (
	"fmt"
	"slices"
	"testing"
)

// A .limit that differs is a change, also where no operation tells.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		old, new string
		want     []string
	}{
		{`{"m": {".limit": 3}}`, `{"m": {".limit": 3}}`, nil},
		{`{"m": {".limit": 3}}`, `{"m": {".limit": 5}}`, []string{"new-grant /m/.limit 3 5"}},
		{`{"m": {".limit": 3}}`, `{"m": {".limit": 2}}`, []string{"new-denial /m/.limit 3 2"}},
		{`{"m": {".limit": 3}}`, `{"m": {}}`, []string{"new-grant /m/.limit 3 0"}},
		{`{"m": {"$a": {".limit": 3}}}`, `{"m": {"$b": {".limit": 3}}}`, nil},
		{`{"m": {"$a": {".limit": 3}}}`, `{"n": {".limit": 1}, "m": {"$b": {".limit": 4}}}`, []string{"new-grant /m/$a/.limit 3 4", "new-denial /n/.limit 0 1"}},
	} {
		cmp := comparer(t, c.old, c.new)
		var got []string
		grants, denials := 0, 0
		for _, l := range cmp.Limits() {
			got = append(got, fmt.Sprintf("%s %s %d %d", l.Kind, l.Rule, l.Old, l.New))
			if l.Kind == NewGrant {
				grants++
			} else {
				denials++
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s -> %s: got %q, want %q", c.old, c.new, got, c.want)
		}
		if cmp.Count(NewGrant) != grants || cmp.Count(NewDenial) != denials {
			t.Errorf("%s -> %s: %d and %d counted, want %d and %d", c.old, c.new, cmp.Count(NewGrant), cmp.Count(NewDenial), grants, denials)
		}
	}
}
