package peer

import (
	"net"
	"net/http"
	"net/netip"
	"testing"

	"github.com/dogwooddb/dogwood/server/metrics"
)

// addressed is a connection from an address.
type addressed struct {
	net.Conn
	from string
}

func (a addressed) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(a.from), 1))
}

// TestConnectionsAreShared: an address has as many HTTP connections as are left for all others, and what
// ends is given back, also by becoming a WebSocket.
func TestConnectionsAreShared(t *testing.T) {
	refused := make(map[metrics.Reason]int)
	o := Options{Limits: testLimits, All: NewResources(Totals{Bodies: 1 << 20, Work: 1 << 20, Answers: 1 << 20, HTTP: 7}),
		Refused: func(r metrics.Reason, _ string) { refused[r]++ }}
	o.Exempt = []netip.Prefix{}
	conns := NewConns(NewTable(o))
	var open []net.Conn
	connect := func(from string) bool {
		near, far := net.Pipe()
		t.Cleanup(func() { near.Close(); far.Close() })
		c := addressed{near, from}
		if conns.Begin(t.Context(), c).Value(connKey{}) == nil {
			return false
		}
		open = append(open, c)
		return true
	}
	const a, b, c = "192.0.2.1", "192.0.2.2", "192.0.2.3"
	for i, x := range []struct {
		from string
		ok   bool
	}{{a, true}, {a, true}, {a, true}, {a, true}, {a, false}, {b, true}, {b, true}, {b, false}, {c, true}, {c, false}} {
		if got := connect(x.from); got != x.ok {
			t.Errorf("connection %d, of %s, is taken: %v", i, x.from, got)
		}
	}
	if refused[metrics.AddressConnections] != 2 || refused[metrics.Connections] != 1 {
		t.Errorf("refused: %v", refused)
	}
	conns.Changed(open[0], http.StateHijacked)
	conns.End(open[1], true)
	conns.End(open[0], false)
	if !connect(c) {
		t.Error("what has ended is not given back")
	}
	for _, c := range open {
		conns.End(c, true)
	}
	if used := o.All.HTTP.Meter().Used(); used != 0 {
		t.Errorf("%d connections are counted in the end", used)
	}
}
