package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/dogwooddb/dogwood/sync/wire"
)

func TestWebSocketHello(t *testing.T) {
	n := onSocket(t, Options{Dev: true})
	a, b := n.connect(""), n.connect("&p=1:2:web:3&ac=token&r=f")
	if a.id == b.id {
		t.Errorf("two sessions with the id %s", a.id)
	}
}

func TestWebSocketOnly(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	for _, target := range []string{"/.ws?v=5&ns=test", "/.ws/?v=5&ns=test"} {
		r := ts.do(call{method: "GET", target: target})
		if r.StatusCode != http.StatusUpgradeRequired || r.Header.Get("Upgrade") != "websocket" {
			t.Errorf("GET %s: status %d", target, r.StatusCode)
		}
	}
}

func TestWebSocketOfNoDatabase(t *testing.T) {
	n := onSocket(t, Options{Namespaces: []string{"real"}, Deactivated: []string{"old"}})
	for ns, text := range map[string]string{
		"test": wire.TextNoInstance,
		"a!":   wire.TextNoInstance,
		"old":  "The database has been deactivated.",
	} {
		ws, _, err := (&websocket.Dialer{NetDialContext: n.dial}).Dial("ws://db.localhost/.ws?v=5&ns="+ns, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := &wsClient{t: t, ws: ws}
		c.want(fmt.Sprintf(`{"t":"c","d":{"t":"s","d":%q}}`, text))
		c.wantClose(websocket.CloseNormalClosure)
		ws.Close()
	}
}

func TestWebSocketFrames(t *testing.T) {
	n := onSocket(t, Options{Dev: true})
	c := n.connect("")
	for _, value := range []string{
		strings.Repeat("a", 3*wire.MaxUnit),
		strings.Repeat("😀", 2*wire.MaxUnit),
		"x" + strings.Repeat("😀", 2*wire.MaxUnit),
		strings.Repeat("\u20ac", 2*wire.MaxUnit),
		strings.Repeat("7", 100_000),
	} {
		msg := fmt.Sprintf(`{"t":"d","d":{"r":1,"a":"p","b":{"p":"/x","d":"%s"}}}`, value)
		frames, err := wire.AppendFrames(nil, []byte(msg))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range frames {
			c.send(string(f))
		}
		c.want(`{"t":"d","d":{"r":1,"b":{"s":"ok","d":""}}}`)
		c.send(`{"t":"d","d":{"r":2,"a":"g","b":{"p":"/x","q":{}}}}`)
		c.want(`{"t":"d","d":{"r":2,"b":{"s":"ok","d":"` + value + `"}}}`)
	}
}

func TestWebSocketKeepAlive(t *testing.T) {
	n := onSocket(t, Options{Dev: true})
	c := n.connect("")
	c.send("0", `{"t":"c","d":{"t":"p","d":{}}}`, "0", `{"t":"c","d":{"t":"x","d":1}}`, `{"t":"c","d":{"t":"p"}}`)
	c.want(pong)
	c.want(pong)
	c.do("s", `{"c":{"sdk.js.12-19-0":1}}`)

	got := make(chan string, 1)
	c.ws.SetPongHandler(func(payload string) error {
		got <- payload
		return nil
	})
	for _, payload := range []string{"", "hello", strings.Repeat("x", 125)} {
		if err := c.ws.WriteControl(websocket.PingMessage, []byte(payload), time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		c.do("s", `{"c":{}}`)
		c.do("s", `{"c":{}}`) // the pong may come after the first response
		if p := <-got; p != payload {
			t.Errorf("pong %q, want %q", p, payload)
		}
	}
}

func TestWebSocketGarbage(t *testing.T) {
	n := onSocket(t, Options{Dev: true, Limits: Limits{MaxMessageBytes: 100_000}})
	long := strings.Repeat("a", 1<<20)
	for _, test := range []struct {
		name   string
		frames []string
		code   int
	}{
		{"empty", []string{""}, websocket.CloseProtocolError},
		{"no JSON", []string{"hello"}, websocket.CloseProtocolError},
		{"half", []string{`{"t":"d","d":{"r":1,`}, websocket.CloseProtocolError},
		{"null", []string{"null"}, websocket.CloseProtocolError},
		{"array", []string{"[]"}, websocket.CloseProtocolError},
		{"no envelope", []string{`{"r":1,"a":"s","b":{}}`}, websocket.CloseProtocolError},
		{"no type", []string{`{"d":{"r":1,"a":"s","b":{}}}`}, websocket.CloseProtocolError},
		{"no id", []string{`{"t":"d","d":{"a":"s","b":{}}}`}, websocket.CloseProtocolError},
		{"negative id", []string{`{"t":"d","d":{"r":-1,"a":"s","b":{}}}`}, websocket.CloseProtocolError},
		{"control without type", []string{`{"t":"c","d":{}}`}, websocket.CloseProtocolError},
		{"nested", []string{strings.Repeat("[", 50_000)}, websocket.CloseProtocolError},
		{"count of none", []string{"000"}, websocket.CloseProtocolError},
		{"large count", []string{"999999"}, websocket.CloseMessageTooBig},
		{"piece of a message", []string{"2", "{", "}}"}, websocket.CloseProtocolError},
		{"long", []string{`{"t":"d","d":{"r":1,"a":"s","b":{"c":{"` + long + `":1}}}}`}, websocket.CloseMessageTooBig},
		{"long in pieces", []string{"100", long[:50_000], long[:50_000], long[:50_000], long[:50_000]}, websocket.CloseMessageTooBig},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := n.connect("")
			c.t = t
			c.do("s", `{"c":{}}`)
			for _, f := range test.frames {
				c.ws.WriteMessage(websocket.TextMessage, []byte(f)) // it may be closed already
			}
			c.wantClose(test.code)
		})
	}
}

// TestWebSocketBadRequest: a message whose id can be read is answered.
func TestWebSocketBadRequest(t *testing.T) {
	n := onSocket(t, Options{Dev: true})
	c := n.connect("")
	c.send(`{"t":"d","d":{"r":0,"a":"p","b":{"p":5}}}`)
	c.want(`{"t":"d","d":{"r":0,"b":{"s":"invalid_parameters","d":"b.p is 5, want a string"}}}`)
	c.do("s", `{"c":{}}`)
}

func TestWebSocketTextOnly(t *testing.T) {
	n := onSocket(t, Options{Dev: true})
	for _, test := range []struct {
		kind    int
		payload string
		code    int
	}{
		{websocket.BinaryMessage, `{"t":"c","d":{"t":"p","d":{}}}`, websocket.CloseUnsupportedData},
		{websocket.TextMessage, "{\"t\":\"c\",\"d\":{\"t\":\"\xff\"}}", websocket.CloseInvalidFramePayloadData},
		{websocket.TextMessage, "{\"t\":\"c\",\"d\":{\"t\":\"\xed\xa0\x80\"}}", websocket.CloseInvalidFramePayloadData},
	} {
		c := n.connect("")
		if err := c.ws.WriteMessage(test.kind, []byte(test.payload)); err != nil {
			t.Fatal(err)
		}
		c.wantClose(test.code)
	}
}

// TestWebSocketBadFrames sends what the library of a client would not. The
// answer is one close frame (RFC 6455 §5.5.1).
func TestWebSocketBadFrames(t *testing.T) {
	n := onSocket(t, Options{Dev: true})
	closed := func(code int, text string) string {
		payload := websocket.FormatCloseMessage(code, text)
		return "\x88" + string(rune(len(payload))) + string(payload)
	}
	tooBig := closed(websocket.CloseMessageTooBig, "a message is too large")
	protocol := func(reason string) string { return closed(websocket.CloseProtocolError, reason) }
	for _, test := range []struct {
		raw  string
		want string
	}{
		{"\x81\x01x", protocol("bad MASK")},
		{"\xc1\x81\x00\x00\x00\x00x", protocol("RSV1 set")},
		{"\x83\x81\x00\x00\x00\x00x", protocol("bad opcode 3")},
		{"\x80\x81\x00\x00\x00\x00x", protocol("continuation after FIN")},
		{"\x88\x81\x00\x00\x00\x00x", closed(websocket.CloseNormalClosure, "")}, // half a close code
		{"\x88\x82\x00\x00\x00\x00\x00\x01", protocol("bad close code 1")},
		{"\x88\x84\x00\x00\x00\x00\x03\xe8\xff\xff", protocol("invalid utf8 payload in close frame")},
		{"\x89\xfe\x00\x7e\x00\x00\x00\x00" + strings.Repeat("x", 126), protocol("len > 125 for control")},
		{"\x81\xff\x40\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", tooBig},
		{"\x81\xff\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", tooBig},
		{"\x82\x81\x00\x00\x00\x00x", closed(websocket.CloseUnsupportedData, "messages are text")},
		{"\x81\x81\x00\x00\x00\x00\xff", closed(websocket.CloseInvalidFramePayloadData, "a message is not UTF-8")},
	} {
		conn := n.connect("").ws.NetConn()
		if _, err := conn.Write([]byte(test.raw)); err != nil {
			t.Fatal(err)
		}
		conn.SetReadDeadline(time.Now().Add(patience))
		got, err := io.ReadAll(conn)
		if string(got) != test.want {
			t.Errorf("%.20q: got %q, %v, want %q", test.raw, got, err, test.want)
		}
		conn.Close()
	}
}

func TestWebSocketLeaving(t *testing.T) {
	n := onSocket(t, Options{Dev: true})
	for name, leave := range map[string]func(c *wsClient){
		"frame": func(c *wsClient) {
			msg := websocket.FormatCloseMessage(websocket.CloseGoingAway, "bye")
			c.ws.WriteControl(websocket.CloseMessage, msg, time.Now().Add(time.Second))
			c.wantClose(websocket.CloseNormalClosure)
		},
		"cut": func(c *wsClient) { c.ws.Close() },
		"half": func(c *wsClient) {
			c.ws.NetConn().Write([]byte("\x81\xfe"))
			c.ws.Close()
		},
	} {
		c := n.connect("")
		c.do("o", fmt.Sprintf(`{"p":"/gone/%s","d":true}`, name))
		leave(c)
		n.wantValue("/gone/"+name, "true")
	}
}

// TestRepliesComeBeforeGoodbye: requests that were under way when a connection
// had to end are answered.
func TestRepliesComeBeforeGoodbye(t *testing.T) {
	n := onSocket(t, Options{Dev: true})
	c := n.connect("")
	for r := range 20 {
		c.send(ask(r, "p", `{"p":"/x","d":1}`))
	}
	c.send(ask(20, "g", `{"p":"/x","q":{}}`), "nonsense")
	for r := range 20 {
		c.want(okReply(r, `""`))
	}
	c.want(okReply(20, "1"))
	c.wantClose(websocket.CloseProtocolError)
}

// TestUnfinishedMessages: those of all clients are bounded together, and what
// clients had begun is given back when they leave.
func TestUnfinishedMessages(t *testing.T) {
	const limit = 1 << 20
	n := onSocket(t, Options{Dev: true, Limits: Limits{MaxBodiesBytes: limit}})
	begin := binary.BigEndian.AppendUint64([]byte{0x81, 0xff}, 2<<20)
	begin = append(begin, make([]byte, 4+400_000)...)
	var clients []*wsClient
	for range 2 {
		c := n.connect("")
		if _, err := c.ws.NetConn().Write(begin); err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
	}
	waitFor(t, "the meter to be used", func() bool { return n.all.Bodies.Meter().Used() >= 800_000 })
	late := n.connect("")
	late.ws.NetConn().Write(begin)
	late.wantClose(websocket.CloseTryAgainLater)
	if used := n.all.Bodies.Meter().Used(); used > limit {
		t.Errorf("%d bytes are held, want at most %d", used, limit)
	}
	n.connect("").do("s", `{"c":{}}`) // small messages need no budget

	for _, c := range clients {
		c.ws.Close()
	}
	waitFor(t, "the meter to be given back", func() bool { return n.all.Bodies.Meter().Used() == 0 })
	c := n.connect("")
	c.do("p", `{"p":"/x","d":"`+strings.Repeat("x", 300_000)+`"}`)
	waitFor(t, "the meter to be given back", func() bool { return n.all.Bodies.Meter().Used() == 0 })
	c.ws.WriteControl(websocket.CloseMessage, nil, time.Now().Add(time.Second))
	c.wantClose(websocket.CloseNormalClosure)
}

// TestEarlyFrames: a client that sends more than its handshake is cut off, and net/http
// has nothing to complain about in the log.
func TestEarlyFrames(t *testing.T) {
	out := new(console)
	ts := serveTest(t, Options{Dev: true, Log: slog.New(slog.NewTextHandler(out, nil))})
	c, err := net.Dial("tcp", ts.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "GET /.ws?v=5&ns=test HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\nmore")
	c.SetReadDeadline(time.Now().Add(patience))
	if got, err := io.ReadAll(c); len(got) != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("answered with %q, %v", got, err)
	}
	waitFor(t, "the end of the connection", func() bool { return ts.underWay.Load() == 0 && ts.conns.Open() == 0 })
	if text := out.String(); strings.Contains(text, "http: ") {
		t.Errorf("the log has\n%s", text)
	}
}
