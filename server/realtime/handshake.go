package realtime

import (
	"net/http"

	"github.com/gorilla/websocket"
)

// ServeWebSocket answers GET /.ws: a new connection, or the second transport of a
// connection that began with long polling (protocol §1.1, §14).
func (rt *Server) ServeWebSocket(w http.ResponseWriter, r *http.Request) {
	if !websocket.IsWebSocketUpgrade(r) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "websocket")
		http.Error(w, "This address is for WebSockets.", http.StatusUpgradeRequired)
		return
	}
	if id := r.URL.Query().Get("s"); id != "" {
		rt.serveUpgrade(w, r, id)
		return
	}
	c, err := rt.open(r)
	if msg := refusal(err); msg != nil {
		rt.refuse(w, r, msg)
		return
	}
	if err != nil {
		rt.unavailable(w, err)
		return
	}
	s := rt.accept(w, r, c)
	if s == nil {
		c.close(dropped)
		return
	}
	s.receive = func(text string) error { return c.receive(text, s.control) }
	c.opened(w)
	s.push(c.hello(r.Host))
	carries := c.carry(s)
	s.goLive()
	s.start(carries)
}
