package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/server/metrics"
)

// A conn is one connection of the server, with the client it counts for. It
// lasts until the connection is closed, be it one of a WebSocket. net/http reads through it.
type conn struct {
	net.Conn
	table    *Table
	deadline *WriteDeadline // of requests, one after the other: nil before the first
	peer     netip.Addr
	proxy    bool    // its requests come from addresses of their own
	client   *Client // nil: exempt, or a proxy
	excess   bool    // it is only there to be refused
	began    time.Time
	asked    atomic.Bool // a request has come

	left    atomic.Int64     // of the body that is read, or inHead or unknown
	head    head             // of the goroutine that reads
	ahead   []byte           // what was read too far, in buffer
	buffer  *[readAhead]byte // nil: nothing was
	turn    atomic.Bool      // it has client.intake
	held    limit.Hold       // what the head takes; of the goroutine of the request
	request *http.Request    // that has the head; nil: none

	shaken     atomic.Bool // the TLS handshake is over
	handshakes int64       // bytes of it
}

// Conns are the connections that are open.
type Conns struct {
	table *Table

	mu   sync.Mutex
	open map[net.Conn]*conn
}

// NewConns returns the connections of a server that has none yet. They count for the
// clients of t.
func NewConns(t *Table) *Conns {
	return &Conns{table: t, open: make(map[net.Conn]*conn)}
}

// Open returns how many connections are open.
func (cs *Conns) Open() int {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return len(cs.open)
}

type connKey struct{}

// Listen returns a listener whose connections count what comes before a request has its
// handler. They speak TLS if secure is not nil.
func (cs *Conns) Listen(l net.Listener, secure *tls.Config) net.Listener {
	return &listener{l, cs.table, secure}
}

type listener struct {
	net.Listener
	table  *Table
	secure *tls.Config // nil: plain HTTP
}

// Accept implements net.Listener. A connection on which there is TLS already is returned as
// it is: net/http has to do the handshake of those that may become HTTP/2.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if _, is := c.(*tls.Conn); is {
		return c, nil
	}
	counted := &conn{Conn: c, table: l.table}
	counted.left.Store(inHead)
	if l.secure == nil {
		return counted, nil
	}
	shaking := tls.Server(&handshake{c, counted}, l.secure)
	counted.Conn = shaking
	return &secureConn{conn: counted, tls: shaking}, nil
}

// Begin is an http.Server's ConnContext: requests find the conn of their
// connection in their context. A connection for which there is no room is closed;
// one too many of an address is there until its first request, which can be told
// so. Over TLS it is closed, too: a handshake costs more than a request.
func (cs *Conns) Begin(ctx context.Context, c net.Conn) context.Context {
	l := connOf(c)
	if l == nil { // of another listener than Listen returns
		l = &conn{Conn: c, table: cs.table}
	}
	l.peer, l.began = peerOf(c.RemoteAddr().String()), time.Now()
	if l.proxy = cs.table.proxies.trusts(l.peer); !l.proxy {
		l.client = cs.table.Acquire(l.peer)
	}
	l.held.Of = cs.table.Resources(l.client).Bodies
	ok := true
	if l.excess, ok = cs.table.connect(l.client); ok && !(l.excess && speaksTLS(c)) && cs.add(c, l) {
		if tcp := tcpOf(c); tcp != nil {
			_ = boundUnsent(tcp) // it works without, and one that is closed tells the reader
		}
		return context.WithValue(ctx, connKey{}, l)
	}
	if ok {
		cs.table.disconnect(l.client, l.excess)
	}
	cs.table.Release(l.client)
	c.Close()
	return ctx
}

func (cs *Conns) add(c net.Conn, l *conn) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	switch err := cs.table.Resources(l.client).HTTP.Try(1); {
	case errors.Is(err, limit.ErrShare):
		cs.table.options.Refused(metrics.AddressConnections, l.client.Name)
		return false
	case err != nil:
		cs.table.options.Refused(metrics.Connections, c.RemoteAddr().String())
		return false
	}
	cs.open[c] = l
	return true
}

// Changed is an http.Server's ConnState. Connections that became WebSockets no
// longer count as HTTP connections, since realtime has its own limit for them, but
// do for their address.
func (cs *Conns) Changed(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateIdle:
		if l := connOf(c); l != nil {
			l.beginHead()
		}
	case http.StateClosed:
		if l := connOf(c); l != nil {
			l.endTurn()
			l.release() // not what was read ahead: net/http may still be reading
		}
		if l := cs.End(c, true); l != nil && !l.asked.Load() && time.Since(l.began) >= cs.table.options.HeaderTimeout {
			cs.table.options.Refused(metrics.SlowHeaders, c.RemoteAddr().String())
		}
	case http.StateHijacked:
		if l := connOf(c); l != nil {
			l.release()
		}
		cs.mu.Lock()
		defer cs.mu.Unlock()
		if l := cs.open[c]; l != nil {
			cs.table.Resources(l.client).HTTP.Release(1)
		}
	}
}

// End is called when a connection is closed, and returns its conn. It does nothing
// the second time. http tells that it has not become a WebSocket.
func (cs *Conns) End(c net.Conn, http bool) *conn {
	l := cs.remove(c, http)
	if l != nil {
		cs.table.disconnect(l.client, l.excess)
		cs.table.Release(l.client)
	}
	return l
}

func (cs *Conns) remove(c net.Conn, http bool) *conn {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	l := cs.open[c]
	delete(cs.open, c)
	if l != nil && http {
		cs.table.Resources(l.client).HTTP.Release(1)
	}
	return l
}

// A Request is one HTTP request as its address counts it.
type Request struct {
	table   *Table
	client  *Client // nil: exempt
	excess  bool    // its connection is only there to be refused
	conn    *conn   // nil: it did not come through Conns
	own     bool    // it counts as a connection: it came through a proxy, which has others
	counted bool    // and has been counted
}

// ErrTooMany is what an address is told that has or does too much.
var ErrTooMany = errors.New("peer: too many requests from this address")

// RefusalPause is how long a request waits for its refusal, and a probe for its turn at most. An
// address has so many connections, so what it asks for beyond its rate is bounded by these.
// To close the connection instead would make clients connect again, which costs more.
const RefusalPause = 500 * time.Millisecond

// Enter begins a request, which is zero before. It must be left, whatever Enter
// returns. A probe is not refused: a health check would take the refusal for the
// health of the server. It counts as a request, for which it waits a little.
func (t *Table) Enter(v *Request, r *http.Request, probe bool) error {
	v.table = t
	l, _ := r.Context().Value(connKey{}).(*conn)
	if l != nil && !l.asked.Load() {
		l.asked.Store(true)
	}
	switch {
	case l == nil: // it is not Serve that we run in
		v.own, v.client = true, t.Acquire(t.proxies.client(peerOf(r.RemoteAddr), r.Header))
	case l.proxy:
		v.own, v.client = true, t.Acquire(t.proxies.client(l.peer, r.Header))
	default:
		v.excess, v.client = l.excess, t.Retain(l.client)
	}
	if v.conn = l; l != nil {
		l.enter(r)
	}
	if probe {
		v.waitTurn(r.Context())
		return nil
	}
	if l != nil && l.proxy && !l.chargeTo(v.client) {
		return ErrTooMany
	}
	err := v.admit()
	if err != nil && (v.counted || !v.own) { // others are not bounded in number
		pause(r.Context(), RefusalPause)
	}
	return err
}

// waitTurn counts a request, and waits until the address may make it.
func (v *Request) waitTurn(ctx context.Context) {
	if v.client == nil {
		return
	}
	turn := v.client.Requests.Reserve()
	d := turn.Delay()
	if d > RefusalPause {
		turn.Cancel()
		d = RefusalPause
	}
	pause(ctx, d)
}

// pause waits, but not for a client that has left.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	over := time.NewTimer(d)
	defer over.Stop()
	select {
	case <-over.C:
	case <-ctx.Done():
	}
}

func (v *Request) admit() error {
	if v.client == nil {
		return nil
	}
	if v.excess {
		return ErrTooMany // and it is counted already
	}
	if v.own {
		if !v.table.occupy(v.client) {
			return ErrTooMany
		}
		v.counted = true
	}
	if !v.client.Requests.Allow() {
		v.table.options.Refused(metrics.AddressRequests, v.client.Name)
		return ErrTooMany
	}
	return nil
}

// Connects reports whether the address may open a connection of the realtime
// protocol. Where it has sockets of its own, that has been counted with those.
func (v *Request) Connects() bool {
	if v.client == nil || !v.own || v.client.connects.Allow() {
		return true
	}
	v.table.options.Refused(metrics.AddressRate, v.client.Name)
	return false
}

// Keep makes what the request counts as last until the returned function is
// called, which is when the WebSocket that it became has ended.
func (v *Request) Keep(c net.Conn, cs *Conns) (end func()) {
	if !v.own {
		return func() { cs.End(c, false) }
	}
	t, a, counted := v.table, v.table.Retain(v.client), v.counted
	v.counted = false
	return func() {
		if counted {
			t.disconnect(a, false)
		}
		t.Release(a)
		cs.End(c, false)
	}
}

// Leave ends a request.
func (v *Request) Leave() {
	if v.counted {
		v.table.disconnect(v.client, false)
	}
	v.table.Release(v.client)
}

// Excess reports whether the connection of the request is only there to be refused.
func (v *Request) Excess() bool { return v.excess }

// Shed forgets the headers of the request, which is about to wait for long and does not need
// them any more.
func (v *Request) Shed() {
	if v.conn != nil {
		v.conn.shed()
	}
}

// Client returns whose request it is, nil if the address is exempt.
func (v *Request) Client() *Client { return v.client }

type requestKey struct{}

// WithRequest returns the request with v in its context, for handlers that take
// over the connection.
func WithRequest(r *http.Request, v *Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), requestKey{}, v))
}

// RequestOf returns the Request that WithRequest has put there.
func RequestOf(r *http.Request) *Request { return r.Context().Value(requestKey{}).(*Request) }
