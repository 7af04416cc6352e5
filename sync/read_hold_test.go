package sync

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree"
)

// The memory that a read takes is asked for after the rules have allowed it, and without
// what they read themselves: else its callers could learn how large that is.
func TestRulesAskForNoMemory(t *testing.T) {
	tier.Unraced(t)
	const large = 3 << 20
	db := openTest(t, Options{Rules: parseRules(t, `{"rules":{
		"shut":{".read":"root.child('secret').val().length < 10"},
		"open":{".read":"root.child('secret').val().length > 10"}
	}}`)})
	set(t, db, "/", `{"secret":"`+strings.Repeat("x", large)+`","shut":1,"open":{"small":1,"large":"`+strings.Repeat("y", large)+`"}}`)
	var asked []int64
	errFull := errors.New("no memory")
	read := func(path string) Read {
		return Read{Path: tree.MustParsePath(path), Plain: true, OneShot: true, Hold: func(total int64) error {
			asked = append(asked, total)
			return errFull
		}}
	}
	for _, c := range []struct {
		paths []string
		want  []error // of each; one for all
		asked []int64
	}{
		{[]string{"/shut"}, []error{fault.ErrDenied}, nil},
		{[]string{"/open/small"}, []error{nil}, nil},
		{[]string{"/open/large"}, []error{errFull}, []int64{large}},
		{[]string{"/open/small", "/shut", "/open/small"}, []error{nil, fault.ErrDenied, nil}, nil},
		{[]string{"/open/small", "/shut", "/open/large"}, []error{errFull}, []int64{large}},
	} {
		name := strings.Join(c.paths, " ")
		if len(c.paths) == 1 {
			asked = nil
			if _, err := db.Get(t.Context(), read(c.paths[0])); !errors.Is(err, c.want[0]) || !about(asked, c.asked) {
				t.Errorf("%s: %v, asked for %d, want %v and %d", name, err, asked, c.want[0], c.asked)
			}
		}
		asked = nil
		var lookups []Lookup
		for _, path := range c.paths {
			lookups = append(lookups, Lookup{Read: read(path)})
		}
		all, err := db.GetAll(t.Context(), lookups)
		got := []error{err}
		if err == nil {
			got = nil
			for _, one := range all.Found {
				got = append(got, one.Err)
			}
		}
		if !slices.EqualFunc(got, c.want, errors.Is) || !about(asked, c.asked) {
			t.Errorf("together %s: %v, asked for %d, want %v and %d", name, got, asked, c.want, c.asked)
		}
	}
}

// about reports whether sizes are as wanted, but for what texts take around values.
func about(got, want []int64) bool {
	return slices.EqualFunc(got, want, func(g, w int64) bool { return g >= w && g < w+1<<10 })
}
