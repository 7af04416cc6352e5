package server

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
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
		if _, _, err := c.ws.ReadMessage(); !websocket.IsCloseError(err, closePolicy) {
			t.Errorf("closed with %v, want code 1008", err)
		}
		if d := time.Since(began); d != silence {
			t.Errorf("dropped after %v, want %v", d, silence)
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
		if d := time.Since(began); err == nil || d != firstMessage {
			t.Errorf("%v after %v, want an end after %v", err, d, firstMessage)
		}
		c.ws.Close()
	})
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
		n.rt.mu.Lock()
		defer n.rt.mu.Unlock()
		if len(n.rt.conns) != 2 {
			t.Errorf("%d connections are left, want 2", len(n.rt.conns))
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
		time.Sleep(sendTimeout + time.Second)
		synctest.Wait()
		n.rt.mu.Lock()
		if len(n.rt.conns) != 2 {
			t.Errorf("%d connections are left, want 2", len(n.rt.conns))
		}
		n.rt.mu.Unlock()
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
		if d := time.Since(began); d > sendTimeout+linger {
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
		if b, err := io.ReadAll(conn); err != nil || len(b) < 4 || b[0] != final|opClose {
			t.Errorf("read %q, %v, want a close frame", b, err)
		}
		if d := time.Since(began); d != linger {
			t.Errorf("closed after %v, want %v", d, linger)
		}
	})
}
