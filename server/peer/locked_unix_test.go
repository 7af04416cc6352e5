//go:build unix

package peer

import (
	"bytes"
	"io"
	"net"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/server/metrics"
)

// One connection of a client at a time reads what has come of a large body. One that waits for more,
// and one whose body is small, does not count.
func TestBodiesInTurn(t *testing.T) {
	table := NewTable(Options{Limits: testLimits, All: NewResources(Totals{Bodies: 1 << 20, Work: 1 << 20, Answers: 1 << 20}),
		Refused: func(metrics.Reason, string) {}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	open := func(length int64) (*conn, net.Conn) {
		far, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		near, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { near.Close(); far.Close() })
		c := &conn{Conn: near, table: table, client: table.open(netip.MustParseAddr("192.0.2.1"))}
		r := httptest.NewRequest("PUT", "/", nil)
		r.ContentLength = length
		c.enter(r)
		return c, far
	}
	body := bytes.Repeat([]byte("x"), 2*largeBody)
	for _, length := range []int64{int64(len(body)), unknown} {
		c, far := open(length)
		intake := &c.client.intake
		got := make(chan error, 1)
		go func() {
			_, err := io.ReadFull(c, make([]byte, len(body)))
			got <- err
		}()
		for range 100 { // it waits, or is about to
			intake.Lock()
			intake.Unlock()
			runtime.Gosched()
		}
		intake.Lock()
		if _, err := far.Write(body); err != nil {
			t.Fatal(err)
		}
		small, away := open(10)
		if _, err := away.Write(body[:10]); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(small, make([]byte, 10)); err != nil {
			t.Errorf("a small body: %v", err)
		}
		for range 10_000 { // time enough for the other
			runtime.Gosched()
		}
		select {
		case err := <-got:
			t.Errorf("a large body of length %d is read while that of another connection is: %v", length, err)
		default:
		}
		intake.Unlock()
		if err := <-got; err != nil {
			t.Errorf("a body of length %d: %v", length, err)
		}
	}

	c, far := open(1 << 20)
	far.Close()
	if n, err := c.Read(make([]byte, largeBody)); n != 0 || err != io.EOF {
		t.Errorf("at the end: %d, %v", n, err)
	}
	c, _ = open(1 << 20)
	c.SetReadDeadline(time.Now().Add(-time.Second))
	n, err := c.Read(make([]byte, largeBody))
	if late, ok := err.(net.Error); n != 0 || !ok || !late.Timeout() {
		t.Errorf("after the deadline: %d, %v", n, err)
	}
}
