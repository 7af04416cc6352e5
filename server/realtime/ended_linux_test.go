package realtime

import (
	"net"
	"testing"
	"time"
)

// tcpSocket returns a socket of a connection, which nothing reads or writes.
func tcpSocket(t *testing.T, n *testServer) *socket {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	far, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	near, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close(); near.Close() })
	return newSocket(n.Server, near, nil)
}

// TestEndedIsNotParked: a reader that finds its socket ended goes on to the end of it. Nothing
// would wake a socket that was parked then.
func TestEndedIsNotParked(t *testing.T) {
	n := serveParking(t, time.Hour)
	s := tcpSocket(t, n)
	s.until = time.Now().Add(time.Hour)
	s.dueAt = s.until
	s.ended = true
	if s.rest.park(s, time.Now()) || s.parked {
		t.Error("a socket was parked that had ended")
	}
}

// TestOwnBeforeLive: what a socket says itself comes without the outbox until it takes from
// it, and with it afterwards.
func TestOwnBeforeLive(t *testing.T) {
	n := serveParking(t, time.Hour)
	s := tcpSocket(t, n)
	for _, want := range []bool{false, true} {
		if want {
			s.writing.state.Or(live)
		}
		s.queue = [][]byte{[]byte("own")}
		var b writeBuffer
		if got, err := s.takeOwn(&b); got != want || err != nil || len(b.msgs) != 1 || s.queue != nil {
			t.Errorf("takeOwn = %v, %v with %d messages, want %v", got, err, len(b.msgs), want)
		}
	}
}

// TestSentBytes: the bytes of all frames that a client gets are counted, once.
func TestSentBytes(t *testing.T) {
	n := serveParking(t, time.Hour)
	c := n.connect()
	var before uint64
	until(t, "the hello is counted", func() bool { _, before = n.opts.Metrics.Sockets.Bytes(); return before > 0 })
	const frames, size = 50, 100
	text := make([]byte, size)
	for i := range text {
		text[i] = 'x'
	}
	for range frames {
		c.c.out.PushFrame(text)
	}
	for range frames {
		c.want(string(text))
	}
	const want = frames * (2 + size) // with the heads of frames
	sent := func() uint64 { _, now := n.opts.Metrics.Sockets.Bytes(); return now - before }
	until(t, "all bytes are counted", func() bool { return sent() >= want })
	if got := sent(); got != want {
		t.Errorf("%d bytes were counted, want %d", got, want)
	}
}
