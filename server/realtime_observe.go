package server

import (
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/dogwooddb/dogwood/server/observe"
	dsync "github.com/dogwooddb/dogwood/sync"
)

// nextName returns a name for a connection, by which logs and administrators tell it
// from others. Its id will not do: that is a secret.
func (rt *realtime) nextName() string { return "c" + strconv.FormatUint(rt.named.Add(1), 10) }

// opened logs a connection that w is the answer to.
func (c *conn) opened(w http.ResponseWriter) {
	attrs := append(c.remote.Attrs(), slog.String("connection", c.name), slog.String("namespace", c.ns), slog.String("request", observe.RequestOf(w)))
	c.rt.s.log.LogAttrs(c.ctx, slog.LevelDebug, "connection opened", attrs...)
}

// clients yields the connections that are open.
func (rt *realtime) clients() iter.Seq2[*dsync.Outbox, SlowClient] {
	return func(yield func(*dsync.Outbox, SlowClient) bool) {
		for _, c := range rt.all() {
			if !yield(c.out, c.described()) {
				return
			}
		}
	}
}

// all returns the connections that are open.
func (rt *realtime) all() []*conn {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return slices.Collect(maps.Values(rt.conns))
}

func (c *conn) described() SlowClient {
	transport := "websocket"
	if poll, sock := c.transports(); poll != nil && sock == nil {
		transport = "long_poll"
	}
	return SlowClient{Connection: c.name, Remote: c.remote.Addr, Via: c.remote.Via, Namespace: c.ns, Transport: transport}
}

// from is the address at the other end of the socket, or of the client behind it.
func (s *socket) from() string {
	if s.c != nil {
		return s.c.remote.Addr
	}
	return s.conn.RemoteAddr().String()
}
