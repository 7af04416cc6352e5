package server

import (
	"log/slog"
	"net/http"
	"strconv"
)

// nextName returns a name for a connection, by which logs and administrators tell it
// from others. Its id will not do: that is a secret.
func (rt *realtime) nextName() string { return "c" + strconv.FormatUint(rt.named.Add(1), 10) }

// opened logs a connection that w is the answer to.
func (c *conn) opened(w http.ResponseWriter) {
	attrs := append(c.remote.Attrs(), slog.String("connection", c.name), slog.String("namespace", c.ns), slog.String("request", requestOf(w)))
	c.rt.s.log.LogAttrs(c.ctx, slog.LevelDebug, "connection opened", attrs...)
}
