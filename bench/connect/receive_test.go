package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"github.com/dogwooddb/dogwood/bench/connect/connecttest"
	"github.com/dogwooddb/dogwood/internal/leaktest"
)

// dialScript connects n times to a scripted server.
func dialScript(t *testing.T, n int, f func(ws *websocket.Conn)) []*Conn {
	t.Helper()
	target := scripted(t, func(ws *websocket.Conn) {
		connecttest.Say(ws, connecttest.Hello)
		f(ws)
	})
	conns := make([]*Conn, n)
	for i := range conns {
		c, err := Dial(t.Context(), target, 512)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		conns[i] = c
	}
	return conns
}

// inTLS hides what is beneath a connection, as TLS does.
type inTLS struct{ net.Conn }

// Whatever the form of messages, all arrive in order at the connection they were
// sent to, with pollers and without.
func TestReceive(t *testing.T) {
	ignored := goleak.IgnoreCurrent()
	t.Cleanup(func() { leaktest.Verify(t, ignored) }) // runs after that of the servers
	large := strings.Repeat("x", 70_000)
	const rounds = 50
	for _, polled := range []bool{true, false} {
		conns := dialScript(t, 9, func(ws *websocket.Conn) {
			for i := range rounds {
				connecttest.Say(ws, fmt.Sprintf(`{"n":%d}`, i), "2", `{"piece`, `s":1}`, `{"l":"`+large+`"}`)
				_ = ws.WriteMessage(websocket.PingMessage, nil) // the reader will miss what follows
				_, _ = ws.NetConn().Write([]byte("\x01\x04{\"a\"\x00\x02:1\x80\x01}"))
			}
			_, _, _ = ws.ReadMessage() // until the client leaves
		})
		if !polled {
			for _, c := range conns {
				c.source.net = inTLS{c.source.net}
			}
		}
		done := errors.New("all is there")
		got := make([]int, len(conns))
		var missing atomic.Int64
		missing.Store(int64(len(conns) * rounds * 4))
		err := receive(t.Context(), conns, func(i int, msg []byte) error {
			n := got[i] / 4
			want := []string{fmt.Sprintf(`{"n":%d}`, n), `{"pieces":1}`, `{"l":"` + large + `"}`, `{"a":1}`}[got[i]%4]
			if string(msg) != want {
				return fmt.Errorf("connection %d, message %d: %.40s, want %.40s", i, got[i], msg, want)
			}
			got[i]++
			if missing.Add(-1) == 0 {
				return done
			}
			return nil
		})
		if err != done {
			t.Errorf("polled %v: %v, received %v", polled, err, got)
		}
	}
}

// A connection that ends, ends it all, also when its end comes with the last
// message.
func TestReceiveEnd(t *testing.T) {
	conns := dialScript(t, 3, func(ws *websocket.Conn) {
		_, _, _ = ws.ReadMessage()
		_, _ = ws.NetConn().Write([]byte("\x81\x07{\"n\":1}")) // and closes
	})
	messages := 0
	err := Receiving(t.Context(), conns[:1], func(int, []byte) error {
		messages++
		return nil
	}, func(ctx context.Context) error {
		if err := conns[0].Send([]byte("{}")); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	})
	if !errors.Is(err, io.EOF) || messages != 1 {
		t.Errorf("%v after %d messages, want %v after 1", err, messages, io.EOF)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := receive(ctx, conns[1:], nil); err != context.Canceled {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}

// An error of the load is the one that is told.
func TestReceivingFails(t *testing.T) {
	conns := dialScript(t, 2, func(ws *websocket.Conn) { _, _, _ = ws.ReadMessage() })
	bad := errors.New("bad")
	err := Receiving(t.Context(), conns, nil, func(context.Context) error { return bad })
	if err != bad {
		t.Errorf("%v, want %v", err, bad)
	}
}

// Messages that arrived before the receiving began are not lost.
func TestReceiveBuffered(t *testing.T) {
	conns := dialScript(t, 1, func(ws *websocket.Conn) {
		_, _ = ws.NetConn().Write([]byte("\x81\x07{\"n\":1}\x81\x07{\"n\":2}\x81\x07{\"n\":3}"))
		_, _, _ = ws.ReadMessage()
	})
	if msg, err := conns[0].Next(); err != nil || string(msg) != `{"n":1}` {
		t.Fatalf("next() = %s, %v", msg, err)
	}
	done := errors.New("all is there")
	var got []string
	err := receive(t.Context(), conns, func(_ int, msg []byte) error {
		if got = append(got, string(msg)); len(got) == 2 {
			return done
		}
		return nil
	})
	if err != done {
		t.Errorf("%v, received %v", err, got)
	}
}
