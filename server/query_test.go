package server

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// queryOf parses parameters given as name, value, name, value …
func queryOf(pairs ...string) (tree.Query, error) {
	var ps params
	for i := 0; i < len(pairs); i += 2 {
		ps = append(ps, param{pairs[i], pairs[i+1]})
	}
	return parseQuery(ps)
}

func TestParseQuery(t *testing.T) {
	children := tree.MustParseNode(`{"a":{"h":1},"b":{"h":2},"c":{"h":2},"d":{"h":3}}`)
	for _, c := range []struct {
		pairs []string
		want  string
	}{
		{nil, "abcd"},
		{[]string{"orderBy", `"h"`}, "abcd"},
		{[]string{"orderBy", `"h"`, "startAt", "2"}, "bcd"},
		{[]string{"orderBy", `"h"`, "startAfter", "2"}, "d"},
		{[]string{"orderBy", `"h"`, "endAt", "2"}, "abc"},
		{[]string{"orderBy", `"h"`, "endBefore", "2"}, "a"},
		{[]string{"orderBy", `"h"`, "equalTo", " 2 "}, "bc"},
		{[]string{"orderBy", `"h"`, "equalTo", "null"}, ""},
		{[]string{"orderBy", `"h"`, "startAt", "2", "endBefore", "3", "limitToLast", "1"}, "c"},
		{[]string{"orderBy", `"$key"`, "startAt", `"b"`, "endAt", `"c"`}, "bc"},
		{[]string{"orderBy", `"$key"`, "startAfter", `"b"`, "endBefore", `"d"`}, "c"},
		{[]string{"orderBy", `"$key"`, "equalTo", `"b"`}, "b"},
		{[]string{"orderBy", `"$key"`, "limitToFirst", "99999999999999999999"}, "abcd"},
		{[]string{"orderBy", `"$priority"`, "limitToFirst", "1"}, "a"},
		{[]string{"orderBy", `"/h/"`, "limitToFirst", "1"}, "a"},
	} {
		q, err := queryOf(c.pairs...)
		if err != nil {
			t.Errorf("%q: %v", c.pairs, err)
			continue
		}
		got := ""
		for key := range q.Apply(children).Children() {
			got += key
		}
		if got != c.want {
			t.Errorf("%q selects %q, want %q", c.pairs, got, c.want)
		}
	}
}

// A list with brackets inside each other is refused before anything goes down into it.
func TestListsAreFlat(t *testing.T) {
	for text, nested := range map[string]bool{
		`["a","b"]`: false, ` [ "[", "{\\", "\"[{" , null ]`: false, `["a\\"]`: false,
		`[[1]]`: true, `["a",{}]`: true, `["a\\",[`: true, `[]{`: true,
		strings.Repeat("[", 1_000_000): true,
	} {
		if hasNested(text) != nested {
			t.Errorf("%.40s: has others in it: %t", text, !nested)
		}
	}
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	if list, err := parseList(deep); err != nil || !slices.Equal(list, []string{"["}) {
		t.Errorf("a deep list is parsed: %d, %v", len(list), err)
	}
	for want, pairs := range map[string][]string{
		"orderBy: a list has strings, which are child paths":                      {"orderBy", deep},
		"equalTo: the values of a bound are null, booleans, numbers or strings":   {"orderBy", `["a","b"]`, "equalTo", deep},
		"endBefore: the values of a bound are null, booleans, numbers or strings": {"orderBy", `["a","b"]`, "endBefore", `[{"a":` + deep + `}]`},
		"Constraint index field must be a JSON primitive":                         {"orderBy", `"a"`, "equalTo", deep},
	} {
		if _, err := queryOf(pairs...); err == nil || err.Error() != want {
			t.Errorf("%.40q: %v, want %s", pairs, err, want)
		}
	}
}

// The order of the checks is part of the interface: a query with two mistakes
// reports the one that comes first in REST §5.2.
func TestQueryErrors(t *testing.T) {
	const (
		order    = "orderBy must be a valid JSON encoded path"
		scalar   = "Constraint index field must be a JSON primitive"
		keyType  = "Provided key index type is invalid, must be string"
		keyName  = "Constraint key field must be a valid key name"
		equality = "equalTo cannot be specified in addition to startAfter, startAt, endAt, or endBefore"
	)
	for _, c := range []struct {
		want  string
		pairs []string
	}{
		{"orderBy must be defined when other query parameters are defined", []string{"limitToFirst", "x"}},
		{"orderBy must be defined when other query parameters are defined", []string{"startAt", "1", "limitToLast", "0"}},
		{order, []string{"orderBy", ""}},
		{order, []string{"orderBy", "h"}},
		{order, []string{"orderBy", `""`}},
		{order, []string{"orderBy", `"/"`}},
		{order, []string{"orderBy", `5`}},
		{order, []string{"orderBy", `"$other"`}},
		{order, []string{"orderBy", `".value"`}},
		{order, []string{"orderBy", `{".value":"h"}`}},
		{order, []string{"orderBy", "%22h%22", "limitToFirst", "x"}},
		{"Only one orderBy may be specified", []string{"orderBy", `"a"`, "orderBy", `"b"`}},
		{"orderBy must be defined when other query parameters are defined", []string{"startAt", "1", "startAt", "2"}},
		{"Only one startAt may be specified", []string{"orderBy", `"a"`, "startAt", "1", "startAt", "2"}},
		{"Only one endBefore may be specified", []string{"orderBy", `"a"`, "endBefore", "1", "limitToLast", "x", "endBefore", "1"}},
		{"Only one limitToFirst may be specified", []string{"orderBy", `"a"`, "limitToFirst", "1", "limitToFirst", "1"}},
		{"Only one of limitToFirst and limitToLast may be specified", []string{"orderBy", `"h"`, "limitToFirst", "x", "limitToLast", "1"}},
		{"limitToFirst must be an integer", []string{"orderBy", `"h"`, "limitToFirst", "1.5", "equalTo", "1", "startAt", "1"}},
		{"limitToLast must be positive", []string{"orderBy", `"h"`, "limitToLast", "-3"}},
		{"limitToLast must be positive", []string{"orderBy", `"h"`, "limitToLast", "-99999999999999999999"}},
		{"limitToFirst must be positive", []string{"orderBy", `"h"`, "limitToFirst", ""}},
		{equality, []string{"orderBy", `"h"`, "equalTo", "x", "endBefore", "1"}},
		{"Only one of startAt and startAfter may be specified", []string{"orderBy", `"h"`, "startAt", "x", "startAfter", "1"}},
		{"Only one of endAt and endBefore may be specified", []string{"orderBy", `"h"`, "endAt", "1", "endBefore", "1"}},
		{scalar, []string{"orderBy", `"h"`, "startAt", ""}},
		{scalar, []string{"orderBy", `"h"`, "startAt", "abc"}},
		{scalar, []string{"orderBy", `"h"`, "startAt", `{".value":1}`}},
		{scalar, []string{"orderBy", `"h"`, "endAt", "[]"}},
		{scalar, []string{"orderBy", `"h"`, "endAt", `"\ud800"`}},
		{scalar, []string{"orderBy", `"$key"`, "startAt", "abc"}},
		{keyType, []string{"orderBy", `"$key"`, "startAt", "0"}},
		{keyType, []string{"orderBy", `"$key"`, "equalTo", "null"}},
		{keyName, []string{"orderBy", `"$key"`, "startAt", `"a.b"`}},
		{keyName, []string{"orderBy", `"$key"`, "endAt", `""`}},
	} {
		if _, err := queryOf(c.pairs...); err == nil || err.Error() != c.want {
			t.Errorf("%q: error %v, want %q", c.pairs, err, c.want)
		}
	}
}

// A shallow listing pages by two of the parameters.
func TestShallowParametersOnce(t *testing.T) {
	for _, name := range []string{"startAfter", "limitToFirst"} {
		_, err := parseForm(params{{"shallow", "true"}, {name, "1"}, {name, "2"}}, "GET")
		if want := "Only one " + name + " may be specified"; err == nil || err.Error() != want {
			t.Errorf("%s twice: %v, want %s", name, err, want)
		}
	}
}

func FuzzParseForm(f *testing.F) {
	f.Add(`orderBy="$key"&startAt="a"&limitToFirst=2`)
	f.Add("shallow=true&limitToFirst=2&startAfter=b&timeout=10s&callback=f")
	f.Add("print=pretty&format=export&download=" + url.QueryEscape("ü/x"))
	f.Fuzz(func(t *testing.T, raw string) {
		g, err := parseForm(parseParams(raw), "GET")
		if err != nil {
			return
		}
		if g.timeout <= 0 || g.timeout > readTimeout {
			t.Fatalf("parseForm(%q) has timeout %s", raw, g.timeout)
		}
		if g.after != "" && !tree.ValidKey(g.after) {
			t.Fatalf("parseForm(%q) lists after %q", raw, g.after)
		}
		g.query.Apply(tree.MustParseNode(`{"a":1,"b":{"h":2}}`))
	})
}
