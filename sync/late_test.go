package sync

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/disktest"
)

// withOrphan returns a closed file with what a session has left for its disconnect.
func withOrphan(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "db")
	db, err := Open(Options{File: file, Rules: rules.Open()})
	if err != nil {
		t.Fatal(err)
	}
	set(t, db, "/list", `{"a":{"n":2},"b":{"n":1}}`)
	leave(t, db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

// leave connects a client that is online until it disconnects.
func leave(t *testing.T, db *Database) *client {
	t.Helper()
	set(t, db, "/online", "true")
	c := connect(t, db, "a", 0)
	c.send(`{"r":1,"a":"om","b":{"p":"/","d":{"online":false,"left":{".sv":{"increment":1}}}}}`)
	c.settle()
	c.frames()
	return c
}

// wantIndexed wants the index of the rules with which a full disk is opened.
func wantIndexed(t *testing.T, db *Database, want bool) {
	t.Helper()
	err := db.store.View(func(tx *store.Tx) error {
		declared, err := tx.Declared(indexesOf(db.Rules()))
		if declared != want {
			t.Errorf("the index is declared: %t, want %t", declared, want)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// openFull opens a database on a disk without room, where an index has to be declared
// and what a session left to be carried out. It is read and not written to.
func openFull(t *testing.T, file string, log *bytes.Buffer) *Database {
	t.Helper()
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	db, err := Open(Options{
		File:  file,
		Rules: parseRules(t, `{"rules":{".read":true,".write":true,"list":{".indexOn":"n"}}}`),
		Log:   slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	want(t, db, "/online", "true")
	want(t, db, "/left", "null")
	n, err := db.Get(t.Context(), Read{Caller: Admin, Path: tree.MustParsePath("list"), Query: tree.Query{OrderBy: "n", Limit: 1}})
	if err != nil || n.JSON() != `{"b":{"n":1}}` {
		t.Errorf("a query = %s, %v", n.JSON(), err)
	}
	for range 3 {
		if _, err := db.Write(t.Context(), putOf(t, "/online", "1")); !errors.Is(err, ErrUnavailable) || !store.NoRoom(err) {
			t.Errorf("a write without room: %v", err)
		}
	}
	if db.Health(t.Context()) == nil {
		t.Error("it is healthy")
	}
	wantIndexed(t, db, false)
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file has changed, %v", err)
	}
	return db
}

// TestFullDiskStarts: what a start has to write is written before the first write for
// which there is room.
func TestFullDiskStarts(t *testing.T) {
	file := withOrphan(t)
	empty := disktest.Fill(t)
	var log bytes.Buffer
	db := openFull(t, file, &log)
	m := newMirror(connect(t, db, "watch", 0))
	m.follow(`{"r":1,"a":"q","b":{"p":"/online","h":""}}`)
	m.read()
	var seen []string
	m.pushed = func(_ listenKey, _, after tree.Node) { seen = append(seen, after.JSON()) }
	empty()
	set(t, db, "/online", `"again"`)
	m.read()
	if got := strings.Join(seen, " "); got != `false "again"` {
		t.Errorf("a client has seen %s", got)
	}
	want(t, db, "/left", "1")
	wantIndexed(t, db, true)
	checkTest(t, db)
	m.session.Close()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"commit failed", "the disk has no room", "commits work again"} {
		if n := strings.Count(log.String(), line); n != 1 {
			t.Errorf("%q is logged %d times, want 1:\n%s", line, n, &log)
		}
	}
	db = openTest(t, Options{File: file, Rules: rules.Open()})
	want(t, db, "/left", "1")
}

// TestFullDiskIsTriedAgain: it is written when there is room, if nobody writes, too.
func TestFullDiskIsTriedAgain(t *testing.T) {
	file := withOrphan(t)
	synctest.Test(t, func(t *testing.T) {
		empty := disktest.Fill(t)
		db := openFull(t, file, new(bytes.Buffer))
		time.Sleep(200 * probeEvery)
		want(t, db, "/online", "true")
		empty()
		time.Sleep(2 * probeEvery)
		synctest.Wait()
		want(t, db, "/online", "false")
		want(t, db, "/left", "1")
		wantIndexed(t, db, true)
		checkTest(t, db)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestLateBeforeWrites: what a session leaves while the disk is full is carried out
// before later writes, such as those of the same client when it is back.
func TestLateBeforeWrites(t *testing.T) {
	db := openTest(t, Options{File: filepath.Join(t.TempDir(), "db")})
	c := leave(t, db)
	empty := disktest.Fill(t)
	c.session.Close()
	want(t, db, "/online", "true")
	empty()
	set(t, db, "/online", `"again"`)
	want(t, db, "/online", `"again"`)
	want(t, db, "/left", "1")
}
