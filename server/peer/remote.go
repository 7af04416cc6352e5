package peer

import (
	"log/slog"
	"net/http"
)

// A remote is where a request comes from, as administrators are told.
type Remote struct {
	Addr string // of the client; without a port if a proxy told it
	Via  string // of the proxy at the other end of the connection, "" if there is none
}

// Remote returns where a request comes from.
func (t *Table) Remote(r *http.Request) Remote { return t.proxies.remoteOf(r) }

// remoteOf returns where a request comes from.
func (p *proxies) remoteOf(r *http.Request) Remote {
	peer := peerOf(r.RemoteAddr)
	if client := p.client(peer, r.Header); client != peer {
		return Remote{client.String(), r.RemoteAddr}
	}
	return Remote{Addr: r.RemoteAddr}
}

// Attrs is what the log says about it.
func (r Remote) Attrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("remote", r.Addr)}
	if r.Via != "" {
		attrs = append(attrs, slog.String("via", r.Via))
	}
	return attrs
}
