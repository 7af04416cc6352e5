package sync

import (
	"errors"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/fault"
)

// TestConditionOfTheUnreadable: a condition needs the permission to read, whether it
// holds or not, and even if the write is allowed. Only a write that creates does not.
func TestConditionOfTheUnreadable(t *testing.T) {
	rs := parseRules(t, `{"rules":{
		"ro":{".read":true},
		"wo":{".write":true},
		"absent":{"wo":{".write":true}},
		"rw":{".read":true,".write":"newData.val() != 'no'"}}}`)
	db := openTest(t, Options{Rules: rs, MaxRead: 10_000})
	for _, place := range []string{"no", "ro", "wo", "rw"} {
		set(t, db, "/"+place, "1")
		set(t, db, "/large/"+place, `"`+strings.Repeat("x", 20_000)+`"`)
	}
	right := hashAt(t, db, "/rw")
	for _, c := range []struct {
		path, value, hash string
		want              error // nil: it is written
	}{
		{"/no", "2", right, fault.ErrDenied},
		{"/no", "2", "x", fault.ErrDenied},
		{"/large/no", "2", "x", fault.ErrDenied}, // not that it is too large
		{"/ro", "2", right, fault.ErrDenied},
		{"/ro", "2", "x", &fault.StaleError{}},
		{"/wo", "2", "x", fault.ErrDenied},
		{"/wo", "2", right, fault.ErrDenied},
		{"/wo", "1", "", fault.ErrDenied},
		{"/wo", "2", "", fault.ErrDenied},
		{"/absent/wo", "2", right, fault.ErrDenied},
		{"/absent/no", "2", "", fault.ErrDenied},
		{"/absent/wo", "2", "", nil},
		{"/absent/wo", "2", "", fault.ErrDenied}, // it is there now
		{"/large/wo", "2", "x", fault.ErrDenied},
		{"/rw", `"no"`, "x", &fault.StaleError{}},
		{"/rw", `"no"`, right, fault.ErrDenied},
		{"/rw", "2", "x", &fault.StaleError{}},
		{"/rw", "2", right, nil},
	} {
		w := putOf(t, c.path, c.value)
		w.Caller, w.If = Caller{}, &c.hash
		_, err := db.Write(t.Context(), w)
		stale := (*fault.StaleError)(nil)
		if errors.As(c.want, &stale) {
			if !errors.As(err, &stale) {
				t.Errorf("%s = %s if %s: %v, want a StaleError", c.path, c.value, c.hash, err)
			}
		} else if !errors.Is(err, c.want) {
			t.Errorf("%s = %s if %s: %v, want %v", c.path, c.value, c.hash, err, c.want)
		}
	}
}

// hashAt returns the hash of a value.
func hashAt(t *testing.T, db *Database, path string) string {
	t.Helper()
	n, err := db.Get(t.Context(), Read{Caller: Admin, Path: putOf(t, path, "1").Update[0].Path, Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	return n.Hash()
}

// TestIncrementBesideAnObject: an increment that replaces an object does not
// read it, and finds its priority.
func TestIncrementBesideAnObject(t *testing.T) {
	db := openTest(t, Options{Rules: rules.Open()})
	set(t, db, "/a", `{".priority":3,"x":1,"y":2}`)
	set(t, db, "/a/.priority", `{".sv":{"increment":2}}`)
	want(t, db, "/a", `{".priority":5,"x":1,"y":2}`)
	set(t, db, "/a", `{".priority":{".sv":{"increment":1}},"x":1}`)
	want(t, db, "/a", `{".priority":6,"x":1}`)
	set(t, db, "/a", `{".sv":{"increment":7}}`)
	want(t, db, "/a", "7")
}
