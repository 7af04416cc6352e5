package server

import (
	"errors"
	"net/http"

	"github.com/dogwooddb/dogwood/server/realtime"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// newRealtime returns what serves the realtime protocol.
func (s *Server) newRealtime() *realtime.Server {
	return realtime.New(realtime.Options{
		Host: host{s},
		Limits: realtime.Limits{
			MaxPolls:        s.opts.MaxPolls,
			MaxMessageBytes: s.opts.MaxMessageBytes,
			OutboxBytes:     s.opts.OutboxBytes,
			MessageRate:     s.opts.MessageRate,
			MessageBurst:    s.opts.MessageBurst,
			Stalled:         s.opts.waits.message,
		},
		Peers:    s.peers,
		Conns:    s.conns,
		Auth:     s.auth,
		Metrics:  s.metrics,
		Refusals: s.refusals,
		Log:      s.log,
		Now:      s.opts.Now,
	})
}

// A host is the server as realtime connections see it.
//
// Package realtime declares the interface that it needs, and this is all that
// it knows of the server. Errors are translated here, so that the realtime
// protocol has its own texts and REST has its own.
type host struct{ s *Server }

// Namespace implements realtime.Host.
func (h host) Namespace(r *http.Request) (string, error) {
	ns, err := h.s.spaces.resolve(parseParams(r.URL.RawQuery), r.Host)
	return ns, forConnections(err)
}

// Database implements realtime.Host.
func (h host) Database(name string) (*dsync.Database, func(), error) {
	ns, err := h.s.spaces.find(name)
	if err != nil {
		return nil, nil, forConnections(err)
	}
	db, err := h.s.spaces.use(ns)
	if err != nil {
		return nil, nil, forConnections(err)
	}
	return db, func() { h.s.spaces.leave(ns) }, nil
}

// forConnections returns an error of namespaces in the form that connections know.
func forConnections(err error) error {
	switch {
	case errors.Is(err, errNoNamespace), errors.Is(err, errBadNamespace):
		return &realtime.NoDatabaseError{Text: wire.TextNoInstance}
	case errors.Is(err, errDeactivated):
		return &realtime.NoDatabaseError{Text: "The database has been deactivated."}
	}
	return err
}

// SignIn implements realtime.Host.
func (h host) SignIn(ns string, c dsync.Credential) (realtime.SignedIn, error) {
	id, err := h.s.signIn(ns, c)
	if err != nil {
		return realtime.SignedIn{}, err
	}
	return realtime.SignedIn{Caller: id.Caller, Info: dsync.SignInInfo{Data: id.data(), Proof: id.credential.Proof()}, Credential: id.credential}, nil
}

// TokenError implements realtime.Host.
func (h host) TokenError(err error) *fault.TokenError { return wireTokenError(err) }

// TooMany implements realtime.Host.
func (h host) TooMany(w http.ResponseWriter) { refuseAddress(w) }

// Unavailable implements realtime.Host.
func (h host) Unavailable(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, textUnavailable, http.StatusServiceUnavailable)
}

// refuseAddress tells a client of the realtime protocol that its address has or
// does too much.
func refuseAddress(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, textTooMany, http.StatusTooManyRequests)
}
