package realtime

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/internal/processors"
	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/observe"
	"github.com/dogwooddb/dogwood/server/peer"
	"github.com/dogwooddb/dogwood/server/realtime/parking"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// Reasons not to open a connection. They become status 503, after which
// clients try again.
var (
	errStopping = errors.New("the server is shutting down")
	errCrowded  = errors.New("too many connections")
	errTooFast  = errors.New("too many connections of one address") // status 429
)

// A Server holds the connections of the realtime protocol.
//
// Lock order: poll.up, then conn.in or poll.mu, then one of conn.mu, socket.mu
// and Server.mu, then one of writerPool.mu and those of the wheel and the watcher. An outbox calls
// conn.wake, which takes writerPool.mu: it is not called under conn.mu and what comes after that.
//
// A connection is in conns from the moment that it may be found (by ls, by a poll, by a
// shutdown) until its session has ended. A socket is in sockets for as long as its descriptor
// is open, since a shutdown has to close those that no connection has, too.
type Server struct {
	opts    Options
	pool    writerPool
	wheel   parking.Wheel[socket, *socket]
	watcher parking.Watcher
	began   time.Time
	lines   struct{ refused, panics observe.LineLimiter } // of the log

	mu       sync.Mutex
	conns    map[string]*conn     // by session id
	polls    map[string]*poll     // by poll id; some outlive their conn
	sockets  map[*socket]struct{} // all of them, also those without a conn
	stopping bool                 // nothing is added any more

	wg sync.WaitGroup // one for each of conns and sockets

	named atomic.Uint64 // conns
}

// New returns a server without connections.
func New(o Options) *Server {
	o.Limits.Stalled = cmp.Or(o.Limits.Stalled, Stalled)
	o.Limits.Quiet = cmp.Or(o.Limits.Quiet, Quiet)
	return &Server{
		opts:    o,
		began:   time.Now(),
		pool:    writerPool{max: max(processors.Count()/2, 1), sent: o.Metrics.Sockets.Sent},
		conns:   make(map[string]*conn),
		polls:   make(map[string]*poll),
		sockets: make(map[*socket]struct{}),
	}
}

// open makes a connection without a transport for a request to connect. If the
// client names its last session (ls), that one ends first, its onDisconnect
// operations included, so that they cannot undo what the client does next
// (protocol §10).
func (rt *Server) open(r *http.Request) (*conn, error) {
	ns, err := rt.opts.Host.Namespace(r)
	if err != nil {
		return nil, err
	}
	db, leave, err := rt.opts.Host.Database(ns)
	if err != nil {
		return nil, err
	}
	c, err := rt.openIn(db, leave, ns, r)
	if c == nil {
		leave()
	}
	return c, err
}

// openIn is open in a database. The connection calls leave when it has ended.
func (rt *Server) openIn(db *dsync.Database, leave func(), ns string, r *http.Request) (*conn, error) {
	if err := db.Usable(); err != nil {
		return nil, err
	}
	if last := rt.lookup(ns, r.URL.Query().Get("ls")); last != nil {
		last.close(replaced)
	}
	v := peer.RequestOf(r)
	if !v.Connects() {
		return nil, errTooFast
	}
	c := newConn(rt, strings.Clone(ns), db, v.Client()) // ns may be a part of a long URL
	c.remote, c.leave = rt.opts.Peers.Remote(r), leave
	if err := rt.add(c); err != nil {
		c.leave = func() {} // the caller does
		c.close(goingAway)
		return nil, err
	}
	if err := db.Usable(); errors.Is(err, fault.ErrClosed) { // it is dropped, and Dismiss may not have seen c
		c.close(goingAway)
		return c, err
	}
	return c, nil
}

func (rt *Server) add(c *conn) error {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.stopping {
		return errStopping
	}
	switch err := rt.opts.Peers.Resources(c.peer).Realtime.Try(1); {
	case errors.Is(err, limit.ErrShare):
		rt.opts.Refusals.Add(metrics.AddressConnections, c.remote.Addr)
		return errTooFast
	case err != nil:
		rt.opts.Refusals.Add(metrics.RealtimeConnections, c.remote.Addr)
		return errCrowded
	}
	rt.opts.Peers.Retain(c.peer)
	rt.conns[c.id] = c
	rt.wg.Add(1)
	return nil
}

func (rt *Server) remove(c *conn) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.conns[c.id] == c {
		delete(rt.conns, c.id)
		rt.opts.Peers.Resources(c.peer).Realtime.Release(1)
		rt.opts.Peers.Release(c.peer)
		rt.wg.Done()
	}
}

// lookup finds a connection by the id in its hello, which only its client
// knows, and only within the namespace that the client says it is in.
func (rt *Server) lookup(ns, id string) *conn {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if c := rt.conns[id]; c != nil && c.ns == ns {
		return c
	}
	return nil
}

func (rt *Server) addSocket(s *socket) error {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.stopping {
		return errStopping
	}
	rt.sockets[s] = struct{}{}
	rt.opts.Metrics.WebSockets.Opened()
	rt.wg.Add(1)
	return nil
}

func (rt *Server) removeSocket(s *socket) {
	s.gone()
	rt.mu.Lock()
	defer rt.mu.Unlock()
	delete(rt.sockets, s)
	rt.opts.Metrics.WebSockets.Closed()
	rt.wg.Done()
}

func (rt *Server) addPoll(p *poll) error {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	switch {
	case rt.stopping:
		return errStopping
	case len(rt.polls) >= rt.opts.Limits.MaxPolls:
		rt.opts.Refusals.Add(metrics.Polls, p.c.remote.Addr)
		return errCrowded
	case !rt.opts.Peers.StartPoll(p.c.peer):
		return errTooFast
	}
	rt.polls[p.id] = p
	rt.opts.Metrics.LongPolls.Opened()
	return nil
}

func (rt *Server) findPoll(id string) *poll {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.polls[id]
}

func (rt *Server) removePoll(p *poll) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.polls[p.id] == p {
		delete(rt.polls, p.id)
		rt.opts.Metrics.LongPolls.Closed()
		rt.opts.Peers.EndPoll(p.c.peer)
	}
}

// Shutdown ends all connections, which runs their onDisconnect operations, and
// waits for that. Clients are told to connect again, by close code 1001 or by a
// close command.
func (rt *Server) Shutdown() {
	conns, sockets, polls := rt.stop()
	for _, p := range polls {
		p.retire()
	}
	for _, c := range conns {
		rt.wg.Go(func() { c.close(goingAway) })
	}
	for _, s := range sockets {
		if s.c == nil {
			s.end(goingAway)
		}
	}
	rt.wg.Wait()
	rt.watcher.Close()
}

// Count returns how many connections there are.
func (rt *Server) Count() int {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return len(rt.conns)
}

// Cut ends the requests of all connections.
func (rt *Server) Cut() {
	conns, _, _ := rt.stop()
	for _, c := range conns {
		c.cancel()
	}
}

// CloseSockets closes the sockets that are left, without a close frame.
func (rt *Server) CloseSockets() {
	_, sockets, _ := rt.stop()
	for _, s := range sockets {
		s.cutOff()
	}
}

// Dismiss ends the connections to a database that refuses what is new, and waits for that. Their
// clients are told why, and do not come back. A connection that is being opened sees itself
// that its database refuses (see openIn).
func (rt *Server) Dismiss(ns, text string) {
	var closing sync.WaitGroup
	for _, c := range rt.all() {
		if c.ns == ns {
			c.out.PushFrame(wire.AppendControlText(nil, wire.ControlShutdown, text))
			closing.Go(func() { c.close(closeReason{closePolicy, text}) })
		}
	}
	closing.Wait()
}

// CountIn returns how many connections to a database there are.
func (rt *Server) CountIn(ns string) (n int) {
	for _, c := range rt.all() {
		if c.ns == ns {
			n++
		}
	}
	return n
}

// stop refuses what is new and returns what there is.
func (rt *Server) stop() ([]*conn, []*socket, []*poll) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.stopping = true
	return slices.Collect(maps.Values(rt.conns)),
		slices.Collect(maps.Keys(rt.sockets)),
		slices.Collect(maps.Values(rt.polls))
}

// nextName returns a name for a connection, by which logs and administrators tell it
// from others. Its id will not do: that is a secret.
func (rt *Server) nextName() string { return "c" + strconv.FormatUint(rt.named.Add(1), 10) }

// all returns the connections that are open.
func (rt *Server) all() []*conn {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return slices.Collect(maps.Values(rt.conns))
}

// unavailable answers a request to connect that may succeed later.
func (rt *Server) unavailable(w http.ResponseWriter, err error) {
	if errors.Is(err, errTooFast) {
		rt.opts.Host.TooMany(w)
		return
	}
	if !errors.Is(err, errStopping) && !errors.Is(err, fault.ErrClosed) && !errors.Is(err, errCrowded) { // which the log has
		if count, ok := rt.lines.refused.Often(time.Since(rt.began)); ok {
			rt.opts.Log.Warn("connection refused", "err", err, "count", count)
		}
	}
	rt.opts.Host.Unavailable(w)
}

// panicked logs what was recovered from a panic. It must not end the process,
// nor any other connection.
func (rt *Server) panicked(doing string, p any) {
	if count, ok := rt.lines.panics.Often(time.Since(rt.began)); ok {
		rt.opts.Log.Error("panic in a connection", "doing", doing, "panic", p, "stack", string(debug.Stack()), "count", count)
	}
}

// countEnd counts a connection, or its transport, that ended because of a bound, and
// returns why it ended. from is the address of its client.
func (rt *Server) countEnd(reason closeReason, from string) closeReason {
	switch {
	case reason == silent:
		rt.opts.Refusals.Add(metrics.Silent, from)
	case reason.code == closeTooBig:
		rt.opts.Refusals.Add(metrics.MessageSize, from)
	}
	return reason
}

// maxMessage is the limit for one message of a client in bytes: that for its
// data, and something for the envelope.
func (rt *Server) maxMessage() int { return int(rt.opts.Limits.MaxMessageBytes) + 64<<10 }
