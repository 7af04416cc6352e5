package realtime

import (
	"iter"
	"log/slog"
	"net/http"

	"github.com/dogwooddb/dogwood/server/observe"
	"github.com/dogwooddb/dogwood/sync/outbox"
)

// opened logs a connection that w is the answer to.
func (c *conn) opened(w http.ResponseWriter) {
	attrs := append(c.remote.Attrs(), slog.String("connection", c.name), slog.String("namespace", c.ns), slog.String("request", observe.RequestOf(w)))
	c.rt.opts.Log.LogAttrs(c.ctx, slog.LevelDebug, "connection opened", attrs...)
}

// Clients yields the connections that are open.
func (rt *Server) Clients() iter.Seq2[*outbox.Outbox, observe.SlowClient] {
	return func(yield func(*outbox.Outbox, observe.SlowClient) bool) {
		for _, c := range rt.all() {
			if !yield(c.out, c.described()) {
				return
			}
		}
	}
}

func (c *conn) described() observe.SlowClient {
	transport := "websocket"
	if poll, sock := c.transports(); poll != nil && sock == nil {
		transport = "long_poll"
	}
	return observe.SlowClient{Connection: c.name, Remote: c.remote.Addr, Via: c.remote.Via, Namespace: c.ns, Transport: transport}
}
