//go:build !linux

package bench

// A poller reads from many connections in one goroutine. There is none here.
type poller struct{}

func newPollers([]*conn) ([]*poller, bool) { return nil, false }

func closePollers([]*poller) {}

func (*poller) run([]*conn, func(int, []byte) error) error { return nil }
