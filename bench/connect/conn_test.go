package connect

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/dogwooddb/dogwood/bench/connect/connecttest"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// Messages come whole, however they were cut, and pings are answered between
// them.
func TestConnReads(t *testing.T) {
	ponged := make(chan string, 1)
	target := scripted(t, func(ws *websocket.Conn) {
		ws.SetPongHandler(func(text string) error { ponged <- text; return nil })
		connecttest.Say(ws, connecttest.Hello, `{"a":1}`, "2", `{"b":`, `123}`, "1", "0")
		_ = ws.WriteMessage(websocket.PingMessage, []byte("are you there")) // as above
		connecttest.Say(ws, `{"c":"`+strings.Repeat("x", 70_000)+`"}`)
		_, _, _ = ws.ReadMessage() // until the client leaves
	})
	c, err := Dial(t.Context(), target, 512)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, want := range []string{`{"a":1}`, `{"b":123}`, "0", `{"c":"` + strings.Repeat("x", 70_000) + `"}`} {
		got, err := c.Next()
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
	target := scripted(t, func(ws *websocket.Conn) {
		connecttest.Say(ws, connecttest.Hello)
		_, _ = ws.NetConn().Write([]byte("\x01\x04{\"a\"\x00\x02:1\x80\x01}\x88\x06\x03\xe9gone")) // the reader will see
		_, _, _ = ws.ReadMessage()
	})
	c, err := Dial(t.Context(), target, 512)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got, err := c.Next(); string(got) != `{"a":1}` {
		t.Errorf("next() = %q, %v", got, err)
	}
	if _, err := c.Next(); err == nil || err.Error() != "the server closed the connection: 1001 gone" {
		t.Errorf("next() = %v, want the reason of the close frame", err)
	}
}

func TestConnRefused(t *testing.T) {
	for _, c := range []struct{ says, want string }{
		{`{"t":"c","d":{"t":"s","d":"no such database"}}`, `hello: the server refuses: "no such database"`},
		{`{"t":"c","d":{"t":"r","d":"h"}}`, `hello: got {"t":"c"`},
		{`nonsense`, `hello: malformed message`},
	} {
		target := scripted(t, func(ws *websocket.Conn) { connecttest.Say(ws, c.says) })
		if _, err := Dial(t.Context(), target, 512); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.says, err, c.want)
		}
	}
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	if _, err := Dial(t.Context(), Target{URL: s.URL}, 512); err == nil || err.Error() != "connect: the server answered 404 Not Found" {
		t.Errorf("no WebSocket: %v", err)
	}
}

// Added messages arrive in order, large ones in pieces, and a refusal is not taken for an
// answer.
func TestConnCalls(t *testing.T) {
	target := scripted(t, func(ws *websocket.Conn) {
		connecttest.Say(ws, connecttest.Hello)
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
			connecttest.Say(ws, string(wire.AppendPush(nil, wire.PushData, "x", "1", 0)), string(wire.AppendOK(nil, m.Request.ID+100, "")))
			if m.Request.Action == wire.ActionAuth {
				connecttest.Say(ws, string(wire.AppendError(nil, m.Request.ID, wire.StatusInvalidToken, fmt.Sprint(len(m.Request.Body.Cred)))))
			} else {
				connecttest.Say(ws, string(wire.AppendOK(nil, m.Request.ID, wire.DataNone)))
			}
		}
	})
	c, err := Dial(t.Context(), target, 512)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Listen("/a", `{"l":1,"vf":"r"}`); err != nil {
		t.Error(err)
	}
	if err := c.SignIn(strings.Repeat("x", 40_000)); err == nil || err.Error() != `sign in: invalid_token: "40000"` {
		t.Errorf("signIn: %v, want the refusal", err)
	}
	if err := c.Listen("/a", ""); err != nil {
		t.Error(err)
	}
}

// scripted returns a server that runs f for each connection.
func scripted(t *testing.T, f func(ws *websocket.Conn)) Target {
	t.Helper()
	return Target{URL: connecttest.Server(t, f), Namespace: "n"}
}
