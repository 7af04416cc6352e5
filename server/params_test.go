package server

import (
	"reflect"
	"strings"
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

// Reads refuse what they do not know; what clients of Firebase send is not unknown.
func TestUnknownParameters(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	ts.admin("PUT", "/a.json", "1")
	ts.admin("PUT", "/.settings/rules.json", `{"rules":{".read":true,".write":true}}`)
	for query, want := range map[string]int{
		"include=b":            400,
		"fields=b":             400,
		"limit=1":              400,
		"orderby=%22%24key%22": 400,
		"limittofirst=1":       400,
		"auth=&Shallow=true":   400,
		"_=1700000000000":      200,
		"_dc=1&cacheBuster=2":  200,
		"ts=3&nocache":         200,
		"ac=token":             200,
		"lastEventId=":         200,
		"disableTriggers=true&writeSizeLimit=tiny&dryRun=true": 200,
		"X-HTTP-Method-Override=GET":                           200,
		"&&=1":                                                 200,
	} {
		for _, method := range []string{"GET", "HEAD"} {
			if got := ts.do(call{method, "/a.json?" + query, nil, ""}); got.StatusCode != want {
				t.Errorf("%s ?%s: %d %s, want %d", method, query, got.StatusCode, got.body, want)
			}
		}
		if got := ts.do(call{"PUT", "/a.json?" + query, nil, "1"}); got.StatusCode != 200 && !strings.Contains(query, "Override") {
			t.Errorf("PUT ?%s: %d %s", query, got.StatusCode, got.body)
		}
	}
	long := strings.Repeat("é", 100)
	if got := ts.do(call{"GET", "/a.json?" + long + "=1", nil, ""}); !strings.Contains(got.body, `Unknown parameter \"é`) || strings.Contains(got.body, long) {
		t.Errorf("a long name: %s", got.body)
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
