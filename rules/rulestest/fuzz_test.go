package rulestest

import (
	"errors"
	"testing"
)

// FuzzParse reads test files. One that can be read can be run, and every step
// then has a result.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"rules":{"rules":{"a":{".read":"auth.uid == 'x'"}}},"users":{"x":{"uid":"x"}},"tests":[{"as":"x","read":"/a","expect":"allow"}]}`,
		`{"rules":{"rules":{}},"users":{"x":null},"data":{"a":1},"tests":[{"group":"g","steps":[{"as":"x","update":"/","values":{"a/b":{".sv":{"increment":1}}},"expect":"deny"}]}]}`,
		`{"rules":{"rules":{".write":true}},"tests":[{"for":{"v":[1,"a"]},"auth":null,"write":"/${v}","value":"${v}","commit":true,"expect":"allow"}]}`,
		`[{"name":"n","rules":{"rules":{".read":true}},"data":null,"auth":null,"op":{"kind":"read","path":"/x"},"expect":"allow"}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<14 {
			return
		}
		s, err := Parse("f.json", text, func(string) (string, error) { return "", errors.New("no files") })
		if err != nil {
			return
		}
		steps := 0
		for _, g := range s.Groups {
			steps += len(g.Steps)
		}
		rs, compileErr := s.Rules.Compile()
		results, err := (&Runner{}).Run(t.Context(), s, rs, compileErr)
		if err == nil && len(results) != steps {
			t.Errorf("%d results of %d steps", len(results), steps)
		}
	})
}
