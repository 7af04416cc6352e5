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

// TestViewsTakeTurnsWithValues: views are read in turn with values, and nobody writes later
// for that.
func TestViewsTakeTurnsWithValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := openTest(t, Options{Rules: rules.Open()})
		readers := outbox.NewReaders().All()
		reads := entered(readers) // large values that are read for long
		view := outbox.New(outbox.EventStream, 0, func() {})
		view.Share(outbox.NewAllowance(1<<20, readers))
		if _, err := db.Listen(t.Context(), Read{Plain: true}, view); err != nil {
			t.Fatal(err)
		}
		var sent string
		go func() { sent = string(bytes.Join(view.Take(1), nil)) }()
		synctest.Wait()
		if sent != "" {
			t.Errorf("a view is not read in turn: %s", sent)
		}
		set(t, db, "/a", "1")
		for range reads {
			readers.Release(1)
		}
		synctest.Wait()
		if want := "event: put\ndata: {\"path\":\"/\",\"data\":null}\n\n"; sent != want {
			t.Errorf("the view is %q, want that of before the write, %q", sent, want)
		}
		if n := entered(readers); n != reads {
			t.Errorf("a view leaves %d of %d places", n, reads)
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
