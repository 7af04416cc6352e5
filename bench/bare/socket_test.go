package bare

import (
	"net"
	"testing"
)

// writes counts the calls that a connection gets.
type writes struct {
	net.Conn
	sizes []int
}

func (w *writes) Write(p []byte) (int, error) {
	w.sizes = append(w.sizes, len(p))
	return len(p), nil
}

func (w *writes) Read(p []byte) (int, error) { return copy(p, "x"), nil }

// Written data go out in one call before the next read, or when there are many.
func TestSocketJoins(t *testing.T) {
	under := new(writes)
	s := &socket{Conn: under}
	s.beforeRead = func() { _ = s.flush() }
	if !s.add(make([]byte, 10)) || s.add(make([]byte, 20)) {
		t.Error("want the first of two frames to be the first that waits, and only that")
	}
	if len(under.sizes) > 0 {
		t.Errorf("writes of %v bytes before a read, want none", under.sizes)
	}
	if _, err := s.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	s.add(make([]byte, 5))
	s.add(make([]byte, maxWaiting))
	if len(under.sizes) != 2 || under.sizes[0] != 30 || under.sizes[1] != 5+maxWaiting {
		t.Errorf("writes of %v bytes, want [30 %d]", under.sizes, 5+maxWaiting)
	}
	if !s.add([]byte("x")) {
		t.Error("after a write a frame is not the first that waits")
	}
}
