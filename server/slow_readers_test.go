package server

import (
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/peer"
)

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
					took, read := readFor(conn, c.size, time.Second, 10*time.Minute, size)
					switch {
					case c.stays && read < size:
						t.Errorf("cut off after %s with %d bytes of %d", took, read, size)
					case !c.stays && (took < peer.WriteTimeout-time.Second || took > 2*peer.WriteTimeout):
						t.Errorf("cut off after %s with %d bytes, want %s", took, read, peer.WriteTimeout)
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

// readFor reads size bytes every while, until it has enough, it fails, or the limit
// is over.
func readFor(conn net.Conn, size int, every, limit time.Duration, enough int64) (took time.Duration, read int64) {
	began := time.Now()
	conn.SetReadDeadline(began.Add(limit))
	for read < enough {
		time.Sleep(every)
		n, err := io.CopyN(io.Discard, conn, int64(size))
		read += n
		if err != nil {
			break
		}
	}
	return time.Since(began), read
}
