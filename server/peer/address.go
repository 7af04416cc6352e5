package peer

import (
	"iter"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Headers that proxies tell the address of their client in.
const (
	HeaderForwardedFor = "X-Forwarded-For"
	headerForwarded    = "Forwarded" // RFC 7239
)

// proxies are the servers in front of this one whose word about the address of
// a client is taken. Only one header is read: a proxy that sets one of them
// passes on what a client wrote into the other.
type proxies struct {
	trusted []netip.Prefix
	header  string
}

// client returns the address that a request comes from, peer being the other end
// of its connection: the nearest one that is not a trusted proxy. What is farther
// away could be anything that the client wrote there.
func (p *proxies) client(peer netip.Addr, h http.Header) netip.Addr {
	if !p.trusts(peer) {
		return peer
	}
	for hop := range hops(h.Values(p.header)) {
		if p.header == headerForwarded {
			hop = forwardedFor(hop)
		}
		addr, ok := parseHop(hop)
		if !ok {
			return peer // any client, through this proxy
		}
		if peer = addr; !p.trusts(peer) {
			return peer
		}
	}
	return peer
}

func (p *proxies) trusts(a netip.Addr) bool { return contains(p.trusted, a) }

func contains(list []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
}

// hops yields the elements of a header that each proxy adds to, the nearest
// first. An element is not parsed before those that are nearer: quotes in it
// cannot change what they say.
func hops(fields []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, field := range slices.Backward(fields) {
			for more := true; more; {
				i := strings.LastIndexByte(field, ',')
				if !yield(strings.TrimSpace(field[i+1:])) {
					return
				}
				if more = i >= 0; more {
					field = field[:i]
				}
			}
		}
	}
}

// forwardedFor returns the node in the for parameter of an element of Forwarded,
// without quotes, "" if there is none.
func forwardedFor(element string) string {
	for pair := range strings.SplitSeq(element, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if strings.EqualFold(name, "for") {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

// parseHop reads an address that may have a port, and brackets if it is one of
// IPv6.
func parseHop(s string) (netip.Addr, bool) {
	if a, err := netip.ParseAddrPort(s); err == nil {
		return cleanAddr(a.Addr()), true
	}
	if in, ok := strings.CutPrefix(s, "["); ok {
		s, _ = strings.CutSuffix(in, "]")
	}
	a, err := netip.ParseAddr(s)
	return cleanAddr(a), err == nil
}

// peerOf returns the address of the other end of a connection, the zero Addr if
// it has none, as a pipe has none.
func peerOf(remote string) netip.Addr {
	a, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return cleanAddr(a.Addr())
}

func cleanAddr(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// keyOf returns what counts as one address: a single one of IPv4,
// and the 64 bits of IPv6 that a customer is given at least.
func keyOf(a netip.Addr) netip.Addr {
	if !a.Is6() {
		return a
	}
	p, _ := a.Prefix(64) // fails for more bits than an address has
	return p.Addr()
}
