package sync

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/tree"
)

// TestOutboxCountsWhatWaitsForItsTurn: a reply that is made later counts with
// what it keeps in memory, so a client cannot pile up large requests.
func TestOutboxCountsWhatWaitsForItsTurn(t *testing.T) {
	db := openTest(t, Options{})
	c := connect(t, db, "a", 4000)
	for i := 0; waitingBytes(c.out) <= 4000; i++ {
		if i > 100 {
			t.Fatalf("100 gets with queries of 1 kB count %d bytes", waitingBytes(c.out))
		}
		c.send(fmt.Sprintf(`{"r":%d,"a":"g","b":{"p":"/x","q":{"i":".value","ep":%q}}}`, i, strings.Repeat("x", 1000)))
	}
	c.frames()
}

// TestOutboxGivesUp: when replies alone are far beyond the bound the client is
// to be disconnected.
func TestOutboxGivesUp(t *testing.T) {
	db := openTest(t, Options{})
	c := connect(t, db, "a", 100)
	c.send(`{"r":1,"a":"q","b":{"p":"/x","h":""}}`)
	c.frames()
	for range 10 {
		c.out.PushFrame(make([]byte, 100))
	}
	set(t, db, "/x", "1")
	if err := c.out.Closing(); err != outbox.ErrSlow {
		t.Errorf("Closing() = %v, want %v", err, outbox.ErrSlow)
	}
	c.session.Close()
}

// TestSlowConsumerBlocksNobody: a client that takes nothing at all costs a
// bounded amount of memory, and writes go on.
func TestSlowConsumerBlocksNobody(t *testing.T) {
	db := openTest(t, Options{})
	slow := connect(t, db, "slow", 10_000)
	defer slow.session.Close()
	slow.send(`{"r":1,"a":"q","b":{"p":"/x","h":""}}`)
	slow.send(`{"r":2,"a":"q","b":{"p":"/x","q":{"i":".key","l":2,"vf":"r"},"t":1,"h":""}}`)
	slow.frames()
	value := fmt.Sprintf("%q", strings.Repeat("v", 900))
	for i := range 1000 {
		set(t, db, fmt.Sprintf("/x/k%03d", i), value)
		if waitingBytes(slow.out) > 12_000 {
			t.Fatalf("%d bytes wait for a slow client, want about 10000", waitingBytes(slow.out))
		}
	}
	n := get(t, db, "/x")
	if frames := strings.Join(slow.frames(), "\n"); !strings.Contains(frames, n) {
		t.Errorf("the client is sent %.100s…, want the whole view", frames)
	}
	set(t, db, "/x/last", "1")
	if got := strings.Join(slow.frames(), "\n"); !strings.Contains(got, `"p":"x/last","d":1`) {
		t.Errorf("after it caught up the client gets %s", got)
	}
}

// TestViewsTakeTurnsWithValues: large views are read in turn with values, and writes do not
// wait for that. Small views do not wait for the turn, with or without a limit.
func TestViewsTakeTurnsWithValues(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	for _, c := range []struct {
		name, path string
		query      tree.Query
		large      bool
	}{
		{"large", "/large", tree.Query{}, true},
		{"large and limited", "/large", tree.Query{Limit: 2}, true},
		{"small", "/small", tree.Query{}, false},
		{"small and limited", "/small", tree.Query{Limit: 2}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := openTest(t, Options{Rules: rules.Open()})
				set(t, db, "/large", `{"a":"`+long+`"}`)
				set(t, db, "/small", `{"a":1}`)
				readers := outbox.NewReaders().All()
				reads := entered(readers) // large values that are read for long
				view := outbox.New(outbox.EventStream, 0, func() {})
				view.Share(outbox.NewAllowance(1<<20, readers))
				if _, err := db.Listen(t.Context(), Read{Path: tree.MustParsePath(c.path[1:]), Query: c.query, Plain: true}, "", view); err != nil {
					t.Fatal(err)
				}
				var sent string
				go func() { sent = string(bytes.Join(view.Take(1), nil)) }()
				synctest.Wait()
				if waits := sent == ""; waits != c.large {
					t.Errorf("the view waits for its turn: %v, want %v", waits, c.large)
				}
				set(t, db, "/other", "1")
				for range reads {
					readers.Release(1)
				}
				synctest.Wait()
				if want := "event: put\ndata: {\"path\":\"/\",\"data\":{\"a\":"; !strings.HasPrefix(sent, want) {
					t.Errorf("the view is %.100q, want %q…", sent, want)
				}
				if n := entered(readers); n != reads {
					t.Errorf("a view leaves %d of %d places", n, reads)
				}
			})
		})
	}
}

// TestSmallGetsDoNotWaitForLongReads: a get or count over the realtime protocol is answered
// while all places for long reads are taken, and a get of a large value after that. Each
// counts as one read and is decided once.
func TestSmallGetsDoNotWaitForLongReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := openTest(t, Options{Rules: rules.Open()})
		set(t, db, "/large", `{"a":"`+strings.Repeat("x", 100<<10)+`"}`)
		set(t, db, "/small", "1")
		c := connect(t, db, "c", 64<<20)
		readers := outbox.NewReaders().All()
		c.out.Share(outbox.NewAllowance(1<<30, readers))
		reads, before := entered(readers), db.Stats().Reads
		c.send(`{"r":1,"a":"g","b":{"p":"/small"}}`)
		c.send(`{"r":2,"a":"g","b":{"p":"/large"}}`)
		var frames []string
		go func() {
			for range 2 {
				frames = append(frames, string(bytes.Join(c.out.Take(1), nil)))
			}
		}()
		synctest.Wait()
		if len(frames) != 1 {
			t.Fatalf("%d answers while no large value is read, want 1", len(frames))
		}
		for range reads {
			readers.Release(1)
		}
		synctest.Wait()
		if len(frames) != 2 || len(frames[1]) < 100<<10 {
			t.Errorf("%d answers, want 2", len(frames))
		}
		if n := db.Stats().Reads - before; n != 2 {
			t.Errorf("%d reads are counted, want 2", n)
		}
	})
}

func waitingBytes(o *outbox.Outbox) int {
	_, bytes := o.Backlog()
	return bytes
}

// entered returns how many places a share can have now, and takes them.
func entered(s *limit.Share) (n int) {
	for s.Try(1) == nil {
		n++
	}
	return n
}
