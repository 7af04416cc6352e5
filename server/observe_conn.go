package server

import (
	"net/http"
	"strconv"
)

// nextName returns a name for a connection, by which logs and administrators tell it
// from others. Its id will not do: that is a secret.
func (rt *realtime) nextName() string { return "c" + strconv.FormatUint(rt.named.Add(1), 10) }

// opened logs a connection that w is the answer to.
func (c *conn) opened(w http.ResponseWriter) {
	c.rt.s.log.Debug("connection opened", "connection", c.name, "namespace", c.ns, "remote", c.remote, "request", requestOf(w))
}
