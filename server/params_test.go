package server

import (
	"reflect"
	"testing"
)

func TestParseParams(t *testing.T) {
	for _, c := range []struct {
		raw  string
		want params
	}{
		{"", nil},
		{"&&", nil},
		{"a=1&b=2", params{{"a", "1"}, {"b", "2"}}},
		{"a", params{{"a", ""}}},
		{"a=b=c", params{{"a", "b=c"}}},
		{"a=x;y&b", params{{"a", "x;y"}, {"b", ""}}},
		{"a=x+y%2Bz", params{{"a", "x y+z"}}},
		{`orderBy="$key"`, params{{"orderBy", `"$key"`}}},
		{"a=100%", params{{"a", "100%"}}},
		{"a=ü{}", params{{"a", "ü{}"}}},
		{"a=1&a=2", params{{"a", "1"}, {"a", "2"}}},
	} {
		if got := parseParams(c.raw); !reflect.DeepEqual(got, c.want) {
			t.Errorf("parseParams(%q) = %q, want %q", c.raw, got, c.want)
		}
	}
}

func TestFirstParameterWins(t *testing.T) {
	ps := parseParams("print=pretty&print=silent&X-Http-Method-Override=PUT")
	if got, _ := ps.get("print"); got != "pretty" {
		t.Errorf("get(print) = %q, want pretty", got)
	}
	if got := ps.fold("x-http-method-override"); got != "PUT" {
		t.Errorf("fold = %q, want PUT", got)
	}
}

// The CLI sends the path of a deploy inside of the ns parameter.
func TestSplitNamespace(t *testing.T) {
	for _, c := range []struct{ path, query, wantPath, wantQuery string }{
		{"/", "ns=shop/.settings/rules.json?dryRun=true", "/.settings/rules.json", "ns=shop&dryRun=true"},
		{"/", "ns=shop/.settings/rules.json", "/.settings/rules.json", "ns=shop"},
		{"/", "x=1&ns=shop/a.json?b=2&c=3", "/a.json", "x=1&ns=shop&b=2&c=3"},
		{"/", "ns=shop", "/", "ns=shop"},
		{"/a.json", "ns=shop/b.json", "/a.json", "ns=shop/b.json"},
		{"/", "", "/", ""},
	} {
		path, query := splitNamespace(c.path, c.query)
		if path != c.wantPath || query != c.wantQuery {
			t.Errorf("splitNamespace(%q, %q) = %q, %q, want %q, %q", c.path, c.query, path, query, c.wantPath, c.wantQuery)
		}
	}
}

func FuzzParseParams(f *testing.F) {
	f.Add("a=1&b=%41+;c")
	f.Add("ns=x/y?z&&=%")
	f.Fuzz(func(t *testing.T, raw string) {
		for _, p := range parseParams(raw) {
			if _, ok := parseParams(raw).get(p.name); !ok {
				t.Fatalf("parseParams(%q) has %q, but get does not find it", raw, p.name)
			}
		}
		splitNamespace("/", raw)
	})
}
