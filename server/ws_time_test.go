package server

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/peer"
	"github.com/dogwooddb/dogwood/server/realtime"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// The tests in this file run on pipes and take no real time.

// deaf makes a client read without answering pings.
func (c *wsClient) deaf() {
	c.ws.SetPingHandler(func(string) error { return nil })
}

func TestSilentClientIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := onPipe(t, Options{Dev: true})
		c := n.connect("")
		c.do("o", `{"p":"/online/ana","d":false}`)
		c.do("p", `{"p":"/online/ana","d":true}`)
		c.deaf()
		began := time.Now()
		c.ws.SetReadDeadline(time.Time{})
		if _, _, err := c.ws.ReadMessage(); !websocket.IsCloseError(err, websocket.ClosePolicyViolation) {
			t.Errorf("closed with %v, want code 1008", err)
		}
		if d := time.Since(began); d != realtime.Silence {
			t.Errorf("dropped after %v, want %v", d, realtime.Silence)
		}
		c.ws.Close()
		synctest.Wait()
		n.wantValue("/online/ana", "false")
	})
}

// TestFirstMessageIsDue: to answer pings is not enough for one that never said
// anything.
func TestFirstMessageIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := onPipe(t, Options{Dev: true})
		c := n.connect("")
		began := time.Now()
		c.ws.SetReadDeadline(time.Time{})
		_, _, err := c.ws.ReadMessage()
		if d := time.Since(began); err == nil || d != realtime.FirstMessage {
			t.Errorf("%v after %v, want an end after %v", err, d, realtime.FirstMessage)
		}
		c.ws.Close()
	})
}

// TestStalledMessage: a message that has begun has to go on, and slowness and
// pings between its frames do not give it more time than silence has. One in
// pieces has to go on, too: answers to pings are no pieces of it.
func TestStalledMessage(t *testing.T) {
	const ping = "\x89\x80\x00\x00\x00\x00"
	const pong = "\x8a\x80\x00\x00\x00\x00"
	const piece = "\x00\x81\x00\x00\x00\x00 "
	const ofHundred = "\x81\x83\x00\x00\x00\x00100"
	const first = "\x81\x81\x00\x00\x00\x00{"
	const empty = "\x81\x80\x00\x00\x00\x00"
	for _, test := range []struct {
		name  string
		begin string
		more  string // comes every 10 seconds
		after time.Duration
	}{
		{"header", "\x81\x86\x00\x00\x00\x00", "", realtime.Stalled},
		{"some", "\x81\x86\x00\x00\x00\x00{", "", realtime.Stalled},
		{"slow", "\x81\xfe\x00\xff\x00\x00\x00\x00", "x", realtime.Silence},
		{"slow fragments", "\x01\x81\x00\x00\x00\x00{", piece + ping, realtime.Silence},
		{"a count alone", ofHundred, pong, realtime.Stalled},
		{"a first piece", ofHundred + first, ping + pong, realtime.Stalled},
		{"slow pieces", ofHundred + first, empty + pong, realtime.Silence},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := onPipe(t, Options{Dev: true})
				c := n.connect("")
				c.do("s", `{"c":{}}`)
				c.deaf() // a pong would be in the middle of the frame
				began := time.Now()
				var sender sync.WaitGroup
				sender.Go(func() {
					conn := c.ws.NetConn()
					_, err := io.WriteString(conn, test.begin)
					for err == nil && test.more != "" {
						time.Sleep(10 * time.Second)
						_, err = io.WriteString(conn, test.more)
					}
				})
				c.ws.SetReadDeadline(began.Add(10 * time.Minute))
				if _, _, err := c.ws.ReadMessage(); !websocket.IsCloseError(err, websocket.ClosePolicyViolation) {
					t.Errorf("closed with %v, want code 1008", err)
				}
				if d := time.Since(began); d != test.after {
					t.Errorf("dropped after %v, want %v", d, test.after)
				}
				c.ws.Close()
				sender.Wait()
			})
		})
	}
}

// TestSlowMessage: one that arrives in time is taken, however slowly.
func TestSlowMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := onPipe(t, Options{Dev: true})
		c := n.connect("")
		c.do("s", `{"c":{}}`)
		c.deaf()
		msg := ask(7, "s", `{"c":{}}`)
		header := []byte{0x81, 0x80 | byte(len(msg)), 0, 0, 0, 0}
		go func() {
			conn := c.ws.NetConn()
			conn.Write(header)
			for part := range slices.Chunk([]byte(msg), len(msg)/6+1) {
				time.Sleep(realtime.Stalled - 3*time.Second)
				conn.Write(part)
			}
		}()
		c.ws.SetReadDeadline(time.Time{})
		_, got, err := c.ws.ReadMessage()
		if want := okReply(7, `""`); string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
		c.ws.Close()
	})
}

// TestSlowPieces: a message in pieces may take as long as its pieces come steadily, and no
// longer: what came fast in the beginning does not pay for what comes later.
func TestSlowPieces(t *testing.T) {
	value := strings.Repeat("x", 30*wire.MaxUnit)
	msg := ask(7, "p", `{"p":"/x","d":"`+value+`"}`)
	frames, err := wire.AppendFrames(nil, []byte(msg))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		steps []string // that come every 12 seconds
		taken bool
	}{
		{"steadily", texts(frames), true},
		{"fast, and then a byte now and then", append([]string{"200", value}, slices.Repeat([]string{"x"}, 100)...), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := onPipe(t, Options{Dev: true})
				ws := n.connect("").ws
				began := time.Now()
				var sender sync.WaitGroup
				sender.Go(func() {
					for _, text := range c.steps {
						if ws.WriteMessage(websocket.TextMessage, []byte(text)) != nil {
							return
						}
						time.Sleep(realtime.Stalled - 3*time.Second)
					}
				})
				ws.SetReadDeadline(began.Add(time.Hour))
				_, got, err := ws.ReadMessage()
				if c.taken != (string(got) == okReply(7, `""`)) {
					t.Errorf("got %s, %v", got, err)
				}
				if d := time.Since(began); c.taken != (d > 2*realtime.Silence) {
					t.Errorf("it took %s", d)
				}
				ws.Close()
				sender.Wait()
			})
		})
	}
}

func TestQuietClientStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := onPipe(t, Options{Dev: true})
		quiet, deaf := n.connect(""), n.connect("")
		deaf.deaf()
		pings := 0
		quiet.ws.SetPingHandler(func(string) error {
			pings++
			return quiet.ws.WriteControl(websocket.PongMessage, nil, time.Now().Add(time.Second))
		})
		deaf.ws.SetReadDeadline(time.Time{})
		go deaf.ws.ReadMessage()
		go func() {
			for range 80 {
				deaf.ws.WriteMessage(websocket.TextMessage, []byte("0"))
				time.Sleep(45 * time.Second)
			}
		}()
		quiet.do("s", `{"c":{}}`)
		quiet.ws.SetReadDeadline(time.Now().Add(time.Hour + time.Second))
		_, _, err := quiet.ws.ReadMessage()
		if pings != 144 {
			t.Errorf("%d pings in an hour (%v), want 144", pings, err)
		}
		if n.rt.Count() != 2 {
			t.Errorf("%d connections are left, want 2", n.rt.Count())
		}
		quiet.ws.Close()
		deaf.ws.Close()
	})
}

func TestSlowReaderIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := onPipe(t, Options{Dev: true, Limits: Limits{OutboxBytes: 100_000}})
		slow, fast, writer := n.connect(""), n.connect(""), n.connect("")
		slow.do("o", `{"p":"/online","d":false}`)
		fast.request("q", `{"p":"/x","h":""}`)
		fast.next()
		fast.next()
		slow.request("q", `{"p":"/x","h":""}`) // and never reads again

		began := time.Now()
		for i := range 100 {
			value := fmt.Sprintf(`%d %s`, i, strings.Repeat("x", 10_000))
			writer.do("p", fmt.Sprintf(`{"p":"/x","d":%q}`, value))
			fast.want(fmt.Sprintf(`{"t":"d","d":{"a":"d","b":{"p":"x","d":%q}}}`, value))
		}
		if d := time.Since(began); d > time.Second {
			t.Errorf("the others waited %v", d)
		}
		time.Sleep(peer.WriteTimeout + time.Second)
		synctest.Wait()
		if n.rt.Count() != 2 {
			t.Errorf("%d connections are left, want 2", n.rt.Count())
		}
		if got := n.metrics.Refused.Of(metrics.SlowConsumer); got != 1 {
			t.Errorf("%d slow consumers are counted, want 1", got)
		}
		n.wantValue("/online", "false")
		for _, c := range []*wsClient{slow, fast, writer} {
			c.ws.Close()
		}
	})
}

// TestPingFlood: a client that makes us write and does not read is dropped
// before it costs much.
func TestPingFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := onPipe(t, Options{Dev: true, Limits: Limits{OutboxBytes: 10_000}})
		c := n.connect("")
		began := time.Now()
		var err error
		for err == nil {
			err = c.ws.WriteMessage(websocket.TextMessage, []byte(`{"t":"c","d":{"t":"p","d":{}}}`))
		}
		if d := time.Since(began); d > peer.WriteTimeout+realtime.Linger {
			t.Errorf("dropped after %v", d)
		}
		c.ws.Close()
	})
}

// TestGoodbyeIsNotForever: a client that does not answer a close frame is
// closed all the same.
func TestGoodbyeIsNotForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := onPipe(t, Options{Dev: true})
		c := n.connect("")
		conn := c.ws.NetConn()
		began := time.Now()
		c.send("nonsense")
		if b, err := io.ReadAll(conn); err != nil || len(b) < 4 || b[0] != 0x88 {
			t.Errorf("read %q, %v, want a close frame", b, err)
		}
		if d := time.Since(began); d != realtime.Linger {
			t.Errorf("closed after %v, want %v", d, realtime.Linger)
		}
	})
}
