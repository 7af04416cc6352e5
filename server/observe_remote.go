package server

import (
	"log/slog"
	"net/http"
)

// A remote is where a request comes from, as administrators are told.
type remote struct {
	addr string // of the client; without a port if a proxy told it
	via  string // of the proxy at the other end of the connection, "" if there is none
}

// remoteOf returns where a request comes from.
func (p *proxies) remoteOf(r *http.Request) remote {
	peer := peerOf(r.RemoteAddr)
	if client := p.client(peer, r.Header); client != peer {
		return remote{client.String(), r.RemoteAddr}
	}
	return remote{addr: r.RemoteAddr}
}

// attrs is what the log says about it.
func (r remote) attrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("remote", r.addr)}
	if r.via != "" {
		attrs = append(attrs, slog.String("via", r.via))
	}
	return attrs
}
