package sync

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree"
)

// TestWritesThatSpread: a write above many nodes that declared data look at is decided outside
// of the committer, and stays between those that its session sent before and after it.
func TestWritesThatSpread(t *testing.T) {
	tier.Unraced(t)
	db := openTest(t, Options{File: filepath.Join(t.TempDir(), "db")})
	doc, err := derive.Parse(`{"format": "dogwood-data/1", "define": {
		"groupsOfUser": {"map": "/groups/$g/members/$u", "to": "/users/$u/groups/$g"},
		"members": {"count": "/groups/$g/members/$u", "to": "/sizes/$g"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ChangeData(t.Context(), versions.DataChange{Document: doc}); err != nil {
		t.Fatal(err)
	}
	const members = 3000 // each takes a place of its own
	var group strings.Builder
	for i := range members {
		fmt.Fprintf(&group, `,"u%d":true`, i)
	}
	c := connect(t, db, "writer", 0)
	for i, put := range []string{
		`"/groups/a/members","d":{` + group.String()[1:] + `}`,
		`"/groups/a/members/u1","d":null`,
		`"/groups","d":null`,
		`"/groups/b/members/u1","d":true`,
	} {
		c.send(fmt.Sprintf(`{"r":%d,"a":"p","b":{"p":%s}}`, i+1, put))
	}
	c.settle()
	if got, want := get(t, db, "/"), `{"groups":{"b":{"members":{"u1":true}}},"sizes":{"b":1},"users":{"u1":{"groups":{"b":true}}}}`; got != want {
		t.Errorf("the database has %.300s\nwant %s", got, want)
	}
	if w := (Write{Update: removalOf("groups")}); spreads(t, db, w) {
		t.Error("a removal of one member spreads")
	}
	set(t, db, "/groups/a/members", `{`+group.String()[1:]+`}`)
	if !spreads(t, db, Write{Update: removalOf("groups")}) || !spreads(t, db, Write{Update: removalOf("groups/a")}) {
		t.Error("a removal of many members does not spread")
	}
	if spreads(t, db, Write{Update: removalOf("groups/a/members/u1")}) {
		t.Error("a removal of one of many members spreads")
	}
}

// TestWritesThatSpreadAreDecidedWhole: rules see what follows from such a write, and a client that
// says what follows anyway needs no permission for that.
func TestWritesThatSpreadAreDecidedWhole(t *testing.T) {
	rules := `{"rules":{"groups":{"$g":{".write":"newData.parent().parent().child('sizes').child($g).val() <= 2"}}}}`
	db := openTest(t, Options{File: filepath.Join(t.TempDir(), "db"), Rules: parseRules(t, rules)})
	doc, err := derive.Parse(`{"format": "dogwood-data/1", "define": {
		"inverse": {"map": "/groups/$g/members/$u", "to": "/users/$u/groups/$g"},
		"m": {"count": "/groups/$g/members/$u", "to": "/sizes/$g"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ChangeData(t.Context(), versions.DataChange{Document: doc}); err != nil {
		t.Fatal(err)
	}
	for text, allowed := range map[string]bool{
		`{"groups/a":{"members":{"u1":true,"u2":true}}}`:                 true,
		`{"groups/b":{"members":{"u1":true}},"users/u1/groups/b":true}`:  true,
		`{"groups/c":{"members":{"u1":true}},"users/u1/groups/c":false}`: false,
		`{"groups/d":{"members":{"u1":true,"u2":true,"u3":true}}}`:       false,
	} {
		u, err := tree.ParseUpdate(tree.Root, text, tree.Strict)
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.Write(t.Context(), Write{Update: u, Merge: true})
		if allowed && err != nil || !allowed && !errors.Is(err, fault.ErrDenied) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestWalksInVainAreCounted: children that a source leads through are looked at outside of the
// committer, and not without an end, also if there is nothing below them.
func TestWalksInVainAreCounted(t *testing.T) {
	tier.Unraced(t)
	db := openTest(t, Options{File: filepath.Join(t.TempDir(), "db"), Rules: rules.Open()})
	doc, err := derive.Parse(`{"format": "dogwood-data/1", "define": {
		"inverse": {"map": "/groups/$g/members/$u", "to": "/users/$u/groups/$g"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ChangeData(t.Context(), versions.DataChange{Document: doc}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		groups  int
		spreads bool
		reason  string
	}{
		{manyLooked / 2, false, ""},
		{manyLooked + 1, true, ""},
		{2*derive.MaxChanges + 1, true, "look at more than 20,000 nodes for inverse"},
	} {
		var groups strings.Builder
		for i := range c.groups {
			fmt.Fprintf(&groups, `,"g%05d":{"name":1}`, i)
		}
		set(t, db, "/groups", `{`+groups.String()[1:]+`}`)
		w := Write{Update: removalOf("groups")}
		if spreads(t, db, w) != c.spreads {
			t.Errorf("a removal of %d groups spreads: %t", c.groups, !c.spreads)
		}
		if _, err := db.Write(t.Context(), w); (err == nil) != (c.reason == "") || err != nil && !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%d groups: %v", c.groups, err)
		}
	}
}

// TestWritesThatLookAtMuchText: an update of many paths whose expressions look at much text is
// decided outside of the committer, and one of short texts is not.
func TestWritesThatLookAtMuchText(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	db := openTest(t, Options{File: filepath.Join(t.TempDir(), "db"), Rules: rules.Open()})
	doc, err := derive.Parse(`{"format": "dogwood-data/1", "define": {
		"hits": {"count": "/msgs/$m", "to": "/hits", "where": "data.child('text').val().contains('x')"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ChangeData(t.Context(), versions.DataChange{Document: doc}); err != nil {
		t.Fatal(err)
	}
	for _, length := range []int{100, 200_000, derive.MaxText + 1} {
		var u tree.Update
		for i := range 20 {
			path := fmt.Sprintf("msgs/m%d", i)
			set(t, db, "/"+path, fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", length)))
			u = append(u, tree.Write{Target: tree.Target{Path: tree.MustParsePath(path + "/n")}, Value: tree.DraftOf(tree.Number(1))})
		}
		if w := (Write{Update: u, Merge: true}); spreads(t, db, w) != (length == 200_000) {
			t.Errorf("an update of nodes with texts of %d bytes spreads: %t", length, length != 200_000)
		}
		if _, err := db.Write(t.Context(), Write{Update: u, Merge: true}); err != nil {
			t.Error(err)
		}
	}
}

// TestMovesOfLargeChildren: a write that has a list move a large child is decided outside of the committer.
func TestMovesOfLargeChildren(t *testing.T) {
	tier.Unraced(t)
	db := openTest(t, Options{File: filepath.Join(t.TempDir(), "db"), Rules: rules.Open()})
	declare(t, db, `"moves": {"keep": 2, "at": "/a/$u", "copyTo": "/old/$u"}, "drops": {"keep": 2, "at": "/b/$u"}`)
	large := `{"text":"` + strings.Repeat("x", muchSpent+1) + `"}`
	for _, c := range []struct {
		list, first string
		spreads     bool
	}{{"a/large", large, true}, {"a/small", `{"text":"x"}`, false}, {"b/large", large, false}} {
		set(t, db, "/"+c.list, `{"k1":`+c.first+`,"k2":1}`)
		w := putOf(t, "/"+c.list+"/k3", "1")
		if spreads(t, db, w) != c.spreads {
			t.Errorf("a child of %s spreads: %t", c.list, !c.spreads)
		}
		if _, err := db.Write(t.Context(), asUser(w)); err != nil {
			t.Error(err)
		}
		want(t, db, "/"+c.list, `{"k2":1,"k3":1}`)
	}
	want(t, db, "/old/large", `{"k1":`+large+`}`)
}

// TestSpreadingDisconnects: an operation for the disconnect that spreads is decided outside of the
// committer when it is registered.
func TestSpreadingDisconnects(t *testing.T) {
	w := new(writeWatcher)
	db := openTest(t, Options{Observer: w, Rules: rules.Open()})
	declare(t, db, `"inverse": {"map": "/groups/$g/members/$u", "to": "/users/$u/groups/$g"}`)
	var groups strings.Builder
	for i := range manyLooked + 1 {
		fmt.Fprintf(&groups, `,"g%05d":{"name":1}`, i)
	}
	set(t, db, "/groups", `{`+groups.String()[1:]+`}`)
	w.db = db
	c := connect(t, db, "c", 0)
	c.send(`{"r":1,"a":"o","b":{"p":"/groups","d":null}}`)
	c.send(`{"r":2,"a":"oc","b":{"p":"/groups"}}`)
	c.settle()
	if got := strings.Join(c.frames(), " "); strings.Count(got, `"s":"ok"`) != 2 {
		t.Error(got)
	}
	if w.locked != 0 || w.unlocked != 1 {
		t.Errorf("%d decisions under the lock, and %d without, want 0 and 1", w.locked, w.unlocked)
	}
	c.session.Close()
	want(t, db, "/groups", `{`+groups.String()[1:]+`}`)
}

func removalOf(path string) tree.Update {
	return tree.Update{{Target: tree.Target{Path: tree.MustParsePath(path)}}}
}

func spreads(t *testing.T, db *Database, w Write) bool {
	t.Helper()
	spreads, err := db.spreads(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return spreads
}
