package server

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"github.com/dogwooddb/dogwood/server/metrics"
)

// socketPair returns the two ends of a connection over real sockets, the client's
// with a small buffer.
func socketPair(t *testing.T) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	if err := client.(*net.TCPConn).SetReadBuffer(16 << 10); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return client, server
}

// encrypted makes a pair of connections one with TLS between them.
func encrypted(t *testing.T, client, server net.Conn) (net.Conn, net.Conn) {
	t.Helper()
	c := tls.Client(client, &tls.Config{InsecureSkipVerify: true})
	s := tls.Server(server, &tls.Config{Certificates: []tls.Certificate{certificateTest(t)}})
	failed := make(chan error)
	go func() { failed <- c.Handshake() }()
	if err := s.Handshake(); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	return c, s
}

// impatient returns an uptake that gives up early.
func impatient(server net.Conn) *uptake {
	u := newUptake(server, server.SetWriteDeadline)
	u.timeout, u.every = 800*time.Millisecond, 50*time.Millisecond
	return u
}

// readSlowly reads size bytes every while until the other side closes or ctx ends,
// and tells how many it read in all.
func readSlowly(ctx context.Context, conn net.Conn, size int, every time.Duration) <-chan int64 {
	total := make(chan int64, 1)
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		var n, m int64
		for err := error(nil); err == nil && ctx.Err() == nil; n += m {
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
			m, err = io.CopyN(io.Discard, conn, int64(size))
		}
		total <- n
	}()
	return total
}

// TestUptake: on real sockets, one write may last many times as long as the time
// for a part of it.
func TestUptake(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, c := range []struct {
		name  string
		tls   bool
		size  int // that is read every 20 ms
		stays bool
	}{
		{"steady", false, 8 << 10, true},
		{"steady, through TLS", true, 8 << 10, true},
		{"trickling", false, 1, false},
		{"trickling, through TLS", true, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			outer, inner := socketPair(t)
			if err := boundUnsent(inner.(*net.TCPConn)); err != nil {
				t.Fatal(err)
			}
			client, server := outer, inner
			if c.tls {
				client, server = encrypted(t, client, server)
			}
			u := impatient(server)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			total := readSlowly(ctx, client, c.size, 20*time.Millisecond)
			began := time.Now()
			n, err := u.write(server, make([]byte, 1<<20))
			took := time.Since(began)
			switch {
			case c.stays && (n != 1<<20 || err != nil):
				t.Errorf("wrote %d bytes in %s, %v; want all", n, took, err)
			case c.stays && took < 2*u.timeout:
				t.Errorf("wrote all in %s, which proves nothing", took)
			case !c.stays && !errors.Is(err, os.ErrDeadlineExceeded):
				t.Errorf("wrote %d bytes in %s, %v; want it to be given up", n, took, err)
			}
			t.Logf("%d bytes in %s", n, took)
			inner.Close() // without a goodbye, for which TLS would wait
			if c.stays {
				if got := <-total; got != 1<<20 {
					t.Errorf("%d bytes arrived, want all", got)
				}
				return
			}
			stop()
			outer.Close()
			<-total
		})
	}
}

// A deadline that was set when a write ended remains for what follows, and no
// later look moves it.
func TestUptakeEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var until time.Time
		u := newUptake(nil, func(t time.Time) error { until = t; return nil })
		if _, err := u.write(io.Discard, make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
		want := time.Now().Add(writeTimeout)
		time.Sleep(time.Minute)
		if !until.Equal(want) {
			t.Errorf("the deadline is %s, want %s", until, want)
		}
	})
}

// What waits in the system for one that does not read is bounded, so a write to it
// has to wait early.
func TestUnsentIsBounded(t *testing.T) {
	t.Parallel()
	_, server := socketPair(t)
	if err := boundUnsent(server.(*net.TCPConn)); err != nil {
		t.Fatal(err)
	}
	n, err := impatient(server).write(server, make([]byte, 8<<20))
	if !errors.Is(err, os.ErrDeadlineExceeded) || n > 1<<20 {
		t.Errorf("%d bytes went to one that does not read, %v; want at most 1 MiB", n, err)
	}
}

// TestSlowReadersStay: with a clock of our own, a client that takes 1 KiB a second
// has all of a large answer in the end, whatever it came by, and its WebSocket
// lasts. One that takes a byte a second is cut off.
func TestSlowReadersStay(t *testing.T) {
	const size = 400 << 10
	long := `"` + strings.Repeat("x", size-2) + `"`
	doors := []struct {
		name string
		open func(t *testing.T, n *network, ts *testServer) net.Conn
	}{
		{"rest", func(t *testing.T, n *network, ts *testServer) net.Conn {
			conn, _ := ts.send(call{"GET", "/long.json", nil, noBody})
			return conn
		}},
		{"event stream", func(t *testing.T, n *network, ts *testServer) net.Conn {
			conn, _ := ts.send(call{"GET", "/long.json", map[string][]string{"Accept": {"text/event-stream"}}, noBody})
			return conn
		}},
		{"websocket", func(t *testing.T, n *network, ts *testServer) net.Conn {
			c := n.connect("")
			c.request("q", `{"p":"/long","h":""}`)
			keepAlivesOf(c)
			return c.ws.NetConn()
		}},
		{"long polling", func(t *testing.T, n *network, ts *testServer) net.Conn {
			b := n.browser()
			b.start("")
			conn, _ := ts.send(call{"GET", "/.lp?" + b.query(ask(1, "q", `{"p":"/long","h":""}`)), nil, noBody})
			return conn
		}},
	}
	for _, d := range doors {
		for _, c := range []struct {
			name  string
			size  int
			stays bool
		}{{"slow", 1 << 10, true}, {"trickling", 1, false}} {
			t.Run(d.name+"/"+c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					n := onPipe(t, Options{Dev: true, DefaultNamespace: "test"})
					ts := &testServer{Server: n.Server, t: t}
					ts.dial = func() (net.Conn, error) { return n.dial(t.Context(), "", "") }
					ts.want("PUT", "/long.json?print=silent", long, 204, "")
					conn := d.open(t, n, ts)
					defer conn.Close()
					took, read := readFor(conn, c.size, 10*time.Minute, size)
					switch {
					case c.stays && read < size:
						t.Errorf("cut off after %s with %d bytes of %d", took, read, size)
					case !c.stays && (took < writeTimeout-time.Second || took > 2*writeTimeout):
						t.Errorf("cut off after %s with %d bytes, want %s", took, read, writeTimeout)
					}
					conn.Close()
					synctest.Wait()
					if got := n.metrics.Refused.Of(metrics.SlowConsumer); c.stays && got != 0 {
						t.Errorf("%d slow consumers are counted, want none", got)
					}
				})
			})
		}
	}
}

// keepAlivesOf sends what clients send that have nothing to say.
func keepAlivesOf(c *wsClient) {
	var timer *time.Timer
	timer = time.AfterFunc(45*time.Second, func() {
		if c.ws.WriteMessage(websocket.TextMessage, []byte("0")) == nil {
			timer.Reset(45 * time.Second)
		}
	})
}

// readFor reads size bytes a second, until it has enough, it fails, or the limit
// is over.
func readFor(conn net.Conn, size int, limit time.Duration, enough int64) (took time.Duration, read int64) {
	began := time.Now()
	conn.SetReadDeadline(began.Add(limit))
	for read < enough {
		time.Sleep(time.Second)
		n, err := io.CopyN(io.Discard, conn, int64(size))
		read += n
		if err != nil {
			break
		}
	}
	return time.Since(began), read
}
