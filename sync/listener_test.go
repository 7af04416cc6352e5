package sync

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// TestFirstViewAndEventsMeet has many clients begin to listen while others
// write. For each listen the first view and the events after it, put together,
// are the final state: nothing between them is missing, nothing comes twice.
func TestFirstViewAndEventsMeet(t *testing.T) {
	for name, file := range map[string]string{"memory": "", "disk": filepath.Join(t.TempDir(), "db")} {
		t.Run(name, func(t *testing.T) { raceListens(t, openTest(t, Options{File: file})) })
	}
}

func raceListens(t *testing.T, db *Database) {
	const writers, listeners = 4, 24
	writes := tier.Pick(60, 150, 150)
	var writing, listening sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := range writes {
				// Increments show doubled events, removals missing ones.
				update := fmt.Sprintf(`{"n":{".sv":{"increment":1}},"k%d":%d,"k%d":null}`, (i+w)%40, i, (i+w+20)%40)
				if _, err := db.Write(context.Background(), updateOf(t, "/x", update)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	mirrors := make([]*mirror, listeners)
	finished := make(chan struct{})
	for i := range listeners {
		bound := 3000 * (i % 3) // some overflow now and then
		m := newMirror(connect(t, db, fmt.Sprint("l", i), bound))
		mirrors[i] = m
		if bound == 0 {
			m.pushed = countsByOne(t)
		}
		listening.Go(func() {
			time.Sleep(time.Duration(i) * time.Millisecond)
			m.follow(`{"r":1,"a":"q","b":{"p":"/x","h":""}}`)
			m.follow(`{"r":2,"a":"q","b":{"p":"/x","q":{"i":".key","l":5,"vf":"r"},"t":1,"h":""}}`)
			m.follow(`{"r":3,"a":"q","b":{"p":"/x","q":{"i":".value","sp":50},"t":2,"h":""}}`)
			for {
				m.read()
				select {
				case <-m.woken:
				case <-finished:
					return
				}
			}
		})
	}
	writing.Wait()
	close(finished)
	listening.Wait()
	for i, m := range mirrors {
		m.read()
		compareViews(t, db, m, fmt.Sprintf("listener %d", i))
		m.session.Close()
	}
}

// countsByOne checks that no event is missing, doubled or late: every write adds
// one to n.
func countsByOne(t *testing.T) func(key listenKey, before, after tree.Node) {
	return func(key listenKey, before, after tree.Node) {
		a, _ := before.Child("n").NumberValue()
		b, _ := after.Child("n").NumberValue()
		if key.tag == 0 && b != a+1 {
			t.Errorf("after the event of write %v comes that of write %v", a, b)
		}
	}
}

// compareViews checks what a mirror shows against the database.
func compareViews(t *testing.T, db *Database, m *mirror, doing string) {
	t.Helper()
	err := db.store.View(func(tx *store.Tx) error {
		for key, v := range m.views {
			l := m.session.listens.at(key)
			n, err := tx.Window(key.path, l.Follows().Query, 0)
			if err != nil {
				return err
			}
			if v.node != n {
				t.Errorf("%s: the view of %s tag %d is\n\t%s\nwant\n\t%s", doing, key.path, key.tag, v.node.JSON(), n.JSON())
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestListenDuringRulesChange: a listen that is decided while the rules change
// does not escape them.
func TestListenDuringRulesChange(t *testing.T) {
	db := openTest(t, Options{})
	locked, open := rules.Locked(), rules.Open()
	for round := range 50 {
		if err := db.SetRules(t.Context(), open); err != nil {
			t.Fatal(err)
		}
		c := connect(t, db, fmt.Sprint("a", round), 0)
		var both sync.WaitGroup
		both.Go(func() {
			for i := range 20 {
				c.send(fmt.Sprintf(`{"r":%d,"a":"q","b":{"p":"/x/%d","h":""}}`, i, i))
			}
		})
		both.Go(func() {
			if err := db.SetRules(t.Context(), locked); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		if n := db.Stats().Listeners; n != 0 {
			t.Fatalf("round %d: %d listens go on that the rules do not allow", round, n)
		}
		c.session.Close()
	}
}

// TestRevokeMeetsClose: a listener that is closed while it is revoked is removed
// once.
func TestRevokeMeetsClose(t *testing.T) {
	db := openTest(t, Options{})
	for range 50 {
		if err := db.SetRules(t.Context(), rules.Open()); err != nil {
			t.Fatal(err)
		}
		var listeners []*audience.Listener
		for i := range 20 {
			r := Read{Path: tree.MustParsePath("/x"), Query: tree.Query{Limit: i % 3}}
			l, err := db.Listen(t.Context(), r, "", outbox.New(outbox.EventStream, 0, func() {}))
			if err != nil {
				t.Fatal(err)
			}
			listeners = append(listeners, l)
		}
		var both sync.WaitGroup
		both.Go(func() {
			for _, l := range listeners {
				l.Close()
			}
		})
		both.Go(func() {
			if err := db.SetRules(t.Context(), rules.Locked()); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		if n := db.Stats().Listeners; n != 0 {
			t.Fatalf("%d listeners are left, want none", n)
		}
	}
}

// TestViewTooBig: a view above the limit is refused; one that grows above it
// costs the connection when it has to be sent again.
func TestViewTooBig(t *testing.T) {
	db := openTest(t, Options{MaxRead: 10_000})
	grow := func(from, to int) {
		for i := from; i < to; i++ {
			set(t, db, fmt.Sprintf("/x/k%d", i), fmt.Sprintf("%q", strings.Repeat("v", 1000)))
		}
	}
	grow(0, 5)
	c := connect(t, db, "a", 4000)
	defer c.session.Close()
	c.send(`{"r":1,"a":"q","b":{"p":"/x","h":""}}`)
	c.frames()
	grow(5, 20)
	if got := c.frames(); len(got) != 0 {
		t.Errorf("a view that is too big gives %.200q, want nothing", got)
	}
	if err := c.out.Closing(); !errors.Is(err, fault.ErrTooBig) || !strings.Contains(err.Error(), "10000 bytes") {
		t.Errorf("Closing() = %v, want %v with the bound", err, fault.ErrTooBig)
	}

	d := connect(t, db, "d", 0)
	defer d.session.Close()
	d.send(`{"r":1,"a":"q","b":{"p":"/x","h":""}}`)
	d.send(`{"r":2,"a":"g","b":{"p":"/x"}}`)
	d.send(`{"r":3,"a":"q","b":{"p":"/x","q":{"i":".key","l":3,"vf":"l"},"t":1,"h":""}}`)
	got := d.frames()
	for i, want := range []string{"single request; one read has at most 10000 bytes; read parts of it", "single request; one read has at most 10000 bytes", `"p":"x"`} {
		if !strings.Contains(got[i], want) {
			t.Errorf("answer %d is %.200s, want %s", i, got[i], want)
		}
	}
	if n := db.Stats().Listeners; n != 1 {
		t.Errorf("%d listeners are left, want the one whose view is small", n)
	}
}

// TestJoinKeepsNoTransaction: a view that can't be read leaves no transaction
// open, which would keep Close waiting for ever.
func TestJoinKeepsNoTransaction(t *testing.T) {
	file := filepath.Join(t.TempDir(), "db")
	db, err := Open(Options{File: file, Rules: rules.Open()})
	if err != nil {
		t.Fatal(err)
	}
	big := fmt.Sprintf("%q", strings.Repeat("v", 1500))
	set(t, db, "/bad", fmt.Sprintf(`{"a":%s,"b":%s}`, big, big))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	damageFile(t, file)
	if db, err = Open(Options{File: file, Rules: rules.Open()}); err != nil {
		t.Fatal(err)
	}
	c := connect(t, db, "a", 0)
	c.send(`{"r":1,"a":"q","b":{"p":"/bad","q":{"i":".key","l":9,"vf":"l"},"t":1,"h":""}}`)
	c.send(`{"r":2,"a":"q","b":{"p":"/bad","h":""}}`)
	for _, got := range c.frames() {
		if !strings.Contains(got, fault.TextInternal) {
			t.Errorf("the answer about a damaged view is %s, want %s", got, fault.TextInternal)
		}
	}
	c.session.Close()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestListenLimits: a session can have so many listens, and so much of them.
// Those that the rules ended do not count.
func TestListenLimits(t *testing.T) {
	tier.Unraced(t)
	db := openTest(t, Options{})
	c := connect(t, db, "a", 0)
	defer c.session.Close()
	answer := func(request string) string {
		t.Helper()
		c.send(request)
		got := c.frames()
		return got[len(got)-1]
	}
	long := strings.Repeat("x", 1<<20)
	fits := 0
	for ; strings.Contains(answer(fmt.Sprintf(
		`{"r":1,"a":"q","b":{"p":"/x","q":{"i":".key","ep":%q},"t":%d,"h":""}}`, long, fits+1)), `"ok"`); fits++ {
		if fits > 20 {
			t.Fatal("20 MiB of queries are kept for one session")
		}
	}
	if fits != 15 {
		t.Errorf("%d queries of 1 MiB fit, want 15", fits)
	}
	for i := range fits {
		c.send(fmt.Sprintf(`{"r":2,"a":"n","b":{"p":"/x","t":%d}}`, i+1))
	}
	c.frames()
	if c.session.listening != 0 {
		t.Errorf("%d bytes are counted for no listens", c.session.listening)
	}

	for i := range maxListens {
		c.send(fmt.Sprintf(`{"r":3,"a":"q","b":{"p":"/l/%d","h":""}}`, i))
		c.frames()
	}
	if got := answer(`{"r":4,"a":"q","b":{"p":"/more","h":""}}`); !strings.Contains(got, `"s":"too_big"`) {
		t.Errorf("one listen too many is answered %s, want too_big", got)
	}
	for _, r := range []*rules.Ruleset{rules.Locked(), rules.Open()} {
		if err := db.SetRules(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		c.frames()
	}
	if got := answer(`{"r":5,"a":"q","b":{"p":"/more","h":""}}`); !strings.Contains(got, `"s":"ok"`) {
		t.Errorf("a listen after all others were revoked is answered %s, want ok", got)
	}
}

// TestListensKeepNoMessages: a listen or a record for the disconnect may be
// long, and must not keep the message in memory that it came with.
func TestListensKeepNoMessages(t *testing.T) {
	tier.Unraced(t)
	db := openTest(t, Options{})
	c := connect(t, db, "a", 0)
	defer c.session.Close()
	const junk = 1 << 20
	n := tier.Pick(20, 50, 50)
	before := heap()
	for i := range n {
		filler := strings.Repeat(fmt.Sprint(i%10), junk) // needs no quoting, which takes long
		c.send(fmt.Sprintf(`{"r":1,"a":"q","b":{"p":"%s/l%d","h":"%s","junk":"%s"}}`, strings.Repeat("/", 1000), i, filler, filler))
		c.send(fmt.Sprintf(`{"r":1,"a":"q","b":{"p":"/l%d","q":{"i":".key","l":1},"t":1,"junk":"%s"}}`, i, filler))
		c.send(fmt.Sprintf(`{"r":2,"a":"o","b":{"p":"/o%d","d":1,"junk":"%s"}}`, i, filler))
		c.send(fmt.Sprintf(`{"r":3,"a":"om","b":{"p":"/","d":{"om%d":1},"junk":"%s"}}`, i, filler))
		c.settle()
		c.frames()
	}
	if grown := heap() - before; grown > n*junk/4 {
		t.Errorf("%d listens and records that came with %d MiB keep %d KiB", n, 5*n*junk>>20, grown>>10)
	}
}

// idLine is the line of an event that says where in the log it is.
var idLine = regexp.MustCompile(`(?m)^id: .*\n`)

// TestEventStream: what the listeners of REST are sent, but for the place in the log if there is one.
func TestEventStream(t *testing.T) {
	db := openTest(t, Options{})
	set(t, db, "/x", `{"a":[1,2],".priority":3}`)
	out := outbox.New(outbox.EventStream, 0, func() {})
	l, err := db.Listen(t.Context(), Read{Path: tree.MustParsePath("/x"), Plain: true}, "", out)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	expect := func(want ...string) {
		t.Helper()
		got := string(bytes.Join(out.Take(1<<20), []byte(" ")))
		if db.logs {
			got = idLine.ReplaceAllString(got, "")
		}
		if got != strings.Join(want, " ") {
			t.Errorf("the stream has %q, want %q", got, want)
		}
	}
	expect("event: put\ndata: {\"path\":\"/\",\"data\":{\"a\":[1,2]}}\n\n")
	set(t, db, "/x/b/c", `{".value":true,".priority":1}`)
	expect("event: put\ndata: {\"path\":\"/b/c\",\"data\":true}\n\n")
	set(t, db, "/x/b/.priority", "1")
	expect()
	update := updateOf(t, "/x", `{"b/c":null,"d":{"e":"f"},"a/.priority":1}`)
	if _, err := db.Write(t.Context(), update); err != nil {
		t.Fatal(err)
	}
	expect("event: patch\ndata: {\"path\":\"/\",\"data\":{\"d\":{\"e\":\"f\"},\"b/c\":null}}\n\n")
	set(t, db, "/", "null")
	expect("event: put\ndata: {\"path\":\"/\",\"data\":null}\n\n")
	if err := db.SetRules(t.Context(), rules.Locked()); err != nil {
		t.Fatal(err)
	}
	expect("event: cancel\ndata: \"Permission denied\"\n\n")
	if err := out.Closing(); err != audience.ErrCancelled {
		t.Errorf("Closing() = %v, want %v", err, audience.ErrCancelled)
	}
}

// TestStats: the counts that operators see.
func TestStats(t *testing.T) {
	db := openTest(t, Options{Rules: rules.Locked()})
	c := connect(t, db, "a", 0)
	defer c.session.Close()
	c.send(`{"r":1,"a":"p","b":{"p":"/x","d":1}}`)
	c.send(`{"r":2,"a":"gauth","b":{"cred":"owner"}}`)
	c.send(`{"r":3,"a":"q","b":{"p":"/x","h":""}}`)
	c.settle()
	c.frames()
	set(t, db, "/x", "1")
	get(t, db, "/x")
	s := db.Stats()
	s.Batches, s.CommitTime = 0, 0
	if want := (Stats{Reads: 1, Writes: 2, Denied: 1, Decisions: 1, Published: 1, Events: 1, Listeners: 1}); !reflect.DeepEqual(s, want) {
		t.Errorf("Stats() = %+v, want %+v", s, want)
	}
}
