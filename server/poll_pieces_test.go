package server

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/peer"
	"github.com/dogwooddb/dogwood/server/realtime"
)

// piece sends one piece of a message of many, in a poll that does not wait: one with a higher
// serial number has come.
func (b *browser) piece(text string) reply {
	b.t.Helper()
	b.serial--
	r := b.fetch(fmt.Sprintf("id=%s&pw=%s&ser=%d&seg0=%d&ts0=400&d0=%s", b.id, b.password, b.serial, b.seg, text))
	if b.seg++; r.err != nil || r.status != http.StatusOK {
		b.t.Fatalf("piece %d: %+v", b.seg, r)
	}
	return r
}

// polling returns a browser with a poll that waits, until the test ends.
func (tn *town) polling(t *testing.T, addr string) *browser {
	b := tn.network(t, addr).browser()
	b.start("")
	b.serial = 1000
	b.hold()
	synctest.Wait()
	return b
}

// The pieces of a message that a client sends through long polling count for its
// address as it would over a WebSocket, and is given back when the connection ends.
func TestAddressPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tn := townOf(t, Options{Dev: true, Limits: Limits{MaxBodiesBytes: 1 << 20}})
		defer tn.shutdown()
		text := strings.Repeat("A", 100_000)
		ends := 0
		for range 3 {
			b := tn.polling(t, "198.51.100.1")
			for range 5 {
				before := tn.all.Bodies.Meter().Used()
				r := b.piece(text)
				synctest.Wait()
				used := tn.all.Bodies.Meter().Used()
				if used > 512<<10 || !r.closes && used < before+60_000 {
					t.Errorf("after a piece %d bytes are held, and %d before it", used, before)
				}
				if r.closes {
					ends++
					break
				}
			}
		}
		if ends == 0 {
			t.Error("unfinished messages of 1.5 MB were taken")
		}
		if got := tn.metrics.Refused.Of(metrics.AddressBodies); got != uint64(ends) {
			t.Errorf("%d connections were refused, and %d ended", got, ends)
		}
		long := `"` + strings.Repeat("x", 200<<10) + `"`
		tn.at("198.51.100.2").want("PUT", "/b.json", long, 200, long)
		tn.rt.Shutdown()
		synctest.Wait()
		if used := tn.all.Bodies.Meter().Used(); used != 0 {
			t.Errorf("%d bytes were not given back", used)
		}
	})
}

// One session whose polls are answered with large values that it does not read holds no more than its
// address may, also when it has ended; and other addresses are answered.
func TestDeafPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size, share = 200 << 10, 1 << 20
		tn := townOf(t, Options{Dev: true, DefaultNamespace: "test", Limits: Limits{MaxAnswersBytes: 2 * share}})
		defer tn.shutdown()
		long := `"` + strings.Repeat("x", size-2) + `"`
		tn.at("198.51.100.2").want("PUT", "/long.json?print=silent", long, 204, "")
		b := tn.network(t, "198.51.100.1").browser()
		b.start("")
		var deaf []net.Conn
		for i := range 12 {
			q := b.query(ask(i, "g", `{"p":"/long"}`))
			c, _ := tn.at("198.51.100.1").send(call{"GET", "/.lp?ns=test&" + q, nil, noBody})
			deaf = append(deaf, c)
			synctest.Wait()
			if held := tn.source().ViewBytes; held < min(int64(i+1)*size, share/2) || held > share+2*size {
				t.Fatalf("%d answers that are not read count as %d bytes", i+1, held)
			}
		}
		if status := b.get("disconn=t&id=" + b.id + "&pw=" + b.password); status != http.StatusNoContent {
			t.Errorf("the end is answered with %d", status)
		}
		if held := tn.source().ViewBytes; held < share/2 {
			t.Errorf("after the end %d bytes are held", held)
		}
		other := tn.network(t, "198.51.100.2").browser()
		other.start("")
		other.want(ask(1, "g", `{"p":"/long"}`), okReply(1, long))
		for _, c := range deaf {
			c.Close()
		}
		time.Sleep(peer.WriteTimeout)
		synctest.Wait()
		if held := tn.source().ViewBytes; held != 0 {
			t.Errorf("%d bytes were not given back", held)
		}
	})
}

// A message that is not finished may not stall, though its client goes on to poll.
func TestPollStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tn := townOf(t, Options{Dev: true})
		defer tn.shutdown()
		b := tn.polling(t, "198.51.100.1")
		for range 10 {
			time.Sleep(realtime.Stalled - time.Second)
			if r := b.piece(strings.Repeat("A", 16<<10)); r.closes {
				t.Fatal("a message that comes steadily was cut")
			}
			b.hold()
		}
		time.Sleep(realtime.Stalled + time.Second)
		synctest.Wait()
		if r := b.fetch(b.query()); !r.closes {
			t.Errorf("after a stall: %+v, want a close command", r)
		}
		tn.wantRefused(t, metrics.Silent, 1)
		if used := tn.all.Bodies.Meter().Used(); used != 0 {
			t.Errorf("%d bytes were not given back", used)
		}

		b = tn.polling(t, "198.51.100.1")
		for ended := false; !ended; {
			time.Sleep(realtime.Stalled - time.Second)
			ended = b.piece("AAAA").closes
			b.hold()
			if b.seg > 20 {
				t.Fatal("a message of 4 characters now and then may take for ever")
			}
		}
	})
}

// A poll that brings messages is answered though the outbox fills up before they are handled: no
// other may come that would empty it. One that only asks does not wait for such messages.
func TestPollsDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const listens, outbox = 30, 1_000 // the whole views of all take more
		tn := townOf(t, Options{Dev: true, Limits: Limits{OutboxBytes: outbox, MessageRate: 1, MessageBurst: listens}})
		defer tn.shutdown()
		b := tn.network(t, "198.51.100.1").browser()
		b.start("")
		var children []string
		for i := range listens {
			b.next(ask(i, "q", fmt.Sprintf(`{"p":"/x/k%d","h":""}`, i)))
			children = append(children, fmt.Sprintf(`"k%d":"some text"`, i))
		}
		put := func(r int) string { return ask(r, "p", `{"p":"/y","d":1}`) }
		held := b.hold(put(100)) // waits for the rate of messages
		synctest.Wait()
		tn.at("198.51.100.2").want("PUT", "/x.json?print=silent", "{"+strings.Join(children, ",")+"}", 204, "")
		answers := (<-held).messages
		if len(answers) < listens {
			t.Errorf("the poll is answered with %q", answers)
		}
		if len(answers) == listens { // the write was not on disk yet
			answers = b.fetch(b.query()).messages
		}
		if len(answers) == 0 || answers[len(answers)-1] != okReply(100, `""`) {
			t.Errorf("its message is answered with %q", answers)
		}

		time.Sleep(time.Second) // for one message
		held = b.hold(put(101), put(102))
		synctest.Wait()
		began := time.Now()
		r := b.fetch(b.query())
		if took := time.Since(began); took != 0 || len(r.messages) != 1 || r.messages[0] != okReply(101, `""`) {
			t.Errorf("after %v the next poll is answered with %+v", took, r)
		}
		<-held
	})
}
