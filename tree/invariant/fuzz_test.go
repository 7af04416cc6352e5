package invariant

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// Whatever file is accepted can be checked, and says the same each time.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("../../testdata/models/*/ops.json")
	if err != nil || len(files) == 0 {
		f.Fatalf("no models: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		// Only the invariants: the steps would keep the fuzzer busy.
		list, _, found := strings.Cut(string(text), `"steps"`)
		if !found {
			f.Fatalf("%s has no steps", file)
		}
		f.Add(strings.TrimRight(list, ", \n") + "}")
	}
	f.Add(`{"invariants": [{"id": "1", "kind": "fan", "each": "$a/$a/*", "to": ["{}/$a", "b/{b}"]}]}`)
	f.Add(`{"invariants": [{"id": "1", "kind": "inverseValue", "a": "users/$u/login", "b": "$l", "lower": true}]}`)
	f.Add(`{"invariants": [{"id": "1", "kind": "key", "each": "users/$u", "is": "x{b}{login}", "replace": ["A", ""], "where": {"child": "b", "equals": "a"}}]}`)
	f.Add(`{"invariants": [{"id": "1", "kind": "valueEquals", "from": "groups/$g", "path": "users/{owner}/a", "value": 2, "where": {"child": "owner", "equals": "a"}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		r := stored(t, `{"users": {"a": {"a": 1, "b": "a", "login": "A"}}, "groups": {"a": {"owner": "a", "members": {"a": true}}}, "b": {"a": {"a": {"b": 1}}}, "a": 2}`)
		for _, v := range list {
			first := check(t, v, r)
			if again := check(t, v, r); !slices.Equal(first, again) {
				t.Errorf("%s: %q, then %q", v.ID, first, again)
			}
			for _, problem := range first {
				if p, _, _ := strings.Cut(problem, ": "); !isPath(p) {
					t.Errorf("%s: %q does not begin with a path", v.ID, problem)
				}
			}
		}
	})
}

func isPath(path string) bool {
	_, err := tree.ParsePath(path)
	return err == nil
}
