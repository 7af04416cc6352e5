package sync

import (
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/pending"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Records that were stored before there were conditions have none; those with one
// are read as they were written.
func TestStoredConditions(t *testing.T) {
	only := &pending.Condition{Path: tree.MustParsePath("/a/s"), Value: tree.String("s1")}
	for _, c := range []struct {
		stored string
		only   *pending.Condition
	}{
		{`{"target":"/a","value":"1","auth":{"JSON":"{\"uid\":\"ana\"}"}}`, nil},
		{`{"target":"/a","value":"1","auth":{},"if":{"path":"/a/s","value":"\"s1\""}}`, only},
		{`{"target":"/a","value":"1","auth":{},"if":{"path":"/a/s","value":""}}`, &pending.Condition{Path: only.Path}},
	} {
		var p pending.Writes
		if err := p.Restore(store.Pending{Data: []byte(c.stored)}); err != nil {
			t.Fatalf("%s: %v", c.stored, err)
		}
		w, ok := p.At.Get("/a")
		if !ok || !w.Only.Same(c.only) || w.Value.Text() != "1" {
			t.Fatalf("%s is read as %+v", c.stored, w)
		}
		text, err := w.Encode()
		if err != nil {
			t.Fatal(err)
		}
		var again pending.Writes
		if err := again.Restore(store.Pending{Data: text}); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if v, _ := again.At.Get("/a"); !v.Only.Same(c.only) || v.Caller.Auth.JSON != w.Caller.Auth.JSON || strings.Contains(string(text), `"if"`) != (c.only != nil) {
			t.Errorf("%s becomes %s", c.stored, text)
		}
	}
}

// A condition costs little, whatever is at its place, and counts as what it is.
func TestConditionsAreBounded(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	db := openTest(t, Options{Rules: rules.Open()})
	long := `"` + strings.Repeat("x", 5<<20) + `"`
	set(t, db, "/", `{"long":`+long+`,"many":{"a":`+long+`}}`)
	c := connect(t, db, "a", 0)
	for _, at := range []string{"long", "many"} {
		c.send(`{"r":1,"a":"om","b":{"p":"/","d":{"` + at + `-gone":1},"if":{"p":"` + at + `","d":"x"}}}`)
	}
	c.send(`{"r":2,"a":"o","b":{"p":"/big","d":1,"if":{"p":"","d":"` + strings.Repeat("x", pending.MaxCondition) + `"}}}`)
	c.settle()
	if got := strings.Join(c.frames(), ""); strings.Count(got, `"s":"ok"`) != 2 || !strings.Contains(got, "the value of if has more than 4096 bytes") {
		t.Error(got)
	}
	const bytes = len("/long-gone") + len("1") + len("long") + len(`"x"`) + len("many-gone") - 1 + len("1") + len("many") + len(`"x"`)
	if n := c.session.pending.Bytes; n < bytes-2 || n > bytes+2 {
		t.Errorf("the conditions count for %d bytes, want about %d", n, bytes)
	}
	c.session.Close()
	want(t, db, "/long-gone", "null")
	want(t, db, "/many-gone", "null")
}
