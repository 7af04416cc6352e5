package realtime

import (
	"testing"

	"github.com/dogwooddb/dogwood/sync/wire"
)

// TestRefusedSocket: a second socket for a connection changes nothing when it ends, neither before
// the first one has taken over nor after.
func TestRefusedSocket(t *testing.T) {
	s := serveTest(t, Limits{})
	c := newConn(s.Server, "test", s.opts.Host.(testHost).db, nil)
	c.leave = func() {}
	p := newPoll(c, wire.CallbackID{})
	defer p.retire()
	first, second := new(socket), new(socket)
	defer func() {
		c.sock.Store(nil)
		c.close(dropped)
	}()
	if !c.carry(first) || c.carry(second) {
		t.Fatal("the first socket is refused, or the second one is not")
	}
	check := func(when string) {
		t.Helper()
		c.lost(second, false, left)
		if c.sock.Load() != first || isClosed(c.ended) {
			t.Errorf("%s, the end of the refused socket is that of the other", when)
		}
	}
	check("before the move")
	if !c.move() {
		t.Fatal("there is no socket to move to")
	}
	check("after the move")

	// One that is lost before the client relies on it leaves room for another.
	c.moved = make(chan struct{})
	c.lost(first, false, dropped)
	if !c.carry(second) {
		t.Error("a new socket is refused")
	}
}
