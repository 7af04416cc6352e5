package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/dogwooddb/dogwood/tree"
)

const (
	switchOver = `{"t":"c","d":{"t":"a","d":{}}}`
	endOfPoll  = `{"t":"c","d":{"t":"n","d":{}}}`
)

// TestUpgrade follows a browser from a poll to a socket, with requests and
// events on the way all the time (protocol §14.4).
func TestUpgrade(t *testing.T) {
	n := onSocket(t, Options{Dev: true})
	b := n.browser()
	id := b.start("")
	c := n.websocket("&s=" + id)
	c.want(switchOver)
	for range 2 {
		c.send(ping)
		c.want(pong)
	}
	b.want(ask(1, "o", `{"p":"/gone","d":true}`), okReply(1, `""`))
	before, _ := n.metrics.Sockets.Bytes()
	c.send(switchOver)
	// The socket overtakes the poll: these wait for the end of the poll.
	for r := 21; r <= 40; r++ {
		c.send(ask(r, "p", fmt.Sprintf(`{"p":"/x","d":%d}`, r)))
	}
	waitFor(t, "the switch to overtake the poll", func() bool {
		in, _ := n.metrics.Sockets.Bytes()
		return in >= before+uint64(len(switchOver))
	})
	var got []string
	for r := 2; r <= 20; r++ {
		got = append(got, b.next(ask(r, "p", fmt.Sprintf(`{"p":"/x","d":%d}`, r)))...)
	}
	// The last request and the end arrive in the wrong order.
	last := ask(41, "p", fmt.Sprintf(`{"p":"/x","d":41,"h":%q}`, tree.Number(20).Hash()))
	pieces := b.pieces(1840, last, endOfPoll)
	poll := func(p [3]string) string {
		b.serial++
		return fmt.Sprintf("id=%s&pw=%s&ser=%d&seg0=%s&ts0=%s&d0=%s", b.id, b.password, b.serial, p[0], p[1], p[2])
	}
	older, newer := poll(pieces[1]), poll(pieces[0])
	held := make(chan reply)
	go func() { held <- b.fetch(older) }()
	waitFor(t, "the poll that comes first", func() bool { return n.underWay.Load() == 1 })
	// Each of the two may be answered with messages, in the order of their numbers.
	first, r := b.fetch(newer), <-held
	if first.number > r.number {
		first, r = r, first
	}
	for _, reply := range []reply{first, r} {
		if reply.err != nil {
			t.Fatal(reply.err)
		}
	}
	got = append(got, first.messages...)
	for !r.closes { // the reply to the last request came before the end
		if r.number >= 0 {
			got = append(got, r.messages...)
		}
		r = b.fetch(b.query())
	}
	got = append(got, r.messages...)
	if r.closeAt != r.number {
		t.Errorf("close after response %d, want %d", r.closeAt, r.number)
	}
	if last := len(got) - 1; got[last] != endOfPoll {
		t.Errorf("the poll ends with %s", got[last])
	} else {
		got = got[:last]
	}
	var want []string
	for r := 2; r <= 20; r++ {
		want = append(want, okReply(r, `""`))
	}
	want = append(want, okReply(41, `""`)) // its condition is what the request before wrote
	for r := 21; r <= 40; r++ {
		want = append(want, okReply(r, `""`))
	}
	for len(got) < len(want) { // some of them may have come before the end
		got = append(got, c.next())
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	// The poll is history: its end is not that of the connection.
	if late := b.fetch(b.query()); !late.closes || late.closeAt != r.number {
		t.Errorf("late poll: %+v, want to be closed after response %d", late, r.number)
	}
	b.get("disconn=t&id=" + b.id + "&pw=" + b.password)
	c.r = 100
	c.do("s", `{"c":{}}`)
	if got := n.value("/gone"); got != "null" {
		t.Errorf("/gone = %s while the client is there", got)
	}
	c.ws.Close()
	n.wantValue("/gone", "true")
}

// TestUpgradeUnderLoad: events come in order and once, whichever way.
func TestUpgradeUnderLoad(t *testing.T) {
	n := onSocket(t, Options{Dev: true, Limits: Limits{OutboxBytes: 64 << 20}})
	writer := n.connect("")
	b := n.browser()
	id := b.start("")
	const writes = 2000
	b.next(ask(1, "q", `{"p":"/x","h":""}`))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range writes {
			writer.do("p", fmt.Sprintf(`{"p":"/x","d":%d}`, i))
		}
	}()
	next := 0
	check := func(msg string) {
		t.Helper()
		if want := fmt.Sprintf(`{"t":"d","d":{"a":"d","b":{"p":"x","d":%d}}}`, next); msg != want {
			t.Fatalf("got %s, want %s", msg, want)
		}
		next++
	}
	poll := func(msgs ...string) {
		t.Helper()
		for _, msg := range b.next(msgs...) {
			if msg != endOfPoll && !strings.HasPrefix(msg, `{"t":"d","d":{"r"`) {
				check(msg)
			}
		}
	}
	poll()
	c := n.websocket("&s=" + id)
	c.want(switchOver)
	poll()
	c.send(switchOver)
	poll(endOfPoll)
	if next >= writes {
		t.Fatal("all writes were done before the upgrade")
	}
	for next < writes {
		check(c.next())
	}
	<-done
}

func TestUpgradeRefused(t *testing.T) {
	n := onSocket(t, Options{Dev: true})
	overSocket := n.connect("")
	b := n.browser()
	id := b.start("")
	first := n.websocket("&s=" + id)
	first.want(switchOver)
	for _, id := range []string{"unknown", overSocket.id, id} {
		c := n.websocket("&s=" + id)
		c.want(`{"t":"c","d":{"t":"r","d":"db.localhost"}}`)
		c.wantClose(websocket.CloseNormalClosure)
	}
	d := websocket.Dialer{NetDialContext: n.dial}
	ws, _, err := d.Dial("ws://db.localhost/.ws?ns=other&s="+id, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	(&wsClient{t: t, ws: ws}).want(`{"t":"c","d":{"t":"r","d":"db.localhost"}}`)

	// A socket that is lost, or that says too much, leaves the poll as it was.
	first.ws.Close()
	var second *wsClient
	waitFor(t, "the socket to be gone", func() bool {
		second = n.websocket("&s=" + id)
		return second.next() == switchOver
	})
	second.send(ask(1, "s", `{"c":{}}`))
	second.wantClose(websocket.CloseProtocolError)
	b.want(ping, pong)
	overSocket.do("s", `{"c":{}}`)
}

// TestUpgradeAfterRefusals: another socket for the session, which is refused, does not disturb the
// first one, before it has taken over and after.
func TestUpgradeAfterRefusals(t *testing.T) {
	n := onSocket(t, Options{Dev: true})
	b := n.browser()
	id := b.start("")
	b.want(ask(1, "o", `{"p":"/gone","d":true}`), okReply(1, `""`))
	c := n.websocket("&s=" + id)
	c.want(switchOver)
	refused := func() {
		t.Helper()
		other := n.websocket("&s=" + id)
		other.want(`{"t":"c","d":{"t":"r","d":"db.localhost"}}`)
		other.wantClose(websocket.CloseNormalClosure)
	}
	refused()
	c.send(switchOver)
	for r := <-b.hold(endOfPoll); !r.closes; {
		r = b.fetch(b.query())
	}
	refused()
	c.r = 100
	c.do("s", `{"c":{}}`)
	if got := n.value("/gone"); got != "null" {
		t.Errorf("/gone = %s while the client is there", got)
	}
	c.ws.Close()
	n.wantValue("/gone", "true")
}

// TestUpgradeLost: a client that relies on a socket does not come back to the
// poll.
func TestUpgradeLost(t *testing.T) {
	n := onSocket(t, Options{Dev: true})
	b := n.browser()
	id := b.start("")
	b.want(ask(1, "o", `{"p":"/gone","d":true}`), okReply(1, `""`))
	c := n.websocket("&s=" + id)
	c.want(switchOver)
	c.send(switchOver, ping)
	for r := <-b.hold(endOfPoll); !r.closes; { // the answer to the ping may come either way
		r = b.fetch(b.query())
	}
	c.ws.Close()
	n.wantValue("/gone", "true")

	// Nor does one whose poll has ended without the last message.
	b = n.browser()
	id = b.start("")
	c = n.websocket("&s=" + id)
	c.want(switchOver)
	c.send(switchOver, ask(1, "p", `{"p":"/gone","d":1}`))
	b.get("disconn=t&id=" + b.id + "&pw=" + b.password)
	c.wantClose(websocket.CloseNormalClosure)
	n.wantValue("/gone", "true")
}
