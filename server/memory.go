package server

import (
	"net/http"

	"github.com/dogwooddb/dogwood/server/peer"
)

// countFor makes what the request holds count for a client.
func (q *request) countFor(c *peer.Client) {
	if q.peer = c; c != nil {
		q.use(&c.Resources)
	}
}

// refuseTooMany answers a request that was not admitted, in the form of its route.
func refuseTooMany(q *request, rt *route) {
	if rt.raw == nil {
		setCommonHeaders(q.w.Header(), q.r)
		sendAnswer(q, failureAnswer(q, peer.ErrTooMany))
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
