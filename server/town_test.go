package server

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/peer"
)

// A town is a server on pipes whose other ends have addresses. It is for tests
// that pretend time goes by.
type town struct {
	*testServer
	l *pipeListener
}

func townTest(t *testing.T, l AddressLimits) *town {
	t.Helper()
	return townOf(t, Options{Dev: true, Limits: Limits{PerAddress: l}})
}

func townOf(t *testing.T, o Options) *town {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	tn := &town{&testServer{Server: s, t: t}, &pipeListener{make(chan net.Conn), make(chan struct{})}}
	tn.serve(tn.l)
	return tn
}

// at returns the server as it is seen from an address.
func (tn *town) at(addr string) *testServer {
	ts := *tn.testServer
	ts.dial = func() (net.Conn, error) { return tn.dialFrom(context.Background(), addr) }
	return &ts
}

// network is at for clients of the realtime protocol.
func (tn *town) network(t *testing.T, addr string) *network {
	return &network{tn.Server, t, func(ctx context.Context, _, _ string) (net.Conn, error) {
		return tn.dialFrom(ctx, addr)
	}}
}

func (tn *town) dialFrom(ctx context.Context, addr string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case tn.l.conns <- &addressed{server, net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(addr), 4711))}:
		return client, nil
	case <-tn.l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// An addressed is a pipe that comes from an address.
type addressed struct {
	net.Conn
	remote net.Addr
}

func (a *addressed) RemoteAddr() net.Addr { return a.remote }

// wantRefused checks how often a bound was counted.
func (s *Server) wantRefused(t *testing.T, reason metrics.Reason, want uint64) {
	t.Helper()
	if got := s.metrics.Refused.Of(reason); got != want {
		t.Errorf("%s was counted %d times, want %d", reason, got, want)
	}
}

// wantTooMany checks how an address is told that it is too much.
func wantTooMany(t *testing.T, doing string, r result) {
	t.Helper()
	if r.StatusCode != 429 || r.Header.Get("Retry-After") == "" || r.body != errorBody(textTooMany) {
		t.Errorf("%s: %d %v %.200s, want 429 with Retry-After", doing, r.StatusCode, r.Header, r.body)
	}
}

// handshake tries to open a WebSocket and returns the status of the answer.
func (n *network) handshake(header http.Header) (*websocket.Conn, int) {
	n.t.Helper()
	ws, resp, err := (&websocket.Dialer{NetDialContext: n.dial}).Dial("ws://db.localhost/.ws?v=5&ns=test", header)
	if resp == nil {
		n.t.Fatalf("handshake: %v", err)
	}
	return ws, resp.StatusCode
}

// wantIdle checks that no client holds anything.
func (tn *town) wantIdle(t *testing.T) {
	t.Helper()
	if used := tn.peers.Usage(); used != (peer.Usage{}) {
		t.Errorf("addresses are left with %+v", used)
	}
	if open := tn.conns.Open(); open != 0 {
		t.Errorf("%d connections are left", open)
	}
	if bodies, answers := tn.all.Bodies.Meter().Used(), tn.all.Answers.Meter().Used(); bodies != 0 || answers != 0 {
		t.Errorf("%d bytes of bodies and %d of answers are left", bodies, answers)
	}
}
