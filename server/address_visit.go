package server

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/server/metrics"
)

// A link is one connection of the server, with the account it counts for. It
// lasts until the connection is closed, be it one of a WebSocket.
type link struct {
	conn    net.Conn
	uptake  *uptake // of requests, one after the other: nil before the first
	peer    netip.Addr
	proxy   bool     // its requests come from addresses of their own
	account *account // nil: exempt, or a proxy
	surplus bool     // it is only there to be refused
	began   time.Time
	asked   atomic.Bool // a request has come
}

// links are the connections that are open.
type links struct {
	s        *Server
	accounts *accounts

	mu   sync.Mutex
	open map[net.Conn]*link
	http int // those that have not become WebSockets
}

func newLinks(s *Server, a *accounts) *links {
	return &links{s: s, accounts: a, open: make(map[net.Conn]*link)}
}

type linkKey struct{}

// begin is an http.Server's ConnContext: requests find the link of their
// connection in their context. A connection for which there is no room is closed;
// one too many of an address is there until its first request, which can be told
// so.
func (ls *links) begin(ctx context.Context, c net.Conn) context.Context {
	l := &link{conn: c, peer: peerOf(c.RemoteAddr().String()), began: time.Now()}
	if l.proxy = ls.accounts.proxies.trusts(l.peer); !l.proxy {
		l.account = ls.accounts.hold(l.peer)
	}
	ok := true
	if l.surplus, ok = ls.accounts.connect(l.account); ok && ls.add(c, l) {
		if tcp := tcpOf(c); tcp != nil {
			_ = boundUnsent(tcp) // it works without, and one that is closed tells the reader
		}
		return context.WithValue(ctx, linkKey{}, l)
	}
	if ok {
		ls.accounts.disconnect(l.account, l.surplus)
	}
	ls.accounts.letGo(l.account)
	c.Close()
	return ctx
}

func (ls *links) add(c net.Conn, l *link) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.http >= ls.s.opts.MaxConnections {
		ls.s.refusals.add(metrics.Connections, c.RemoteAddr().String())
		return false
	}
	ls.open[c] = l
	ls.http++
	return true
}

// changed is an http.Server's ConnState. Connections that became WebSockets no
// longer count for MaxConnections, since realtime has its own limit for them, but
// do for their address.
func (ls *links) changed(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateClosed:
		if l := ls.end(c, true); l != nil && !l.asked.Load() && time.Since(l.began) >= headerTimeout {
			ls.s.refusals.add(metrics.SlowHeaders, c.RemoteAddr().String())
		}
	case http.StateHijacked:
		ls.mu.Lock()
		defer ls.mu.Unlock()
		if ls.open[c] != nil {
			ls.http--
		}
	}
}

// end is called when a connection is closed, and returns its link. It does nothing
// the second time. http tells that it has not become a WebSocket.
func (ls *links) end(c net.Conn, http bool) *link {
	l := ls.remove(c, http)
	if l != nil {
		ls.accounts.disconnect(l.account, l.surplus)
		ls.accounts.letGo(l.account)
	}
	return l
}

func (ls *links) remove(c net.Conn, http bool) *link {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.open[c]
	delete(ls.open, c)
	if l != nil && http {
		ls.http--
	}
	return l
}

// A visit is one HTTP request in the eyes of its address.
type visit struct {
	accounts *accounts
	account  *account // nil: exempt
	surplus  bool     // its connection is only there to be refused
	own      bool     // it counts as a connection: it came through a proxy, which has others
	counted  bool     // and has been counted
}

// errTooMany is what an address is told that has or does too much.
var errTooMany = &statusError{http.StatusTooManyRequests, textTooMany}

// enter begins a visit, the zero one before. It must be left, whatever enter
// returns. A probe is not refused: who asks for the health of the server would take
// that for an answer.
func (t *accounts) enter(v *visit, r *http.Request, probe bool) error {
	v.accounts = t
	l, _ := r.Context().Value(linkKey{}).(*link)
	if l != nil && !l.asked.Load() {
		l.asked.Store(true)
	}
	switch {
	case l == nil: // it is not Serve that we run in
		v.own, v.account = true, t.hold(t.proxies.client(peerOf(r.RemoteAddr), r.Header))
	case l.proxy:
		v.own, v.account = true, t.hold(t.proxies.client(l.peer, r.Header))
	default:
		v.surplus, v.account = l.surplus, t.again(l.account)
	}
	if probe {
		return nil
	}
	return v.admit()
}

func (v *visit) admit() error {
	if v.account == nil {
		return nil
	}
	if v.surplus {
		return errTooMany // and it is counted already
	}
	if v.own {
		if !v.accounts.occupy(v.account) {
			return errTooMany
		}
		v.counted = true
	}
	if !v.account.requests.Allow() {
		v.accounts.refusals.add(metrics.AddressRequests, v.account.name)
		return errTooMany
	}
	return nil
}

// connects reports whether the address may open a connection of the realtime
// protocol. Where it has sockets of its own, that has been counted with those.
func (v *visit) connects() bool {
	if v.account == nil || !v.own || v.account.connects.Allow() {
		return true
	}
	v.accounts.refusals.add(metrics.AddressRate, v.account.name)
	return false
}

// keep makes what the visit counts as last until the returned function is
// called, which is when the WebSocket that it became has ended.
func (v *visit) keep(c net.Conn, ls *links) (end func()) {
	if !v.own {
		return func() { ls.end(c, false) }
	}
	t, a, counted := v.accounts, v.accounts.again(v.account), v.counted
	v.counted = false
	return func() {
		if counted {
			t.disconnect(a, false)
		}
		t.letGo(a)
		ls.end(c, false)
	}
}

// leave ends a visit.
func (v *visit) leave() {
	if v.counted {
		v.accounts.disconnect(v.account, false)
	}
	v.accounts.letGo(v.account)
}

type visitKey struct{}

// withVisit returns the request with v in its context, for handlers that take
// over the connection.
func withVisit(r *http.Request, v *visit) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), visitKey{}, v))
}

// visitOf returns the visit that withVisit has put there.
func visitOf(r *http.Request) *visit { return r.Context().Value(visitKey{}).(*visit) }

// countFor makes what the request holds count for an address.
func (q *request) countFor(a *account) {
	if q.account = a; a != nil {
		q.use(&a.resources)
	}
}

// tooMany answers a request that was not admitted, in the form of its route.
func (q *request) tooMany(rt *route) {
	if rt.raw == nil {
		setCommonHeaders(q.w.Header(), q.r)
		q.send(q.failure(errTooMany))
		return
	}
	refuseAddress(q.w)
}

// refuseAddress tells a client of the realtime protocol that its address has or
// does too much.
func refuseAddress(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, textTooMany, http.StatusTooManyRequests)
}
