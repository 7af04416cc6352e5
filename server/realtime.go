package server

import (
	"errors"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/peer"
)

// Reasons not to open a connection. They become status 503, after which
// clients try again.
var (
	errStopping = errors.New("the server is shutting down")
	errCrowded  = errors.New("too many connections")
	errTooFast  = errors.New("too many connections of one address") // status 429
)

// realtime holds the connections of the realtime protocol. A conn is one
// client; a socket or a poll carries its messages, and while a browser changes
// from one to the other there are both. The protocol is in docs/protocol.md.
//
// Lock order: poll.up, then conn.in or poll.mu, then one of conn.mu, socket.mu
// and realtime.mu, then couriers.mu. An outbox is not called under the last four,
// since it calls conn.wake, which takes them.
type realtime struct {
	s                  *Server
	maxConns, maxPolls int
	couriers           couriers

	mu       sync.Mutex
	conns    map[string]*conn     // by session id
	polls    map[string]*poll     // by poll id; some outlive their conn
	sockets  map[*socket]struct{} // all of them, also those without a conn
	stopping bool                 // nothing is added any more

	wg sync.WaitGroup // one for each of conns and sockets

	named atomic.Uint64 // conns
}

func newRealtime(s *Server) *realtime {
	return &realtime{
		s:        s,
		couriers: couriers{max: runtime.GOMAXPROCS(0)},
		maxConns: s.opts.MaxRealtime,
		maxPolls: s.opts.MaxPolls,
		conns:    make(map[string]*conn),
		polls:    make(map[string]*poll),
		sockets:  make(map[*socket]struct{}),
	}
}

// open makes a connection without a transport for a request to connect. If the
// client names its last session (ls), that one ends first, its onDisconnect
// operations included, so that they cannot undo what the client does next
// (protocol §10).
func (rt *realtime) open(r *http.Request) (*conn, error) {
	ns, err := rt.s.namespaceOf(r)
	if err != nil {
		return nil, err
	}
	db, err := rt.s.database(ns)
	if err != nil {
		return nil, err
	}
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
	c := newConn(rt, ns, db, v.Client())
	c.remote = rt.s.peers.Remote(r)
	if err := rt.add(c); err != nil {
		c.close(goingAway)
		return nil, err
	}
	return c, nil
}

func (rt *realtime) add(c *conn) error {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	switch {
	case rt.stopping:
		return errStopping
	case len(rt.conns) >= rt.maxConns:
		rt.s.refusals.Add(metrics.RealtimeConnections, c.remote.Addr)
		return errCrowded
	}
	rt.s.peers.Retain(c.peer)
	rt.conns[c.id] = c
	rt.wg.Add(1)
	return nil
}

func (rt *realtime) remove(c *conn) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.conns[c.id] == c {
		delete(rt.conns, c.id)
		rt.s.peers.Release(c.peer)
		rt.wg.Done()
	}
}

// lookup finds a connection by the id in its hello, which only its client
// knows, and only within the namespace that the client says it is in.
func (rt *realtime) lookup(ns, id string) *conn {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if c := rt.conns[id]; c != nil && c.ns == ns {
		return c
	}
	return nil
}

func (rt *realtime) addSocket(s *socket) error {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.stopping {
		return errStopping
	}
	rt.sockets[s] = struct{}{}
	rt.s.metrics.WebSockets.Opened()
	rt.wg.Add(1)
	return nil
}

func (rt *realtime) removeSocket(s *socket) {
	s.gone()
	rt.mu.Lock()
	defer rt.mu.Unlock()
	delete(rt.sockets, s)
	rt.s.metrics.WebSockets.Closed()
	rt.wg.Done()
}

func (rt *realtime) addPoll(p *poll) error {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	switch {
	case rt.stopping:
		return errStopping
	case len(rt.polls) >= rt.maxPolls:
		rt.s.refusals.Add(metrics.Polls, p.c.remote.Addr)
		return errCrowded
	case !rt.s.peers.StartPoll(p.c.peer):
		return errTooFast
	}
	rt.polls[p.id] = p
	rt.s.metrics.LongPolls.Opened()
	return nil
}

func (rt *realtime) findPoll(id string) *poll {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.polls[id]
}

func (rt *realtime) removePoll(p *poll) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.polls[p.id] == p {
		delete(rt.polls, p.id)
		rt.s.metrics.LongPolls.Closed()
		rt.s.peers.EndPoll(p.c.peer)
	}
}

// shutdown ends all connections, which runs their onDisconnect operations, and
// waits for that. Clients are told to connect again, by close code 1001 or by a
// close command.
func (rt *realtime) shutdown() {
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
}

// count returns how many connections there are.
func (rt *realtime) count() int {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return len(rt.conns)
}

// cut ends the requests of all connections.
func (rt *realtime) cut() {
	conns, _, _ := rt.stop()
	for _, c := range conns {
		c.cancel()
	}
}

// closeSockets closes the sockets that are left, without a goodbye.
func (rt *realtime) closeSockets() {
	_, sockets, _ := rt.stop()
	for _, s := range sockets {
		s.conn.Close()
	}
}

// stop refuses what is new and returns what there is.
func (rt *realtime) stop() ([]*conn, []*socket, []*poll) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.stopping = true
	return slices.Collect(maps.Values(rt.conns)),
		slices.Collect(maps.Keys(rt.sockets)),
		slices.Collect(maps.Values(rt.polls))
}
