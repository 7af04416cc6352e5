// Package bare is a server that has the shape of a database and does nothing of
// its work: it answers the load generator of package bench over the same
// sockets, in the same framing, with about as many bytes, and keeps nothing. No
// tree, no rules, no queries, no disk. Its figures are the most that the machine, its
// sockets and the generator allow, so those of a server can be read as a share of
// them.
//
// A [Server] understands the workloads Set, Chat, Fanout, RESTGet and RESTPut,
// and only the messages that the generator sends for them: it looks for what it
// needs at known places instead of parsing JSON. It is for measuring on one's
// own machine; it has no credentials.
//
// Answers that become due together are written together: whatever the requests
// that have arrived on a connection lead to goes out before the connection is
// waited for again, in one write for each receiver.
package bare

import (
	"net/http"
	"slices"
	"sync"

	"github.com/gorilla/websocket"
)

// A Server is the handler of everything. The zero Server is ready for use.
type Server struct {
	mu        sync.RWMutex
	followers map[string][]*client // by path; the slices are appended to or replaced
}

// ServeHTTP answers a request, or serves a realtime connection until it ends.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/.ws" {
		s.serveSocket(w, r)
		return
	}
	serveREST(w, r)
}

// readBuffer is how much of what has arrived is answered together: some twenty
// writes.
const readBuffer = 8 << 10

var upgrader = websocket.Upgrader{ReadBufferSize: readBuffer, CheckOrigin: func(*http.Request) bool { return true }}

func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	c := &client{server: s}
	ws, err := upgrader.Upgrade(&hijacker{ResponseWriter: w, client: c}, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	defer ws.Close()
	defer s.forget(c)
	ws.SetReadLimit(maxFrame)
	c.ws = ws
	_ = c.serve() // it has ended, for whatever reason
}

// maxFollows bounds the paths that one connection follows.
const maxFollows = 16

// follow adds a client to the followers of a path.
func (s *Server) follow(c *client, path string) error {
	if len(c.follows) == maxFollows {
		return errTooMany
	}
	c.follows = append(c.follows, path)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.followers == nil {
		s.followers = make(map[string][]*client)
	}
	s.followers[path] = append(s.followers[path], c)
	return nil
}

// forget removes a client from wherever it is.
func (s *Server) forget(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range c.follows {
		left := slices.DeleteFunc(slices.Clone(s.followers[path]), func(o *client) bool { return o == c })
		s.followers[path] = left
		if len(left) == 0 {
			delete(s.followers, path)
		}
	}
}

// followersOf returns the followers of a path. The slice must not be changed.
func (s *Server) followersOf(path []byte) []*client {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.followers[string(path)]
}
