package bench

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/dogwooddb/dogwood/sync/wire"
)

const hello = `{"t":"c","d":{"t":"h","d":{"ts":1,"v":"5","h":"x","s":"1"}}}`

// script starts a server that runs f for each connection.
func script(t *testing.T, f func(ws *websocket.Conn)) Target {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := new(websocket.Upgrader).Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer ws.Close()
		f(ws)
	}))
	t.Cleanup(s.Close)
	return Target{URL: s.URL, Namespace: "n"}
}

func say(ws *websocket.Conn, texts ...string) {
	for _, text := range texts {
		_ = ws.WriteMessage(websocket.TextMessage, []byte(text)) // the reader will see what is missing
	}
}

// Messages come whole, however they were cut, and pings are answered between
// them.
func TestConnReads(t *testing.T) {
	ponged := make(chan string, 1)
	target := script(t, func(ws *websocket.Conn) {
		ws.SetPongHandler(func(text string) error { ponged <- text; return nil })
		say(ws, hello, `{"a":1}`, "2", `{"b":`, `123}`, "1", "0")
		_ = ws.WriteMessage(websocket.PingMessage, []byte("are you there")) // as above
		say(ws, `{"c":"`+strings.Repeat("x", 70_000)+`"}`)
		_, _, _ = ws.ReadMessage() // until the client leaves
	})
	c, err := dial(t.Context(), target, 512)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	for _, want := range []string{`{"a":1}`, `{"b":123}`, "0", `{"c":"` + strings.Repeat("x", 70_000) + `"}`} {
		got, err := c.next()
		if err != nil || string(got) != want {
			t.Fatalf("next() = %.100q, %v, want %.100q", got, err, want)
		}
	}
	if got := <-ponged; got != "are you there" {
		t.Errorf("the ping was answered with %q", got)
	}
}

// Continued frames are no part of the protocol's own framing, and allowed.
func TestConnReadsContinuedFrames(t *testing.T) {
	target := script(t, func(ws *websocket.Conn) {
		say(ws, hello)
		_, _ = ws.NetConn().Write([]byte("\x01\x04{\"a\"\x00\x02:1\x80\x01}\x88\x06\x03\xe9gone")) // the reader will see
		_, _, _ = ws.ReadMessage()
	})
	c, err := dial(t.Context(), target, 512)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if got, err := c.next(); string(got) != `{"a":1}` {
		t.Errorf("next() = %q, %v", got, err)
	}
	if _, err := c.next(); err == nil || err.Error() != "the server closed the connection: 1001 gone" {
		t.Errorf("next() = %v, want the reason of the close frame", err)
	}
}

func TestConnRefused(t *testing.T) {
	for _, c := range []struct{ says, want string }{
		{`{"t":"c","d":{"t":"s","d":"no such database"}}`, `hello: the server refuses: "no such database"`},
		{`{"t":"c","d":{"t":"r","d":"h"}}`, `hello: got {"t":"c"`},
		{`nonsense`, `hello: malformed message`},
	} {
		target := script(t, func(ws *websocket.Conn) { say(ws, c.says) })
		if _, err := dial(t.Context(), target, 512); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.says, err, c.want)
		}
	}
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	if _, err := dial(t.Context(), Target{URL: s.URL}, 512); err == nil || err.Error() != "connect: the server answered 404 Not Found" {
		t.Errorf("no WebSocket: %v", err)
	}
}

// What is added arrives in order, large messages in pieces, and a refusal is
// told from an answer.
func TestConnCalls(t *testing.T) {
	target := script(t, func(ws *websocket.Conn) {
		say(ws, hello)
		var frames wire.Collector
		for {
			_, frame, err := ws.ReadMessage()
			if err != nil {
				return
			}
			text, done, err := frames.Add(string(frame))
			if err != nil {
				t.Errorf("frame: %v", err)
			}
			if !done {
				continue
			}
			m, err := wire.ParseMessage(text)
			if err != nil {
				t.Errorf("message %.100s: %v", text, err)
			}
			say(ws, string(wire.AppendPush(nil, wire.PushData, "x", "1", 0)), string(wire.AppendOK(nil, m.Request.ID+100, "")))
			if m.Request.Action == wire.ActionAuth {
				say(ws, string(wire.AppendError(nil, m.Request.ID, wire.StatusInvalidToken, fmt.Sprint(len(m.Request.Body.Cred)))))
			} else {
				say(ws, string(wire.AppendOK(nil, m.Request.ID, wire.DataNone)))
			}
		}
	})
	c, err := dial(t.Context(), target, 512)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if err := c.listen("/a", `{"l":1,"vf":"r"}`); err != nil {
		t.Error(err)
	}
	if err := c.signIn(strings.Repeat("x", 40_000)); err == nil || err.Error() != `sign in: invalid_token: "40000"` {
		t.Errorf("signIn: %v, want the refusal", err)
	}
	if err := c.listen("/a", ""); err != nil {
		t.Error(err)
	}
}
