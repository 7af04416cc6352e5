package dogwood_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

// A script is a transport whose server is the test.
type script struct {
	t     testing.TB
	conns chan *scriptConn
	mu    sync.Mutex
	hands []dogwood.Handshake
	slow  bool // nothing is taken from a client before it is heard
}

func newScript(t testing.TB) *script { return &script{t: t, conns: make(chan *scriptConn)} }

func (s *script) Connect(ctx context.Context, h dogwood.Handshake) (dogwood.Conn, error) {
	s.mu.Lock()
	s.hands = append(s.hands, h)
	s.mu.Unlock()
	room := 64
	if s.slow {
		room = 0
	}
	c := &scriptConn{t: s.t, down: make(chan string, 16), up: make(chan string, room), closed: make(chan struct{})}
	select {
	case s.conns <- c:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *script) Read(context.Context, dogwood.ReadRequest) (io.ReadCloser, error) {
	return nil, errors.New("nothing to read")
}

// handshakes returns what the client brought along, each time.
func (s *script) handshakes() []dogwood.Handshake {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hands
}

// accept takes the next connection and says hello.
func (s *script) accept(session string) *scriptConn { return s.acceptWith(session, `[]`) }

// acceptWith is accept for a server that has features.
func (s *script) acceptWith(session, features string) *scriptConn {
	c := <-s.conns
	c.say(`{"t":"c","d":{"t":"h","d":{"ts":1700000000000,"v":"5","h":"local","s":"` + session + `","f":` + features + `}}}`)
	return c
}

type scriptConn struct {
	t        testing.TB
	down, up chan string
	closing  sync.Once
	closed   chan struct{}
}

func (c *scriptConn) Send(msg []byte) error {
	select {
	case c.up <- string(bytes.Clone(msg)):
		return nil
	case <-c.closed:
		return io.ErrClosedPipe
	}
}

func (c *scriptConn) Receive() ([]byte, error) {
	select {
	case text := <-c.down:
		return []byte(text), nil
	case <-c.closed:
		return nil, io.EOF
	}
}

func (c *scriptConn) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return nil
}

func (c *scriptConn) say(text string) { c.down <- text }

// push sends a push: its action and its body.
func (c *scriptConn) push(action, body string) {
	c.say(`{"t":"d","d":{"a":"` + action + `","b":` + body + `}}`)
}

// hear takes the client's next request, which must be of an action and contain
// some text. It returns its id.
func (c *scriptConn) hear(action, part string) string {
	c.t.Helper()
	return c.request(action, part).Get("r").Raw
}

// request is hear for all of the request.
func (c *scriptConn) request(action, part string) gjson.Result {
	c.t.Helper()
	text := <-c.up
	r := gjson.Parse(text).Get("d")
	if r.Get("a").String() != action || !strings.Contains(r.Get("b").Raw, part) {
		c.t.Fatalf("heard %s, want %s with %s", text, action, part)
	}
	return r
}

// answer answers a request.
func (c *scriptConn) answer(id, status, data string) {
	c.say(`{"t":"d","d":{"r":` + id + `,"b":{"s":"` + status + `","d":` + data + `}}}`)
}

// client begins a client and takes its first connection.
func (s *script) client(o dogwood.Options) (*dogwood.Client, *scriptConn) {
	s.t.Helper()
	return s.begin(o), s.accept("one")
}

// begin begins a client.
func (s *script) begin(o dogwood.Options) *dogwood.Client {
	s.t.Helper()
	o.MinBackoff, o.MaxBackoff, o.Lazy = quick.MinBackoff, quick.MaxBackoff, true
	c, err := dogwood.New(s.t.Context(), s, o)
	want(s.t, err)
	s.t.Cleanup(func() {
		if err := c.Close(); err != nil {
			s.t.Errorf("Close() = %v", err)
		}
	})
	return c
}
