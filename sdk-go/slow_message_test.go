package dogwood_test

import (
	"context"
	"encoding/binary"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/tidwall/gjson"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// pipes is a listener without a network, for a fake clock.
type pipes struct {
	conns   chan net.Conn
	closing sync.Once
	closed  chan struct{}
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.closing.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// piped begins a client whose WebSockets have a fake clock. A pipe has no room: each byte is
// sent when the other end reads it.
func piped(t *testing.T) (*socketServer, *dogwood.Client) {
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	s := &socketServer{t: t, conns: make(chan *websocket.Conn)}
	s.start(&httptest.Server{Listener: p, Config: &http.Server{Handler: s}})
	o := quick
	o.Lazy = true
	c, err := dogwood.DialOver(t.Context(), s.url, p.dial, o)
	want(t, err)
	t.Cleanup(func() { want(t, c.Close()) })
	return s, c
}

// A message may take as long as it needs while parts of it arrive. When none do, the
// connection is left.
func TestSlowAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := piped(t)
		conn := s.accept()
		var text string
		get := result(func() error { return c.Ref("a").Get(t.Context(), &text) })
		msg := messageOf(conn.hear("g", "/a"), 60_000)
		go func() { // takes pings, and does not answer them
			for {
				if _, _, err := conn.ws.ReadMessage(); err != nil {
					return
				}
			}
		}()
		frame := binary.BigEndian.AppendUint16([]byte{0x81, 126}, uint16(len(msg))) // a text, and its length in 16 bits
		for part := range slices.Chunk(append(frame, msg...), 4000) {
			time.Sleep(50 * time.Second)
			_, err := conn.ws.NetConn().Write(part)
			want(t, err)
		}
		want(t, <-get)
		if len(text) < 50_000 {
			t.Errorf("the value has %d bytes", len(text))
		}
		began := time.Now()
		s.accept()
		if d := time.Since(began); d < dogwood.SilenceLimit || d > dogwood.SilenceLimit+2*dogwood.PingInterval {
			t.Errorf("it was left after %v", d)
		}
	})
}

// A message may take as long as it needs while parts of it are taken. No pings go out
// meanwhile, so the server has nothing to say.
func TestSlowRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := piped(t)
		conn := s.accept()
		set := result(func() error { return c.Ref("a").Set(t.Context(), strings.Repeat("x", 200_000)) })
		var pieces wire.Collector
		var msg string
		for done := false; !done; {
			time.Sleep(20 * time.Second)
			var err error
			msg, done, err = pieces.Add(string(conn.read()))
			want(t, err)
		}
		synctest.Wait() // by now the client has asked itself whether the server is there
		conn.answer(gjson.Get(msg, "d.r").Raw, `""`)
		want(t, <-set)
	})
}
