package peer

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/server/metrics"
)

// One connection of a client at a time takes in a piece of a large head, until it reads on,
// writes, is refused, has its handler, or is closed.
func TestTurns(t *testing.T) {
	table := NewTable(Options{Limits: testLimits, All: NewResources(Totals{Bodies: 1 << 20, Work: 1 << 20, Answers: 1 << 20}),
		Refused: func(metrics.Reason, string) {}})
	conns := NewConns(table)
	open := func() (*conn, net.Conn) {
		near, far := net.Pipe()
		c := &conn{Conn: near, table: table, client: table.open(netip.MustParseAddr("192.0.2.1"))}
		c.beginHead()
		go io.Copy(io.Discard, far) // answers
		return c, far
	}
	large := "GET / HTTP/1.1\r\nA: " + strings.Repeat("x", FreeHead) + "\r\n\r\n"
	for name, end := range map[string]func(*conn){
		"read":    func(c *conn) { c.Conn.Close(); c.Read(make([]byte, 1)) },
		"write":   func(c *conn) { c.Write([]byte("x")) },
		"refuse":  func(c *conn) { c.Conn.Close(); c.refuse(http.StatusServiceUnavailable) },
		"handler": func(c *conn) { c.enter(httptest.NewRequest("GET", "/", nil)) },
		"close":   func(c *conn) { conns.Changed(c, http.StateClosed) },
	} {
		c, far := open()
		go io.WriteString(far, large)
		for taken := 0; taken < len(large); {
			n, err := c.Read(make([]byte, readAhead))
			if err != nil {
				t.Fatal(err)
			}
			taken += n
			free := c.client.intake.TryLock()
			if free {
				c.client.intake.Unlock()
			}
			if free == (taken > FreeHead) {
				t.Fatalf("%s: after %d bytes, another connection may go on: %v", name, taken, free)
			}
		}
		end(c)
		if !c.client.intake.TryLock() {
			t.Errorf("%s does not end the turn", name)
		}
		far.Close()
	}
}
