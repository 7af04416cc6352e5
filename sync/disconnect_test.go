package sync

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/pending"
)

// TestOrphans: what a session left when the server went down is carried out
// when the database is opened again: once, with the values and the rules of that
// time, an update as a whole, whether the server was stopped or crashed.
func TestOrphans(t *testing.T) {
	for name, goDown := range map[string]func(t *testing.T, db *Database, file string) string{
		"stopped": func(t *testing.T, db *Database, file string) string { return file },
		"crashed": func(t *testing.T, db *Database, file string) string { return copyFile(t, file) },
	} {
		t.Run(name, func(t *testing.T) {
			now := time.UnixMilli(1000)
			file := filepath.Join(t.TempDir(), "db")
			o := Options{File: file, Now: func() time.Time { return now }, Rules: rules.Open()}
			db, err := Open(o)
			if err != nil {
				t.Fatal(err)
			}
			set(t, db, "/n", "1")
			for _, name := range []string{"a", "b"} {
				c := connect(t, db, name, 0)
				c.send(`{"r":1,"a":"o","b":{"p":"/n","d":{".sv":{"increment":1}}}}`)
				c.send(`{"r":2,"a":"om","b":{"p":"/at","d":{"` + name + `":{".sv":"timestamp"}}}}`)
				c.send(`{"r":3,"a":"om","b":{"p":"/","d":{"open/` + name + `":1,"at/shut` + name + `":1}}}`)
				c.send(`{"r":4,"a":"o","b":{"p":"/cancelled","d":1}}`)
				c.send(`{"r":5,"a":"oc","b":{"p":"/cancelled"}}`)
				c.settle()
			}
			gone := connect(t, db, "gone", 0)
			gone.send(`{"r":1,"a":"o","b":{"p":"/n","d":{".sv":{"increment":100}}}}`)
			gone.session.Close()
			if err := db.SetRules(t.Context(), parseRules(t,
				`{"rules":{".read":true,"n":{".write":true},"at":{"a":{".write":true},"b":{".write":true}},"open":{".write":true}}}`)); err != nil {
				t.Fatal(err)
			}
			left := goDown(t, db, file)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}

			now = time.UnixMilli(2000)
			for range 2 { // nothing is left for the second time
				o.File = left
				if db, err = Open(o); err != nil {
					t.Fatal(err)
				}
				want(t, db, "/", `{"at":{"a":2000,"b":2000},"n":103}`)
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
			}
			checkTest(t, openTest(t, o))
		})
	}
}

// TestOpenWhileOrphansFail: a database that can't carry out what was left does
// not open, and keeps it for the next time.
func TestOpenWhileOrphansFail(t *testing.T) {
	log := new(faultyLog)
	o := Options{File: filepath.Join(t.TempDir(), "db"), Rules: rules.Open(), Change: log}
	db, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, db, "a", 0)
	c.send(`{"r":1,"a":"o","b":{"p":"/x","d":1}}`)
	c.settle()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	log.set(true)
	if _, err := Open(o); !errors.Is(err, errInjected) {
		t.Fatalf("Open() while records can't be carried out = %v, want %v", err, errInjected)
	}
	log.set(false)
	db = openTest(t, o)
	want(t, db, "/x", "1")
}

// TestPendingLimits: in count and in bytes, with the paths. A request that would
// exceed them changes nothing.
func TestPendingLimits(t *testing.T) {
	tier.Unraced(t)
	db := openTest(t, Options{})
	c := connect(t, db, "a", 0)
	defer c.session.Close()
	answer := func(request string) string {
		t.Helper()
		c.send(request)
		c.settle()
		return strings.Join(c.frames(), " ")
	}
	expect := func(doing, got, want string) {
		t.Helper()
		if !strings.Contains(got, `"s":"`+want+`"`) {
			t.Errorf("%s is answered %s, want %s", doing, got, want)
		}
	}
	var members strings.Builder
	for i := range pending.MaxRecords - 1 {
		fmt.Fprintf(&members, `"k%d":%d,`, i, i)
	}
	expect("10,000 records", answer(fmt.Sprintf(`{"r":1,"a":"om","b":{"p":"/l","d":{%s"last":1}}}`, &members)), "ok")
	expect("another one", answer(`{"r":2,"a":"o","b":{"p":"/more","d":1}}`), "too_big")
	expect("one in the place of another", answer(`{"r":3,"a":"o","b":{"p":"/l/last","d":2}}`), "ok")
	expect("two in the place of one", answer(`{"r":4,"a":"om","b":{"p":"/l/k1","d":{"a":1,"b":2}}}`), "ok") // they go into it
	expect("one for all", answer(`{"r":5,"a":"o","b":{"p":"/l","d":null}}`), "ok")
	wantPending(t, c, "/l null")

	long := strings.Repeat("v", pending.MaxBytes-100)
	expect("a long value", answer(fmt.Sprintf(`{"r":6,"a":"o","b":{"p":"/l","d":{"a":%q,"b":0}}}`, long[:pending.MaxBytes/2])), "ok")
	expect("another one", answer(fmt.Sprintf(`{"r":7,"a":"o","b":{"p":"/m","d":%q}}`, long[:pending.MaxBytes/2])), "too_big")
	expect("parts of it", answer(`{"r":8,"a":"om","b":{"p":"/l","d":{"b":1,"c":2}}}`), "ok")
	expect("many parts of it", answer(fmt.Sprintf(`{"r":9,"a":"om","b":{"p":"/l","d":{%s"last":1}}}`, &members)), "too_big")
	expect("a cancel", answer(`{"r":10,"a":"oc","b":{"p":"/"}}`), "ok")
	wantPending(t, c)
}
