package invariant

import (
	"fmt"
	"strings"
	"testing"
)

func TestMistakes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`1`, "an invariant is an object"},
		{`null`, "an invariant is an object"},
		{`{"kind": "ref", "from": "a", "to": "b"}`, "an invariant has no id"},
		{`{"id": 1}`, "invariant : id, kind and text are texts"},
		{`{"id": "1", "kind": "sideways"}`, `invariant 1: unknown kind "sideways"`},
		{`{"id": "1", "kind": "ref", "from": "a"}`, `invariant 1: ref needs "to"`},
		{`{"id": "1", "kind": "ref", "from": "a", "to": "b", "limit": 3}`, `invariant 1: ref has no "limit"`},
		{`{"id": "1", "kind": "ref", "From": "a", "to": "b"}`, `invariant 1: ref needs "from"`},
		{`{"id": "1", "kind": "ref", "from": "a#", "to": "b"}`, `invariant 1: "a#" is no path`},
		{`{"id": "1", "kind": "ref", "from": "", "to": "b"}`, `invariant 1: "" is no path`},
		{`{"id": "1", "kind": "ref", "from": null, "to": "b"}`, `invariant 1: "" is no path`},
		{`{"id": "1", "kind": "ref", "from": "$", "to": "b"}`, `invariant 1: "$" is no path`},
		{`{"id": "1", "kind": "ref", "from": 1, "to": "b"}`, `invariant 1: a pattern is a text`},
		{`{"id": "1", "kind": "ref", "from": "a", "to": ["b", "c"]}`, "invariant 1: one path in to is expected"},
		{`{"id": "1", "kind": "ref", "from": "a/$x", "to": "b/$y"}`, `invariant 1: "b/$y": $y is not in "a/$x"`},
		{`{"id": "1", "kind": "ref", "from": "a/*", "to": "b/*"}`, `invariant 1: "b/*": * cannot be in a path that is looked up`},
		{`{"id": "1", "kind": "ref", "from": "a/{f}", "to": "b"}`, `invariant 1: "a/{f}": {} can only be in a path that is looked up`},
		{`{"id": "1", "kind": "ref", "from": "` + strings.Repeat("a/", 33) + `", "to": "b"}`, "is deeper than 32"},
		{`{"id": "1", "kind": "inverse", "a": "a/$x/$y", "b": "b/$x"}`, `invariant 1: "a/$x/$y": $y is not in "b/$x"`},
		{`{"id": "1", "kind": "fan", "each": "a", "to": []}`, "invariant 1: no path in to"},
		{`{"id": "1", "kind": "required", "each": "a", "fields": []}`, "invariant 1: no fields"},
		{`{"id": "1", "kind": "required", "each": "a", "fields": ["."]}`, `invariant 1: "." is no path`},
		{`{"id": "1", "kind": "max", "over": "a", "limit": "3"}`, "invariant 1: "},
		{`{"id": "1", "kind": "count", "counter": "a/{f}", "over": "b"}`, "invariant 1: count has no {} in its patterns"},
		{`{"id": "1", "kind": "count", "counter": "a/$u", "over": "b", "where": {"equalsVar": "$u"}}`, `invariant 1: where needs "child"`},
		{`{"id": "1", "kind": "count", "counter": "a/$u", "over": "b", "where": {"child": "c", "equalsVar": "$v"}}`, `invariant 1: $v is not in "a/$u"`},
		{`{"id": "1", "kind": "varEquals", "from": "a/$u", "path": "b", "var": "$v"}`, `invariant 1: $v is not in "a/$u"`},
	} {
		if _, err := Parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Parse(%s): %v, want %s", c.text, err, c.want)
		}
	}
}

func TestReadMistakes(t *testing.T) {
	one := `{"id": "%d", "kind": "ref", "from": "a", "to": "b"}`
	var many []string
	for i := range maxInvariants + 1 {
		many = append(many, fmt.Sprintf(one, i))
	}
	for _, c := range []struct{ text, want string }{
		{`{}`, `no list "invariants", or an empty one`},
		{`{"invariants": []}`, `no list "invariants", or an empty one`},
		{"{\n\"invariants\": [\n1,]}", "line 3: invalid character ']' looking for beginning of value"},
		{"{\n\"invariants\": 5}", "line 2: "},
		{`{"invariants": [` + fmt.Sprintf(one, 1) + "," + fmt.Sprintf(one, 1) + `]}`, "two invariants have the id 1"},
		{`{"invariants": [` + strings.Join(many, ",") + `]}`, "more than 1000 invariants"},
		{strings.Repeat(" ", maxFile+1), "more than 67108864 bytes"},
	} {
		if _, err := Read(strings.NewReader(c.text)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("Read(%.40s…): %v, want %s", c.text, err, c.want)
		}
	}
}
