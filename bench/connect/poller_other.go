//go:build !linux

package connect

// A poller reads from many connections in one goroutine. There is none here.
type poller struct{}

func newPollers([]*Conn) ([]*poller, bool) { return nil, false }

func closePollers([]*poller) {}

func (*poller) run([]*Conn, func(int, []byte) error) error { return nil }
