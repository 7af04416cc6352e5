package rulesmutate

import (
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/rules/rulestest"
)

// TestSuggest adds the suggested tests to a file, and then no mutant survives but
// those that mean the same.
func TestSuggest(t *testing.T) {
	const head = `{
		"rules": {"rules": {"rooms": {"$r": {
			".read": "auth != null && root.child('members').child($r).hasChild(auth.uid)",
			".write": "auth.uid == 'ann' && (newData.exists() || !data.child('x').exists())",
			"name": {".validate": "newData.isString() && newData.val().length <= 80"}}}}},
		"users": {"anon": null, "ann": {"uid": "ann"}, "bo": {"uid": "bo"}},
		"data": {"members": {"r1": {"ann": true}}, "rooms": {"r1": {"name": "Lobby"}}},
		"tests": [
	`
	s := suite(t, head+`{"as": "ann", "write": "/rooms/r1/name", "value": "Hall", "expect": "allow"}]}`)
	survivors := surviving(t, s)
	search := Search{Source: &s.Rules, Suites: []*rulestest.Suite{s}, World: rulestest.World{Root: s.Groups[0].Data}, Budget: 30_000, Seed: 1}
	list, err := search.Suggest(t.Context(), survivors)
	if err != nil {
		t.Fatal(err)
	}
	var tests []string
	for _, sug := range list {
		tests = append(tests, sug.Text(s.Actors))
	}
	s = suite(t, head+strings.Join(tests, ",\n")+"]}")
	var left []string
	for _, m := range surviving(t, s) {
		left = append(left, m.Kind+" "+m.To)
	}
	want := []string{
		"drop-operand root.child('members').child($r).hasChild(auth.uid)", // hasChild(null) fails
		"drop-operand newData.val().length <= 80",                         // what is no string has no length
	}
	if !slices.Equal(left, want) {
		t.Errorf("%q survive, want %q; the suggestions were\n%s", left, want, strings.Join(tests, "\n"))
	}
}

func surviving(t *testing.T, s *rulestest.Suite) []*Mutant {
	t.Helper()
	r, err := Run(t.Context(), &s.Rules, []*rulestest.Suite{s}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var list []*Mutant
	for _, res := range r.Results {
		if res.Fate == Survived {
			list = append(list, res.Mutant)
		}
	}
	return list
}
