package dogwood_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/tidwall/gjson"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// A socketServer is a server of WebSockets that the test plays.
type socketServer struct {
	t     testing.TB
	url   string
	conns chan *websocket.Conn
}

func newSocketServer(t testing.TB) *socketServer {
	s := &socketServer{t: t, conns: make(chan *websocket.Conn)}
	s.start(httptest.NewUnstartedServer(s))
	return s
}

func (s *socketServer) start(h *httptest.Server) {
	h.Start()
	s.t.Cleanup(h.Close)
	s.url = h.URL
}

func (s *socketServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ws, err := new(websocket.Upgrader).Upgrade(w, r, nil)
	if err != nil {
		s.t.Errorf("upgrade: %v", err)
		return
	}
	select {
	case s.conns <- ws:
	case <-s.t.Context().Done():
		_ = ws.Close()
	}
}

// dial begins a client.
func (s *socketServer) dial(maxMessage int) *dogwood.Client {
	o := quick
	o.Lazy, o.MaxMessage = true, maxMessage
	return dial(s.t, s.url, o)
}

// accept takes the next connection and says hello.
func (s *socketServer) accept() *serverSocket {
	c := &serverSocket{s.t, <-s.conns}
	s.t.Cleanup(func() { _ = c.ws.Close() })
	c.say(`{"t":"c","d":{"t":"h","d":{"ts":1700000000000,"v":"5","h":"local","s":"one"}}}`)
	return c
}

// acceptAfter is accept for a client whose read has failed: it does not ask again.
func (s *socketServer) acceptAfter(c *dogwood.Client) *serverSocket {
	s.t.Helper()
	conn := s.accept()
	other := result(func() error { return c.Ref("other").Get(s.t.Context(), new(int)) })
	conn.answer(conn.hear("g", "/other"), "1")
	want(s.t, <-other)
	return conn
}

type serverSocket struct {
	t  testing.TB
	ws *websocket.Conn
}

func (c *serverSocket) say(frame string) {
	c.t.Helper()
	want(c.t, c.ws.WriteMessage(websocket.TextMessage, []byte(frame)))
}

// read takes the next message that is no keep-alive, which comes when the machine is slow.
func (c *serverSocket) read() (text []byte) {
	c.t.Helper()
	for {
		_, text, err := c.ws.ReadMessage()
		want(c.t, err)
		if m := gjson.ParseBytes(text); m.Get("t").String() != "c" || m.Get("d.t").String() != "p" {
			return text
		}
	}
}

// hear takes the next request, which must be of an action at a path, and returns
// its id.
func (c *serverSocket) hear(action, path string) (id string) {
	c.t.Helper()
	text := c.read()
	r := gjson.ParseBytes(text).Get("d")
	if r.Get("a").String() != action || r.Get("b.p").String() != path {
		c.t.Fatalf("heard %s, want %s at %s", text, action, path)
	}
	return r.Get("r").Raw
}

// answer answers a request with data.
func (c *serverSocket) answer(id, data string) { c.say(answerTo(id, data)) }

func answerTo(id, data string) string {
	return `{"t":"d","d":{"r":` + id + `,"b":{"s":"ok","d":` + data + `}}}`
}

// announce begins a frame of a size and sends some of it.
func (c *serverSocket) announce(size uint64, sent int) {
	c.t.Helper()
	frame := binary.BigEndian.AppendUint64([]byte{0x81, 127}, size) // a text, and its length in 64 bits
	_, err := c.ws.NetConn().Write(append(frame, bytes.Repeat([]byte{' '}, sent)...))
	want(c.t, err)
}

// messageOf returns an answer of just so many bytes.
func messageOf(id string, size int) string {
	return answerTo(id, `"`+strings.Repeat("x", size-len(answerTo(id, `""`)))+`"`)
}

func whole(msg string) []string { return []string{msg} }

func pieces(msg string) (frames []string) {
	cut, err := wire.AppendFrames(nil, []byte(msg))
	if err != nil {
		panic(err)
	}
	for _, frame := range cut {
		frames = append(frames, string(frame))
	}
	return frames
}

// The bound is one of whole messages, however they are cut.
func TestMaxMessage(t *testing.T) {
	const bound = 100_000
	s := newSocketServer(t)
	c := s.dial(bound)
	conn := s.accept()
	for name, cut := range map[string]func(string) []string{"one frame": whole, "pieces": pieces} {
		for size, want := range map[int]string{
			bound:     "<nil>",
			bound + 1: "get /a: too big: a message of the server has more than 100000 bytes",
		} {
			var text string
			get := result(func() error { return c.Ref("a").Get(t.Context(), &text) })
			id := conn.hear("g", "/a")
			for _, frame := range cut(messageOf(id, size)) {
				conn.say(frame)
			}
			if size > bound {
				conn = s.acceptAfter(c)
			}
			if err := <-get; fmt.Sprint(err) != want {
				t.Errorf("%s of %d bytes: err = %v, want %s", name, size, err, want)
			}
			if size <= bound && len(answerTo(id, `""`))+len(text) != size {
				t.Errorf("%s: the value has %d bytes", name, len(text))
			}
		}
	}
}

// The read that a message was for fails, and all else goes on.
func TestTooBigFailsOneRead(t *testing.T) {
	ctx := t.Context()
	s := newSocketServer(t)
	c := s.dial(1000)
	one := s.accept()
	set := result(func() error { return c.Ref("w").Set(ctx, 1) })
	one.hear("p", "/w")
	small := pull(t, c.Ref("small").Values(ctx))
	answered := result(func() error {
		id := one.hear("q", "/small")
		one.say(`{"t":"d","d":{"a":"d","b":{"p":"small","d":1}}}`)
		one.answer(id, "{}")
		return nil
	})
	small.get()
	want(t, <-answered)
	large := result(func() error {
		for _, err := range c.Ref("large").Values(ctx) {
			return err
		}
		return nil
	})
	one.hear("q", "/large")
	get := result(func() error { return c.Ref("a").Get(ctx, new(int)) })
	one.hear("g", "/a")
	push := fmt.Sprintf(`{"t":"d","d":{"a":"d","b":{"p":"small","d":%q}}}`, strings.Repeat("x", 1000))
	one.say(strings.Replace(push, "small", "large", 1))

	two := s.accept()
	two.answer(two.hear("q", "/small"), "{}")
	two.answer(two.hear("p", "/w"), `""`)
	two.answer(two.hear("g", "/a"), "2")
	want(t, <-set)
	want(t, <-get)
	if err := <-large; !errors.Is(err, dogwood.ErrTooBig) {
		t.Errorf("err = %v, want ErrTooBig", err)
	}
	two.say(push) // a view that has grown: nothing is asked that it could be for
	three := s.accept()
	three.hear("q", "/small")
	three.say(push)
	s.acceptAfter(c)
	if err := small.fails(); !errors.Is(err, dogwood.ErrTooBig) {
		t.Errorf("err = %v, want ErrTooBig", err)
	}
}

// An announced size costs no memory, and the client does not wait for a message that is
// larger than servers send by default.
func TestAnnouncedMessage(t *testing.T) {
	s := newSocketServer(t)
	c := s.dial(0)
	get := result(func() error { return c.Ref("a").Get(t.Context(), new(int)) })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, announce := range []func(*serverSocket){
		func(c *serverSocket) { c.say("9999"); c.say("{") },
		func(c *serverSocket) { c.announce(250<<20, 1000) },
		func(c *serverSocket) { c.announce(400<<20, 0) },
	} {
		conn := s.accept()
		conn.hear("g", "/a")
		announce(conn)
		want(t, conn.ws.Close())
	}
	s.acceptAfter(c)
	if err := <-get; !errors.Is(err, dogwood.ErrTooBig) {
		t.Errorf("err = %v, want ErrTooBig", err)
	}
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 32<<20 {
		t.Errorf("the client took %d bytes", taken)
	}
}
