package realtime

import (
	"crypto/subtle"
	"net/http"
	"strconv"

	"github.com/dogwooddb/dogwood/server/peer"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// ServePoll answers the requests of browsers that cannot, or not yet, use a
// WebSocket (protocol §14). They come from script elements, so that all but the
// status of a failure is lost on them; the client then connects anew.
func (rt *Server) ServePoll(w http.ResponseWriter, r *http.Request) {
	q, err := parsePoll(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Set("Access-Control-Allow-Origin", "*")
	switch q.kind {
	case pollStart:
		rt.startPoll(w, r, q)
	case pollPage:
		writePage(w)
	case pollDisconnect:
		rt.disconnectPoll(w, q)
	default:
		rt.nextPoll(w, r, q)
	}
}

// startPoll opens a connection. The reply has its id and password, and the
// hello as the first response.
func (rt *Server) startPoll(w http.ResponseWriter, r *http.Request, q pollQuery) {
	c, err := rt.open(r)
	if msg := refusal(err); msg != nil {
		writeScript(w, r, wire.AppendPollScript(nil, q.callback, 0, [][]byte{msg}))
		return
	}
	if err != nil {
		rt.unavailable(w, err)
		return
	}
	p := newPoll(c, q.callback)
	if err := rt.addPoll(p); err != nil {
		p.retire()
		c.close(dropped)
		rt.unavailable(w, err)
		return
	}
	c.opened(w)
	body := wire.AppendStartScript(nil, q.callback, p.id, p.password)
	body = append(body, p.start(c.hello(r.Host))...)
	writeScript(w, r, body)
}

// nextPoll takes the messages that a poll brings and holds it until there is
// something to say, or another poll has come.
func (rt *Server) nextPoll(w http.ResponseWriter, r *http.Request, q pollQuery) {
	p := rt.authenticPoll(q)
	if p == nil {
		http.Error(w, "No such connection.", http.StatusNotFound)
		return
	}
	defer func() {
		if v := recover(); v != nil {
			rt.panicked("poll", v)
			p.c.close(crashed)
		}
	}()
	t := p.enter(q.serial)
	defer p.leave(t)
	p.receive(q.pieces)
	peer.RequestOf(r).Shed()
	body := p.respond(r.Context(), t)
	if err := writeScript(w, r, body); err != nil && body != nil {
		p.abandon(dropped)
	}
}

// disconnectPoll ends a connection whose page is gone. When it has moved to a
// socket, only the poll's page is.
func (rt *Server) disconnectPoll(w http.ResponseWriter, q pollQuery) {
	if p := rt.authenticPoll(q); p != nil && !p.isOver() {
		p.abandon(left)
	}
	w.WriteHeader(http.StatusNoContent)
}

// authenticPoll finds the poll of a request that has the right password.
func (rt *Server) authenticPoll(q pollQuery) *poll {
	p := rt.findPoll(q.id)
	if p == nil || subtle.ConstantTimeCompare([]byte(p.password), []byte(q.password)) == 0 {
		return nil
	}
	return p
}

// typeScript is what browsers take for a script.
const typeScript = "application/javascript; charset=utf-8"

// writeScript writes a script as the answer of r.
func writeScript(w http.ResponseWriter, r *http.Request, body []byte) error {
	w.Header().Set("Content-Type", typeScript)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, err := peer.NewWriter(w, r).Write(body)
	return err
}
