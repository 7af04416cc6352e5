package peer

import (
	"cmp"
	"net/netip"
)

// Limits bounds what one address can ask of a server, so that others are
// served beside it. An address is one of IPv4, or the first 64 bits of one of
// IPv6. A zero field takes its default, and there is no bound where a field is
// negative. Of the defaults that depend on the memory, the comment has the part of it, what one counts
// for and the upper bound.
type Limits struct {
	Connections  int   // at a time, WebSockets among them; 1,000, or half of MaxRealtime
	ConnectRate  int   // new ones per second, after a burst of Connections; 100
	RequestRate  int   // HTTP requests and realtime messages per second; 5,000
	RequestBurst int   // of them, at once; 20,000
	Polls        int   // connections through long polling; 500, or half of MaxPolls
	BodyBytes    int64 // of MaxBodiesBytes, and of MaxAnswersBytes over REST and in realtime, each; a half
	Listens      int   // at a time; as many as fit into 1/32 of Memory with 1 KiB each, at most 100,000
	PendingBytes int64 // of onDisconnect operations; 1/32 of Memory, at most 64 MiB
	Windows      int   // of queries at one path; 600

	Exempt         []netip.Prefix // addresses without bounds; nil: this machine, empty: none
	TrustedProxies []netip.Prefix // whose header tells the address of their client
	ProxyHeader    string         // that header: X-Forwarded-For, which is the default, or Forwarded
}

// Loopback are the addresses of the machine itself.
func Loopback() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// SetDefaults fills in what does not depend on the memory of the machine.
func (l *Limits) SetDefaults() {
	l.ConnectRate = cmp.Or(l.ConnectRate, 100)
	l.RequestRate = cmp.Or(l.RequestRate, 5_000)
	l.RequestBurst = cmp.Or(l.RequestBurst, 20_000)
	l.Windows = cmp.Or(l.Windows, 600)
	if l.Exempt == nil {
		l.Exempt = Loopback()
	}
	if l.ProxyHeader == "" {
		l.ProxyHeader = HeaderForwardedFor
	}
}

// Bounds of what the server remembers about addresses.
const (
	MaxClients  = 65_536  // addresses at most; the rest share one account
	ClientBytes = 2 << 10 // that an address takes
	MaxExcess   = 16      // connections beyond the bound that are told so, of each address
)
