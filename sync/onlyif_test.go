package sync

import (
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Records that were stored before there were conditions have none; those with one
// are read as they were written.
func TestStoredConditions(t *testing.T) {
	only := &onlyIf{tree.MustParsePath("/a/s"), tree.String("s1")}
	for _, c := range []struct {
		stored string
		only   *onlyIf
	}{
		{`{"target":"/a","value":"1","auth":{"JSON":"{\"uid\":\"ana\"}"}}`, nil},
		{`{"target":"/a","value":"1","auth":{},"if":{"path":"/a/s","value":"\"s1\""}}`, only},
		{`{"target":"/a","value":"1","auth":{},"if":{"path":"/a/s","value":""}}`, &onlyIf{path: only.path}},
	} {
		var p pendingWrites
		if err := p.restore(store.Pending{Data: []byte(c.stored)}); err != nil {
			t.Fatalf("%s: %v", c.stored, err)
		}
		w, ok := p.at.Get("/a")
		if !ok || !w.only.same(c.only) || w.value.Text() != "1" {
			t.Fatalf("%s is read as %+v", c.stored, w)
		}
		text, err := w.encode()
		if err != nil {
			t.Fatal(err)
		}
		var again pendingWrites
		if err := again.restore(store.Pending{Data: text}); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if v, _ := again.at.Get("/a"); !v.only.same(c.only) || v.caller.Auth.JSON != w.caller.Auth.JSON || strings.Contains(string(text), `"if"`) != (c.only != nil) {
			t.Errorf("%s becomes %s", c.stored, text)
		}
	}
}

// A condition costs little, whatever is at its place, and counts as what it is.
func TestConditionsAreBounded(t *testing.T) {
	db := openTest(t, Options{Rules: rules.Open()})
	long := `"` + strings.Repeat("x", 5<<20) + `"`
	set(t, db, "/", `{"long":`+long+`,"many":{"a":`+long+`}}`)
	c := connect(t, db, "a", 0)
	for _, at := range []string{"long", "many"} {
		c.send(`{"r":1,"a":"om","b":{"p":"/","d":{"` + at + `-gone":1},"if":{"p":"` + at + `","d":"x"}}}`)
	}
	c.send(`{"r":2,"a":"o","b":{"p":"/big","d":1,"if":{"p":"","d":"` + strings.Repeat("x", maxOnlyIf) + `"}}}`)
	c.settle()
	if got := strings.Join(c.frames(), ""); strings.Count(got, `"s":"ok"`) != 2 || !strings.Contains(got, "the value of if has more than 4096 bytes") {
		t.Error(got)
	}
	const bytes = len("/long-gone") + len("1") + len("long") + len(`"x"`) + len("many-gone") - 1 + len("1") + len("many") + len(`"x"`)
	if n := c.session.pending.bytes; n < bytes-2 || n > bytes+2 {
		t.Errorf("the conditions count for %d bytes, want about %d", n, bytes)
	}
	c.session.Close()
	want(t, db, "/long-gone", "null")
	want(t, db, "/many-gone", "null")
}
