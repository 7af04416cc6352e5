package derive_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/tree"
)

func TestErrors(t *testing.T) {
	for _, c := range []struct{ define, want string }{
		{`"a": {"map": "/a/$x", "to": "/b/$y"}`, `1:73: the source has no capture $y`},
		{`"a": {"map": "/a/$x", "to": "/b/{auth.uid}"}`, `1:74: auth is for rules only. Here are data, which is the node, and the captures of its path.`},
		{`"a": {"map": "/a/$x", "to": "/b/{data.val()"}`, `1:73: the brace is not closed; an expression in braces is a whole segment`},
		{`"a": {"count": "/a/$x", "to": "/b", "wher": "true"}`, `1:77: a definition of the kind count has no member "wher" (did you mean "where"?); it has to, where, onConflict`},
		{`"a": {"count": "/a/b", "to": "/b"}`, `1:56: a source has at least one capture, such as $room; /a/b is one node`},
		{`"a": {"spread": "/a/$x"}`, `1:47: the kind "spread" is not supported by this version; take the definition out`},
		{`"a": {"tier": "/a/$x"}`, `1:47: the kind "tier" is not supported by this version; take the definition out`},
		{`"1": {}`, `1:41: a name is a letter and then up to 63 letters, digits and _`},
		{`"a": {"count": "/a/$x", "sum": "/b/$x"}`, `1:65: a definition has one kind, but this is "count" and "sum"; make two of it`},
		{`"a": {"sum": "/a/$x", "to": "/b"}`, `1:46: a definition of the kind sum needs "of"`},
		{`"a": {"keep": 0, "at": "/a"}`, `1:55: expected a whole number from 1 to 1000000`},
		{`"a": {"expire": "/a/$x", "after": "1d", "at": 3}`, `1:87: "after" and "at" are both given; leave out one of them`},
		{`"a": {"expire": "/a/$x", "after": "soon"}`, `1:75: expected a duration such as "500ms", "10s", "2h" or "30d", at most 100 years`},
		{`"a": {"index": "/a", "by": []}`, `1:68: "by" is a list of 1 to 4 child paths: ["owner", "created"]`},
		{`"a": {"map": "/a/$x", "to": "/b/$x"}, "b": {"map": "/c/$y/$x", "to": "/b/{data.val()}/x"}`, `1:79: the targets of "a" and "b" may meet: /b/$x and /b/{data.val()}/x; give one of them a place of its own`},
		{`"a": {"map": "/a/$x/$y/z", "to": "/a/$x/$y"}`, `1:41: the target /a/$x/$y of "a" may lie above /a/$x/$y/z, which "a" looks at; choose another place`},
		{`"a": {"map": "/a/$x", "to": "/b/$x"}, "b": {"map": "/b/$x", "to": "/c/$x"}, "c": {"map": "/c/$x", "to": "/a/{$x}"}`,
			`1:79: the definitions follow from each other in a circle: a -> b -> c -> a; take one out`},
	} {
		_, err := derive.Parse(`{"format": "dogwood-data/1", "define": {` + c.define + `}}`)
		if err == nil || strings.TrimSpace(err.Error()) != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.define, err, c.want)
		}
	}
	for _, c := range []struct{ src, want string }{
		{`{"format": "dogwood-data/1", "feed": {}, "define": {}}`, `1:30: "feed" is not supported by this version; take it out`},
		{`{"define": {}}`, `1:1: "format" is missing; add "format": "dogwood-data/1"`},
		{`{"format": "dogwood-data/1"`, `1:28: expected ',' or '}', found the end of the text`},
		{`[]`, `1:1: a document is an object: {"format": "dogwood-data/1", "define": {…}}`},
		{strings.Repeat(" ", derive.MaxDocument+1), `1:1: the document is larger than 1 MiB; take definitions out of it`},
	} {
		if _, err := derive.Parse(c.src); err == nil || strings.TrimSpace(err.Error()) != c.want {
			t.Errorf("%.60s:\n got %v\nwant %s", c.src, err, c.want)
		}
	}
}

// chain returns maps that each look at the target of the one before.
func chain(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"d%d": {"map": "/p%d/$x", "to": "/p%d/$x"}, `, i, i, i+1)
	}
	return b.String()
}

func counts(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"d%d": {"count": "/a/$x", "to": "/n%d"}, `, i, i)
	}
	return b.String()
}

func TestDocumentBounds(t *testing.T) {
	for _, c := range []struct{ right, wrong, want string }{
		{chain(derive.MaxChain), chain(derive.MaxChain + 1), "at the end of a chain of 5 definitions"},
		{counts(derive.MaxAtOnePath), counts(derive.MaxAtOnePath + 1), "17 definitions may look at a node"},
		{"", chain(derive.MaxDefinitions + 1), "a document has at most 256 definitions"},
	} {
		parse(t, c.right)
		_, err := derive.Parse(`{"format": "dogwood-data/1", "define": {` + c.wrong + `}}`)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, define := range []string{
		`"a": {"map": "/a/$x", "to": "/b/{data.val()}", "value": {"n": "= $x"}, "unique": true}`,
		`"a": {"sum": "/a/$x", "of": "= data.val()", "where": "data.isNumber()", "to": "/b", "onConflict": "replace"}`,
		`"a": {"keep": 3, "at": "/a", "by": "n", "drop": "last", "copyTo": "/b"}, "e": {"expire": "/a/$x", "after": "1d", "from": 3}`,
		`"a": {"index": "/a", "by": ["n", "a/b"], "state": "off"}, "c": {"count": "/a/$x", "to": "/n"}`,
	} {
		f.Add(`{"format": "dogwood-data/1", "define": {` + define + `}}`)
	}
	f.Fuzz(func(t *testing.T, src string) {
		doc, err := derive.Parse(src)
		if err != nil {
			return
		}
		for _, d := range doc.Definitions() {
			if d.Summary() == "" || d.Cost().Node == "" {
				t.Errorf("%s says nothing", d.Name)
			}
		}
		if _, err := doc.Derive(&derive.Change{Before: state{}, Writes: []tree.ResolvedWrite{put("a", `{"x":{"n":1},"y":"z"}`)}}); err != nil {
			t.Logf("%v", err) // a refusal may be right
		}
	})
}

func TestSpreads(t *testing.T) {
	doc := parse(t, `"groups": {"map": "/groups/$g/members/$u", "to": "/users/$u/groups/$g"},
		"logins": {"map": "/users/$u/login", "to": "/logins/{data.val()}"}, "size": {"count": "/other/$x", "to": "/sizes/other"}`)
	for path, want := range map[string]bool{
		"": true, "groups": true, "groups/a": true, "groups/a/members": true, "groups/a/members/u": false, "groups/a/title": false,
		"users/u": true, "users/u/groups": true, "users/u/groups/a": false, "users/u/login": false, "users/u/login/x": false,
		"logins": true, "logins/x": false, "sizes": false, "nothing": false, "other": true,
	} {
		p := tree.MustParsePath(path)
		if got := doc.Spreads(p); got != want {
			t.Errorf("%q: %v, want %v", path, got, want)
		}
		if n := testing.AllocsPerRun(10, func() { doc.Spreads(p) }); n > 0 {
			t.Errorf("%q: %v allocations", path, n)
		}
	}
}
