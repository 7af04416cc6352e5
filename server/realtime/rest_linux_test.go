package realtime

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/dogwooddb/dogwood/internal/leaktest"
	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/realtime/parking"
)

// serveParking serves until the test ends, when no goroutine may be left. Sockets are parked
// after quiet.
func serveParking(t testing.TB, quiet time.Duration) *testServer {
	t.Helper()
	t.Cleanup(func() { leaktest.Verify(t) })
	return serveTest(t, Limits{Quiet: quiet})
}

// until waits for a state.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func (s *socket) isParked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parked
}

// sock returns the server's side, which may be a little behind the hello.
func (c *client) sock() (s *socket) {
	c.t.Helper()
	until(c.t, "there is a socket", func() bool {
		_, s = c.c.transports()
		return s != nil
	})
	return s
}

// parked waits until a client's socket is parked.
func (c *client) parked() *client {
	c.t.Helper()
	until(c.t, "the socket is parked", c.sock().isParked)
	return c
}

// stats asks for something that has an answer.
func (c *client) stats(id int) {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"t":"d","d":{"r":%d,"a":"s","b":{"c":{}}}}`, id))
	c.want(fmt.Sprintf(`{"t":"d","d":{"r":%d,"b":{"s":"ok","d":""}}}`, id))
}

// wantClosed waits for a close frame.
func (c *client) wantClosed(code int) {
	c.t.Helper()
	c.ws.SetReadDeadline(time.Now().Add(time.Minute))
	for {
		_, _, err := c.ws.ReadMessage()
		var closed *websocket.CloseError
		if errors.As(err, &closed) && closed.Code == code {
			return
		}
		if err != nil {
			c.t.Fatalf("closed with %v, want code %d", err, code)
		}
	}
}

// A parked socket has no goroutine, and is there for its client and for the server.
func TestParked(t *testing.T) {
	for _, quiet := range []time.Duration{time.Nanosecond, 20 * time.Millisecond} {
		t.Run(quiet.String(), func(t *testing.T) {
			n := serveParking(t, quiet)
			c := n.connect()
			for id := 1; id <= 5; id++ {
				c.parked()
				c.stats(id)
				c.parked().c.out.PushFrame([]byte(`{"n":1}`))
				c.want(`{"n":1}`)
			}
			c.send("0")
			c.parked()
		})
	}
}

// Parked sockets take no goroutines, and all of them may be woken at once.
func TestParkedGoroutines(t *testing.T) {
	n := serveParking(t, time.Nanosecond)
	var clients []*client
	for range 200 {
		clients = append(clients, n.connect())
	}
	for id := 1; id <= 3; id++ {
		for _, c := range clients {
			c.send(fmt.Sprintf(`{"t":"d","d":{"r":%d,"a":"s","b":{"c":{}}}}`, id))
		}
		for _, c := range clients {
			c.want(fmt.Sprintf(`{"t":"d","d":{"r":%d,"b":{"s":"ok","d":""}}}`, id))
			c.parked()
		}
		until(t, "the goroutines end", func() bool { return runtime.NumGoroutine() < len(clients)/2 })
	}
}

// Whatever comes in the moment in which a socket is parked is answered, also while other
// connections come and go, and take over its number and its descriptor.
func TestParkingLosesNothing(t *testing.T) {
	for _, quiet := range []time.Duration{time.Nanosecond, 20 * time.Microsecond, 200 * time.Microsecond} {
		t.Run(quiet.String(), func(t *testing.T) {
			n := serveParking(t, quiet)
			ended := make(chan struct{})
			var others, wg sync.WaitGroup
			for range 2 {
				others.Go(func() { comeAndGo(n, ended) })
			}
			for i := range 8 {
				c, r := n.connect(), rand.New(rand.NewPCG(uint64(i), 0))
				wg.Go(func() {
					for id := 1; id <= tier.Pick(100, 300, 20_000); id++ {
						c.stats(id)
						for range r.IntN(200) {
							runtime.Gosched()
						}
					}
				})
			}
			wg.Wait()
			close(ended)
			others.Wait()
			until(t, "those that left are forgotten", func() bool { return n.Count() == 8 })
		})
	}
}

// Whatever is written in the moment in which a socket is parked arrives, also what is too large
// for the pool of writers and needs a deadline.
func TestParkingWhileWriting(t *testing.T) {
	n := serveParking(t, time.Nanosecond)
	c := n.connect()
	ended := make(chan struct{})
	var talks sync.WaitGroup
	defer talks.Wait()
	defer close(ended)
	talks.Go(func() { // each message gives the socket a reader, which parks it
		for s := c.sock(); !isClosed(ended); c.send("0") {
			until(t, "the socket is parked", func() bool { return s.isParked() || isClosed(ended) })
		}
	})
	large := fmt.Sprintf("%q", strings.Repeat("x", 20_000))
	for i := range tier.Pick(200, 600, 20_000) {
		if i%2 == 0 {
			c.c.out.PushFrame([]byte(large))
			c.want("2") // frames
			if got := c.next() + c.next(); got != large {
				t.Fatalf("got %.300s, want %.300s", got, large)
			}
			continue
		}
		small := fmt.Sprintf(`{"n":%d}`, i)
		c.c.out.PushFrame([]byte(small))
		c.want(small)
	}
}

// comeAndGo makes connections and ends them in several ways.
func comeAndGo(n *testServer, ended chan struct{}) {
	for i := 0; !isClosed(ended); i++ {
		c := n.connect()
		if i%2 == 0 {
			c.ws.NetConn().(*net.TCPConn).SetLinger(0)
		}
		if i%3 == 0 {
			c.parked()
		}
		c.ws.Close()
	}
}

// Times count for parked sockets as for others.
func TestParkedTimes(t *testing.T) {
	n := serveParking(t, time.Nanosecond)
	silentOne, mute := n.connect(), n.connect()
	silentOne.stats(1)
	silentOne.ws.SetPingHandler(func(string) error { return nil })
	silentOne.parked()
	mute.parked()

	n.wheel.TurnTo(time.Now().Add(FirstMessage + parking.Tick))
	mute.wantClosed(closePolicy) // it has not said anything yet
	n.wheel.TurnTo(time.Now().Add(Silence + parking.Tick))
	silentOne.wantClosed(closePolicy)
	until(t, "both are gone", func() bool { return n.Count() == 0 })
	if got := n.opts.Metrics.Refused.Of(metrics.Silent); got != 2 {
		t.Errorf("%d silent clients are counted, want 2", got)
	}
}

// The answer to a ping gives a parked client more time, and its socket is parked again.
func TestParkedPing(t *testing.T) {
	n := serveParking(t, time.Nanosecond)
	c := n.connect()
	c.stats(1)
	now := time.Now()
	for range 2 { // the wheel is ahead of the clock, so a third one would be too late
		heard := func() time.Time {
			c.sock().mu.Lock()
			defer c.sock().mu.Unlock()
			if !c.sock().parked {
				return time.Time{}
			}
			return c.sock().until
		}
		c.parked()
		before := heard()
		pinged := make(chan struct{})
		c.ws.SetPingHandler(func(text string) error {
			close(pinged)
			return c.ws.WriteControl(websocket.PongMessage, []byte(text), time.Now().Add(time.Minute))
		})
		now = now.Add(PingEvery + parking.Tick)
		n.wheel.TurnTo(now)
		c.c.out.PushFrame([]byte("{}")) // so that next returns
		c.want("{}")
		<-pinged
		until(t, "the answer was heard", func() bool { return heard().After(before) })
	}
}

// The end of a connection reaches a parked socket, whatever its cause.
func TestParkedEnds(t *testing.T) {
	for name, end := range map[string]func(*testServer, *client){
		"the client leaves":     func(_ *testServer, c *client) { c.ws.Close() },
		"the client shuts down": func(_ *testServer, c *client) { c.ws.NetConn().(*net.TCPConn).CloseWrite() },
		"the network breaks": func(_ *testServer, c *client) {
			c.ws.NetConn().(*net.TCPConn).SetLinger(0)
			c.ws.Close()
		},
		"the credential ends": func(_ *testServer, c *client) {
			s := c.sock()
			c.c.close(expired)
			until(c.t, "the socket has a reader", func() bool { return !s.isParked() }) // without an answer
			c.wantClosed(closePolicy)
			c.ws.Close()
		},
		"replaced":       func(_ *testServer, c *client) { c.c.close(replaced) },
		"writing fails":  func(_ *testServer, c *client) { c.sock().cutOff() },
		"sockets closed": func(n *testServer, _ *client) { n.CloseSockets() },
		"pings in a row": func(_ *testServer, c *client) {
			until(c.t, "nothing is written", c.sock().writing.hold) // nor taken from the queue
			for range maxQueue + 1 {
				c.sock().push([]byte("{}"))
			}
			c.sock().writing.end()
		},
		"shutdown": func(n *testServer, c *client) {
			go n.Shutdown()
			c.wantClosed(closeGoingAway)
			c.ws.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := serveParking(t, time.Nanosecond)
			c := n.connect()
			c.stats(1)
			end(n, c.parked())
			until(t, "the connection ends", func() bool {
				n.mu.Lock()
				defer n.mu.Unlock()
				return len(n.conns) == 0 && len(n.sockets) == 0
			})
		})
	}
}

// A client in the middle of a message has a reader, with the time that it has for that.
func TestTricklingIsNotParked(t *testing.T) {
	n := serveParking(t, time.Nanosecond)
	n.opts.Limits.Stalled = 50 * time.Millisecond
	for name, test := range map[string]struct {
		begin, rest string
	}{
		"a header":       {"\x81", "\x81\x00\x00\x00\x000"},
		"a mask":         {"\x81\x81\x00\x00", "\x00\x000"},
		"a ping":         {"\x89\x82\x00\x00\x00\x00x", "x"},
		"pieces":         {clientFrame(opText, true, "2") + clientFrame(opText, true, `{"t":"c",`), clientFrame(opText, true, `"d":{"t":"n","d":{}}}`)},
		"all but a byte": {clientFrame(opText, true, "0")[:6], ""},
	} {
		c := n.connect()
		c.stats(1)
		c.parked()
		raw := c.ws.NetConn()
		if _, err := io.WriteString(raw, test.begin); err != nil {
			t.Fatal(err)
		}
		until(t, name+": the socket has a reader", func() bool { return !c.sock().isParked() })
		for range 100 { // it is not parked by mistake
			if runtime.Gosched(); c.sock().isParked() {
				t.Fatalf("%s: parked in the middle", name)
			}
		}
		if test.rest == "" {
			continue
		}
		if _, err := io.WriteString(raw, test.rest); err != nil {
			t.Fatal(err)
		}
		c.parked()
		c.stats(2)
	}
	c := n.connect()
	c.stats(1)
	c.parked()
	io.WriteString(c.ws.NetConn(), "\x81\x86\x00\x00\x00\x00{")
	c.wantClosed(closePolicy)
}

// Where the system cannot watch sockets they keep their readers.
func TestParkingFails(t *testing.T) {
	n := serveParking(t, time.Nanosecond)
	c := n.connect()
	c.stats(1)
	c.parked()
	n.watcher.Close()
	until(t, "the socket has a reader", func() bool { return !c.sock().isParked() })
	for id := 2; id < 10; id++ {
		c.stats(id)
	}
	if c.sock().isParked() {
		t.Error("parked without anything to wake it")
	}
	d := n.connect()
	d.stats(1)
	if d.sock().isParked() {
		t.Error("parked without anything to wake it")
	}
}
