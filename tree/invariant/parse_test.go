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
		{`{"kind": "ref", "from": "a", "to": "b"}`, "an invariant: it has no id"},
		{`{"id": 1}`, "an invariant: id, kind and text are texts"},
		{`{"id": "1", "kind": "sideways"}`, `invariant 1: unknown kind "sideways"`},
		{`{"id": "1", "kind": "ref", "from": "a"}`, `invariant 1: ref needs "to"`},
		{`{"id": "1", "kind": "ref", "from": "a", "to": "b", "limit": 3}`, `invariant 1: ref has no "limit"`},
		{`{"id": "1", "kind": "ref", "From": "a", "to": "b"}`, `invariant 1: "From" is written "from"`},
		{`{"id": "1", "Kind": "ref", "from": "a", "to": "b"}`, `invariant 1: "Kind" is written "kind"`},
		{`{"ID": "1", "kind": "ref", "from": "a", "to": "b"}`, `an invariant: "ID" is written "id"`},
		{`{"id": "1", "kind": "ref", "kind": "fan", "from": "a", "to": "b"}`, `invariant 1: "kind" is there twice`},
		{`{"id": "1", "kind": "ref", "from": "a", "to": "b", "id": "2"}`, `invariant 1: "id" is there twice`},
		{`{"id": "1", "kind": "ref", "from": "a", "from": "c", "to": "b"}`, `invariant 1: "from" is there twice`},
		{`{"id": "1", "kind": "ref", "from": "a", "to": "b", "text": null}`, `invariant 1: "text" is null`},
		{`{"id": "1", "kind": "ref", "from": "a#", "to": "b"}`, `invariant 1: "a#" is no path`},
		{`{"id": "1", "kind": "ref", "from": "", "to": "b"}`, `invariant 1: "" is no path`},
		{`{"id": "1", "kind": "ref", "from": null, "to": "b"}`, `invariant 1: "from" is null`},
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
		{`{"id": "1", "kind": "max", "over": "a", "limit": -1}`, "invariant 1: the limit is -1; it is 0 or more"},
		{`{"id": "1", "kind": "max", "over": "a", "limit": 1.5}`, "invariant 1: "},
		{`{"id": "1", "kind": "max", "over": "a", "limit": null}`, `invariant 1: "limit" is null`},
		{`{"id": "1", "kind": "max", "over": "a", "limit": 1, "limit": 2}`, `invariant 1: "limit" is there twice`},
		{`{"id": "1", "kind": "count", "counter": "a/{f}", "over": "b"}`, "invariant 1: count has no {} in its patterns"},
		{`{"id": "1", "kind": "count", "counter": "a/$u", "over": "b", "where": {"equalsVar": "$u"}}`, `invariant 1: where needs "child"`},
		{`{"id": "1", "kind": "count", "counter": "a/$u", "over": "b", "where": {"child": "c", "equalsVar": "$v"}}`, `invariant 1: $v is not in "a/$u"`},
		{`{"id": "1", "kind": "count", "counter": "a/$u", "over": "b", "where": {"Child": "c", "equalsVar": "$u"}}`, `invariant 1: where: "Child" is written "child"`},
		{`{"id": "1", "kind": "count", "counter": "a/$u", "over": "b", "where": {"child": "c", "child": "d", "equalsVar": "$u"}}`, `invariant 1: where: "child" is there twice`},
		{`{"id": "1", "kind": "count", "counter": "a/$u", "over": "b", "where": {"child": "c", "equalVar": "$u"}}`, `invariant 1: where: unknown "equalVar"`},
		{`{"id": "1", "kind": "count", "counter": "a/$u", "over": "b", "where": {"child": null, "equalsVar": "$u"}}`, `invariant 1: where: "child" is null`},
		{`{"id": "1", "kind": "count", "counter": "a/$u", "over": "b", "where": 1}`, "invariant 1: where: no object"},
		{`{"id": "1", "kind": "count", "counter": "a/$u", "over": "b", "where": {"child": "c", "equals": "$u"}}`, `invariant 1: where has no "equals" in a count`},
		{`{"id": "1", "kind": "key", "each": "a/*", "is": "{b}", "where": {"child": "c", "equalsVar": "$u"}}`, `invariant 1: where needs "equals", and has no "equalsVar"`},
		{`{"id": "1", "kind": "key", "each": "a/*", "is": "{b}", "where": {"child": "c"}}`, `invariant 1: where needs "equals", and has no "equalsVar"`},
		{`{"id": "1", "kind": "key", "each": "a/*", "is": "{b}", "where": {"child": "c", "equals": ["x"]}}`, "invariant 1: where: a constant is a text, a number, true or false"},
		{`{"id": "1", "kind": "valueEquals", "from": "a/$u", "path": "b", "value": {"x": 1}}`, "invariant 1: a constant is a text, a number, true or false"},
		{`{"id": "1", "kind": "valueEquals", "from": "a/$u", "path": "b/$v", "value": 1}`, `invariant 1: "b/$v": $v is not in "a/$u"`},
		{`{"id": "1", "kind": "inverseValue", "a": "a/{f}", "b": "b/$y"}`, `invariant 1: "a/{f}": inverseValue has no {} and no * in its patterns`},
		{`{"id": "1", "kind": "inverseValue", "a": "a/$x", "b": "b/*"}`, `invariant 1: "b/*": inverseValue has no {} and no * in its patterns`},
		{`{"id": "1", "kind": "inverseValue", "a": "a/$x/$z", "b": "b/$y"}`, `invariant 1: "a/$x/$z" and "b/$y": each has one variable that the other one has not`},
		{`{"id": "1", "kind": "inverseValue", "a": "a/$x", "b": "b/$x"}`, `invariant 1: "a/$x" and "b/$x": each has one variable that the other one has not`},
		{`{"id": "1", "kind": "key", "each": "a/$x", "is": "u"}`, `invariant 1: "u" has no {field}`},
		{`{"id": "1", "kind": "key", "each": "a/$x", "is": "u{id"}`, `invariant 1: "u{id" has a { without a field`},
		{`{"id": "1", "kind": "key", "each": "a/$x", "is": "u{a/b}"}`, `invariant 1: "u{a/b}" has a { without a field`},
		{`{"id": "1", "kind": "key", "each": "a/$x", "is": "u{a{b}"}`, `invariant 1: "u{a{b}" has a { without a field`},
		{`{"id": "1", "kind": "key", "each": "a/$x", "is": "u}{id}"}`, `invariant 1: "u}{id}" has a } without a {`},
		{`{"id": "1", "kind": "key", "each": "a/$x", "is": 5}`, "invariant 1: a key is a text"},
		{`{"id": "1", "kind": "key", "each": "a/x", "is": "{id}"}`, `invariant 1: "a/x": its last key is always the same`},
		{`{"id": "1", "kind": "key", "each": "a/{x}", "is": "{id}"}`, `invariant 1: "a/{x}": {} can only be in a path that is looked up`},
		{`{"id": "1", "kind": "key", "each": "a/$x", "is": "{id}", "replace": ["", "x"]}`, "invariant 1: replace is a list of two texts, the first not empty"},
		{`{"id": "1", "kind": "key", "each": "a/$x", "is": "{id}", "replace": ["x"]}`, "invariant 1: replace is a list of two texts, the first not empty"},
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
		{`null`, "no object"},
		{`{"Invariants": [` + fmt.Sprintf(one, 1) + `]}`, `"Invariants" is written "invariants"`},
		{`{"invariants": [` + fmt.Sprintf(one, 1) + `], "INVARIANTS": []}`, `"INVARIANTS" is written "invariants"`},
		{`{"invariants": [` + fmt.Sprintf(one, 1) + `], "steps": [], "invariants": [` + fmt.Sprintf(one, 2) + `]}`, `"invariants" is there twice`},
		{strings.Repeat(" ", maxFile+1), "more than 67108864 bytes"},
	} {
		if _, err := Read(strings.NewReader(c.text)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("Read(%.40s…): %v, want %s", c.text, err, c.want)
		}
	}
}
