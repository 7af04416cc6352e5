package sync

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/internal/disktest"
	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
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
		declared, err := tx.Indexes().Declared(indexesOf(db.Rules(), nil))
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
		if _, err := db.Write(t.Context(), putOf(t, "/online", "1")); !errors.Is(err, fault.ErrUnavailable) || !store.NoRoom(err) {
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
	tier.RacedFrom(t, tier.Full)
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
	tier.RacedFrom(t, tier.Full)
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

// leaveMany connects a client that leaves operations, each to add 1 to a value of its own.
func leaveMany(t *testing.T, db *Database, name string, n int) *client {
	t.Helper()
	c := connect(t, db, name, 0)
	for i := range n {
		c.send(fmt.Sprintf(`{"r":%d,"a":"o","b":{"p":"/%s/%04d","d":{".sv":{"increment":1}}}}`, i+1, name, i))
	}
	c.settle()
	c.frames()
	return c
}

// wantMany wants each operation of leaveMany to have been carried out, in order and once.
func wantMany(t *testing.T, name string, n int, seen []string) {
	t.Helper()
	if len(seen) != n {
		t.Errorf("%d operations of %s were carried out, want %d", len(seen), name, n)
	}
	for i, got := range seen {
		if want := fmt.Sprintf("/%s/%04d=1", name, i); got != want {
			t.Fatalf("operation %d of %s: %s, want %s", i, name, got, want)
		}
	}
}

// follow notes each change below a path, as it is told.
func follow(t *testing.T, db *Database, name string, seen *[]string) (read func()) {
	t.Helper()
	c := connect(t, db, "follower-of-"+name, 0)
	c.send(fmt.Sprintf(`{"r":1,"a":"q","b":{"p":"/%s","h":""}}`, name))
	c.settle()
	c.frames()
	return func() {
		t.Helper()
		for _, frame := range c.frames() {
			var m struct {
				Body struct {
					Path string          `json:"p"`
					Data json.RawMessage `json:"d"`
				} `json:"b"`
			}
			if err := json.Unmarshal([]byte(frame), &m); err != nil {
				t.Fatalf("%s: %v", frame, err)
			}
			*seen = append(*seen, fmt.Sprintf("/%s=%s", m.Body.Path, m.Body.Data))
		}
	}
}

// slowTask is how long a slowClock makes a task take.
const slowTask = 5 * time.Millisecond

// A slowClock makes the committer take slowTask for each write, so that each batch has one
// task. Tests with it have a fake clock.
type slowClock struct {
	slow atomic.Bool
	asks func() // nil: nothing happens
}

func (c *slowClock) now() time.Time {
	if c.slow.Load() {
		time.Sleep(slowTask)
		if c.asks != nil {
			c.asks()
		}
	}
	return time.Now()
}

// openSlow opens a database with a slowClock.
func openSlow(t *testing.T, o Options, c *slowClock) *Database {
	t.Helper()
	o.Now = c.now
	db := openTest(t, o)
	db.batchTime = minBatchTime
	return db
}

// TestLateTakesTurns: when the disk is back, writes do not wait until all that is late was
// carried out. Operations stay in the order of their session.
func TestLateTakesTurns(t *testing.T) {
	const many = 200
	file := filepath.Join(t.TempDir(), "db")
	synctest.Test(t, func(t *testing.T) {
		var clock slowClock
		db := openSlow(t, Options{File: file}, &clock)
		var seen []string
		read := follow(t, db, "left", &seen)
		c := leaveMany(t, db, "left", many)
		empty := disktest.Fill(t)
		c.session.Close()
		empty()
		clock.slow.Store(true)
		began := time.Now()
		set(t, db, "/bystander", "1")
		if took := time.Since(began); took > many*slowTask/10 {
			t.Errorf("a write waited for %s, all that is late takes %s", took, many*slowTask)
		}
		time.Sleep(2 * many * slowTask)
		synctest.Wait()
		read()
		wantMany(t, "left", many, seen)
	})
}

// TestLateIsNotOvertaken: when the disk is back just before an operation is carried out, and
// one before it is late, they are carried out in order all the same.
func TestLateIsNotOvertaken(t *testing.T) {
	const many = 2
	file := filepath.Join(t.TempDir(), "db")
	synctest.Test(t, func(t *testing.T) {
		var clock slowClock
		db := openSlow(t, Options{File: file}, &clock)
		var seen []string
		read := follow(t, db, "left", &seen)
		c := leaveMany(t, db, "left", many)
		empty := sync.OnceFunc(disktest.Fill(t))
		asked := 0
		clock.asks = func() {
			if asked++; asked == 2 { // the first has failed
				empty()
			}
		}
		clock.slow.Store(true)
		c.session.Close()
		empty()
		time.Sleep(2 * probeEvery)
		synctest.Wait()
		read()
		wantMany(t, "left", many, seen)
	})
}

// A flakyLog fails now and then, and the commit with it.
type flakyLog struct{ appends, every atomic.Int64 }

var errFlaky = errors.New("the log fails")

func (l *flakyLog) Append(ctx context.Context, db string, prev uint64, record []byte) (uint64, error) {
	if every := l.every.Load(); every > 0 && l.appends.Add(1)%every != 0 {
		return 0, errFlaky
	}
	return localLog{}.Append(ctx, db, prev, record)
}

// TestLateKeepsOrder: operations that are late again and again are carried out in the order
// of their session, once.
func TestLateKeepsOrder(t *testing.T) {
	const many = 40
	file := filepath.Join(t.TempDir(), "db")
	synctest.Test(t, func(t *testing.T) {
		log := new(flakyLog)
		var clock slowClock
		db := openSlow(t, Options{File: file, Change: log}, &clock)
		names := []string{"ana", "bo"}
		seen := make([][]string, len(names))
		var reads []func()
		var clients []*client
		for i, name := range names {
			reads = append(reads, follow(t, db, name, &seen[i]))
			clients = append(clients, leaveMany(t, db, name, many))
		}
		clock.slow.Store(true)
		log.every.Store(3)
		for _, c := range clients {
			c.session.Close()
		}
		time.Sleep(many * 10 * probeEvery)
		synctest.Wait()
		for i, name := range names {
			reads[i]()
			wantMany(t, name, many, seen[i])
		}
		log.every.Store(0)
	})
}

// TestLateEndsWithTheDatabase: what is late when the database is closed stays on record, and
// is carried out at the next start.
func TestLateEndsWithTheDatabase(t *testing.T) {
	file := filepath.Join(t.TempDir(), "db")
	log := new(flakyLog)
	db, err := Open(Options{File: file, Change: log, Rules: rules.Open()})
	if err != nil {
		t.Fatal(err)
	}
	c := leaveMany(t, db, "left", 10)
	log.every.Store(math.MaxInt64)
	c.session.Close()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = openTest(t, Options{File: file, Rules: rules.Open()})
	for i := range 10 {
		want(t, db, fmt.Sprintf("/left/%04d", i), "1")
	}
}

// TestSample: a database that is new begins with the sample, one that is not
// keeps what it has.
func TestSample(t *testing.T) {
	file := filepath.Join(t.TempDir(), "db")
	o := Options{File: file, Sample: func() tree.Node { return tree.MustParseNode(`{"a":1}`) }}
	for _, value := range []string{`{"a":1}`, "null", "null"} {
		db, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		want(t, db, "/", value)
		set(t, db, "/", "null")
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
