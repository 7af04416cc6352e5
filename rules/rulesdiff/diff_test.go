package rulesdiff

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/rulestest"
	"github.com/dogwooddb/dogwood/tree"
)

func comparer(t *testing.T, old, new string) *Comparer {
	t.Helper()
	c := &Comparer{NewFile: "new.json"}
	var err error
	if c.Old, err = rules.Parse(`{"rules":` + old + `}`); err != nil {
		t.Fatal(err)
	}
	if c.New, err = rules.Parse(`{"rules":` + new + `}`); err != nil {
		t.Fatal(err)
	}
	return c
}

func brief(c *Comparer) []string {
	var list []string
	for _, ch := range c.Changes() {
		list = append(list, fmt.Sprintf("%s %s (%s)", ch.Kind, ch.What, ch.Where))
	}
	return list
}

func TestSuite(t *testing.T) {
	c := comparer(t,
		`{"a": {".read": true, ".write": "newData.val() < 5"}, "b": {".read": false}}`,
		`{"a": {".read": false, ".write": "newData.val() < 9"}, "b": {".read": true}}`)
	s, err := rulestest.Parse("t.rules-test.json", `{
		"rules": {"rules": {}}, "users": {"x": null}, "now": 7,
		"tests": [{"group": "g", "steps": [
			{"as": "x", "read": "/a", "expect": "allow"},
			{"as": "x", "write": "/a", "value": 1, "expect": "allow"},
			{"as": "x", "write": "/a", "value": {".sv": {"increment": 4}}, "expect": "allow"},
			{"as": "x", "read": "/b", "expect": "allow"},
			{"auth": {"admin": true}, "read": "/b", "expect": "allow"}]}]}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Suite(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"new-grant write /a as x (t.rules-test.json:6 write /a as x)", // 1 + 4, which the old rules refuse
		"new-grant read /b as x (t.rules-test.json:7 read /b as x)",
		"new-denial read /a as x (t.rules-test.json:4 read /a as x)",
	}
	if got := brief(c); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if c.Asked() != 4 || c.Count(NewGrant) != 2 || c.Count(NewDenial) != 1 {
		t.Errorf("%d asked, %d and %d changes, want 4, 2 and 1", c.Asked(), c.Count(NewGrant), c.Count(NewDenial))
	}
	const repro = `dogwood rules explain new.json --op write /a --data 't.rules-test.json#6' --auth null --value '{".sv":{"increment":4}}' --now 7`
	if got := c.Changes()[0].Repro; got != repro {
		t.Errorf("reproduce by %s, want %s", got, repro)
	}
}

const log = `
{"op":"read","path":"/a","auth":null,"allow":true}
{"op":"write","path":"/n","value":3,"auth":{"uid":"x"},"now":1000,"allow":true}

{"op":"update","path":"/","values":{"n":4},"auth":{"uid":"x"},"time":"1970-01-01T00:00:02Z"}
{"op":"read","path":"/q","query":{"orderByKey":true,"limitToFirst":1},"allow":true}
{"op":"read","path":"/a","auth":{"admin":true},"allow":true}
`

func TestTraffic(t *testing.T) {
	const old = `{"a": {".read": "data.exists()"}, "n": {".write": "!data.exists() || newData.val() == data.val() + 1"}, "q": {".read": "query.limitToFirst == 1"}}`
	for _, c := range []struct {
		new           string
		data          string
		apply         bool
		records, diff int
		unlike        int
	}{
		{old, `{"a":1}`, false, 4, 0, 0},
		{old, `{}`, false, 4, 0, 1},
		{`{"a": {".read": false}, "n": {".write": "now == 1000"}}`, `{"a":1}`, false, 4, 3, 0},
		{`{"a": {".read": true}, "n": {".write": "newData.val() == 3 || data.val() == 3"}, "q": {".read": true}}`, `{"a":1}`, true, 4, 0, 0},
		{`{"a": {".read": true}, "n": {".write": "newData.val() == 3 || data.val() == 3"}, "q": {".read": true}}`, `{"a":1}`, false, 4, 1, 0},
	} {
		cmp := comparer(t, old, c.new)
		w := rulestest.World{Root: tree.MustParseNode(c.data)}
		tr, err := cmp.Traffic(t.Context(), "log", strings.NewReader(log), w, "data.json", c.apply)
		if err != nil {
			t.Fatal(err)
		}
		if tr.Records != c.records || tr.Unlike != c.unlike || len(cmp.Changes()) != c.diff {
			t.Errorf("%s on %s: %+v and %q, want %d records, %d unlike, %d changes", c.new, c.data, tr, brief(cmp), c.records, c.unlike, c.diff)
		}
	}
}

func TestTrafficErrors(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`{"op":`, "log:1: unexpected end of JSON input"},
		{`{"op":"look","path":"/"}`, `log:1: unknown operation "look"; use read, write or update`},
		{`{"op":"read","path":"/a.b"}`, "log:1: /a.b: keys have no . $ # [ ] / and no control characters"},
		{`{"op":"read","path":"/","auth":5}`, "log:1: an actor must be null or an object, not 5"},
	} {
		_, err := comparer(t, `{}`, `{}`).Traffic(t.Context(), "log", strings.NewReader(c.line), rulestest.World{}, "", false)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.line, err, c.want)
		}
	}
}

func TestGenerated(t *testing.T) {
	for _, c := range []struct {
		old, new string
		want     Kind
	}{
		{`{"a": {".read": "auth != null"}}`, `{"a": {".read": true}}`, NewGrant},
		{`{"a": {".read": true}}`, `{"a": {".read": "auth != null"}}`, NewDenial},
		{`{"a": {"$u": {".write": "auth.uid == $u"}}}`, `{"a": {"$u": {".write": "auth.uid == $u && newData.exists()"}}}`, NewDenial},
		{`{"a": {".read": "auth.token.admin == true"}}`, `{"a": {".read": "auth.token.boss == true"}}`, NewGrant},
		{`{"a": {".write": true, ".validate": "newData.val() <= 80"}}`, `{"a": {".write": true, ".validate": "newData.val() <= 81"}}`, NewGrant},
		{`{"a": {".write": true, ".validate": "newData.hasChildren(['x', 'y'])"}}`, `{"a": {".write": true, ".validate": "newData.hasChildren(['x', 'y', 'z'])"}}`, NewDenial},
		{`{"a": {".read": "query.limitToFirst <= 10"}}`, `{"a": {".read": "query.limitToFirst <= 11"}}`, NewGrant},
		{`{"a": {".read": "query.limitToFirst <= 10"}}`, `{"a": {".read": "query.limitToLast <= 10"}}`, NewDenial},
		{`{"a": {".read": "query.orderByChild == 'x'"}}`, `{"a": {".read": "query.orderByChild == 'y'"}}`, NewGrant},
		{`{"rooms": {"$r": {".read": "data.exists()"}}}`, `{"rooms": {"$r": {".read": "!data.exists()"}}}`, NewGrant},
		{`{"a": {".read": "auth.uid == 'x'"}}`, `{"a": {".read": "'x' == auth.uid"}}`, ""},
	} {
		cmp := comparer(t, c.old, c.new)
		w := rulestest.World{Root: tree.MustParseNode(`{"rooms":{"r1":1}}`)}
		if err := cmp.Generated(t.Context(), w, "", nil, 5, 10_000); err != nil {
			t.Fatal(err)
		}
		if got := cmp.Count(c.want) > 0; c.want != "" && !got {
			t.Errorf("%s -> %s: no %s among %q", c.old, c.new, c.want, brief(cmp))
		}
		if c.want == "" && len(cmp.Changes()) > 0 {
			t.Errorf("%s -> %s: %q", c.old, c.new, brief(cmp))
		}
		if cmp.Asked() > 10_000 {
			t.Errorf("%d operations asked about", cmp.Asked())
		}
	}
}
