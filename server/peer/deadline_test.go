package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/internal/leaktest"
	"github.com/dogwooddb/dogwood/internal/tier"
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

// encrypted makes a pair of connections one with TLS between them, as Conns.Listen does.
func encrypted(t *testing.T, client, server net.Conn) (net.Conn, net.Conn) {
	t.Helper()
	of := new(conn)
	of.shaken.Store(true) // nothing counts the handshake
	c := tls.Client(client, &tls.Config{InsecureSkipVerify: true})
	s := tls.Server(&handshake{server, of}, &tls.Config{Certificates: []tls.Certificate{certificate(t)}})
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

// certificate returns one for tests.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	return s.TLS.Certificates[0]
}

// impatient returns a WriteDeadline that gives up early.
func impatient(server net.Conn) *WriteDeadline {
	t := NewTable(Options{WriteTimeout: 1500 * time.Millisecond})
	return t.WriteDeadline(server, server.SetWriteDeadline)
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

// TestWriteDeadline: on real sockets, one write may last many times as long as the time
// for a part of it.
func TestWriteDeadline(t *testing.T) {
	tier.Need(t, tier.Full)
	defer leaktest.Verify(t)
	const size = 1500 << 10
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
			n, err := u.Write(server, make([]byte, size))
			took := time.Since(began)
			switch {
			case c.stays && (n != size || err != nil):
				t.Errorf("wrote %d bytes in %s, %v; want all", n, took, err)
			case c.stays && took < 2*u.timeout:
				t.Errorf("wrote all in %s, which proves nothing", took)
			case !c.stays && !errors.Is(err, os.ErrDeadlineExceeded):
				t.Errorf("wrote %d bytes in %s, %v; want it to be given up", n, took, err)
			}
			t.Logf("%d bytes in %s", n, took)
			inner.Close() // without a goodbye, for which TLS would wait
			if c.stays {
				if got := <-total; got != size {
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
func TestWriteDeadlineEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var until time.Time
		u := NewTable(Options{}).WriteDeadline(nil, func(t time.Time) error { until = t; return nil })
		if _, err := u.Write(io.Discard, make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
		want := time.Now().Add(WriteTimeout)
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
	n, err := impatient(server).Write(server, make([]byte, 8<<20))
	if !errors.Is(err, os.ErrDeadlineExceeded) || n > 1<<20 {
		t.Errorf("%d bytes went to one that does not read, %v; want at most 1 MiB", n, err)
	}
}
