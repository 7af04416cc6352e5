package servers

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/memory"
	"github.com/dogwooddb/dogwood/server"
)

// limitFlags bound what one address, and one connection, can ask of a server.
// docs/limits.md explains them. -1 stands for no bound.
type limitFlags struct {
	AddressConnections  autoBound `group:"Limits" default:"auto" help:"Connections of one address at a time; auto: 1000, fewer in little memory."`
	AddressConnectRate  bound     `group:"Limits" default:"100" help:"New connections of one address per second, after a burst of --address-connections."`
	AddressRequests     bound     `group:"Limits" default:"5000" help:"Requests and realtime messages of one address per second."`
	AddressRequestBurst bound     `group:"Limits" default:"20000" help:"How many of them at once."`
	AddressPolls        autoBound `group:"Limits" default:"auto" help:"Connections of one address through long polling; auto: 500, fewer in little memory."`
	AddressMiB          autoBound `group:"Limits" name:"address-mib" default:"auto" help:"MiB of request bodies, and as much of large answers, in memory for one address; auto: half of what all addresses together may have."`
	AddressListens      autoBound `group:"Limits" default:"auto" help:"Listens of one address; auto: 100000, fewer in little memory."`
	AddressPendingMiB   autoBound `group:"Limits" name:"address-pending-mib" default:"auto" help:"MiB of onDisconnect operations of one address; auto: 64, less in little memory."`
	AddressWindows      bound     `group:"Limits" default:"600" help:"Different queries of one address at the same path."`
	PathWindows         pathBound `group:"Limits" default:"10000" help:"Different queries of all addresses at one path of a database; at most 1000000."`
	ConnectionRequests  bound     `group:"Limits" default:"2000" help:"Messages of one realtime connection per second."`
	ConnectionBurst     bound     `group:"Limits" default:"10000" help:"How many of them at once."`

	Exempt       []string `group:"Limits" default:"127.0.0.0/8,::1" help:"Addresses without bounds, such as 10.0.0.0/8; none if all have bounds."`
	TrustedProxy []string `group:"Limits" help:"Proxies whose header gives the address of their client." placeholder:"CIDR"`
	ProxyHeader  string   `group:"Limits" default:"X-Forwarded-For" enum:"X-Forwarded-For,Forwarded" help:"That header: X-Forwarded-For or Forwarded."`
}

// limits returns what the flags say, in the server's words.
func (f *limitFlags) limits() (l server.Limits, err error) {
	l.Memory = memory.Limit().Bytes
	l.MaxPathWindows = int(f.PathWindows)
	l.MessageRate, l.MessageBurst = int(f.ConnectionRequests), int(f.ConnectionBurst)
	l.PerAddress = server.AddressLimits{
		Connections:  int(f.AddressConnections),
		ConnectRate:  int(f.AddressConnectRate),
		RequestRate:  int(f.AddressRequests),
		RequestBurst: int(f.AddressRequestBurst),
		Polls:        int(f.AddressPolls),
		BodyBytes:    f.AddressMiB.mebibytes(),
		Listens:      int(f.AddressListens),
		PendingBytes: f.AddressPendingMiB.mebibytes(),
		Windows:      int(f.AddressWindows),
		ProxyHeader:  f.ProxyHeader,
	}
	if l.PerAddress.Exempt, err = prefixes("--exempt", f.Exempt); err != nil {
		return l, err
	}
	l.PerAddress.TrustedProxies, err = prefixes("--trusted-proxy", f.TrustedProxy)
	return l, err
}

// A bound is a number that must not be exceeded.
type bound int

// An autoBound is a bound that is derived from the memory unless it is given. Then it
// is 0.
type autoBound int

// UnmarshalText is called by kong.
func (b *autoBound) UnmarshalText(text []byte) error {
	if string(text) == "auto" {
		*b = 0
		return nil
	}
	n, err := strconv.Atoi(string(text))
	if err != nil {
		return errors.New("must be a number or auto")
	}
	*b = autoBound(n)
	return bound(n).Validate()
}

// MarshalText returns what UnmarshalText reads.
func (b autoBound) MarshalText() ([]byte, error) {
	if b == 0 {
		return []byte("auto"), nil
	}
	return strconv.AppendInt(nil, int64(b), 10), nil
}

// A pathBound is a number of queries at one path. A write that replaces the path is compared
// with all of them, so there is always a bound.
type pathBound int

// Validate is called by kong.
func (b pathBound) Validate() error {
	if b < 1 || b > server.MaxPathWindows {
		return fmt.Errorf("must be between 1 and %d", server.MaxPathWindows)
	}
	return nil
}

// mebibytes is that of a bound.
func (b autoBound) mebibytes() int64 { return bound(b).mebibytes() }

// Validate is called by kong.
func (b bound) Validate() error {
	if b == 0 || b < -1 {
		return errors.New("must be positive, or -1 for no bound")
	}
	return nil
}

// mebibytes returns so many MiB in bytes, and what stands for no bound as it is.
func (b bound) mebibytes() int64 {
	if b < 0 {
		return -1
	}
	return int64(b) << 20
}

// prefixes reads ranges of addresses, or single ones. The list is not nil even if
// it is empty, which it is for none.
func prefixes(flag string, texts []string) ([]netip.Prefix, error) {
	list := []netip.Prefix{}
	for _, text := range texts {
		if text == "none" {
			continue
		}
		p, err := netip.ParsePrefix(text)
		if err != nil {
			a, single := netip.ParseAddr(text)
			if single != nil {
				return nil, fmt.Errorf("%s %s: not a range of addresses such as 10.0.0.0/8", flag, text)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		list = append(list, p.Masked())
	}
	return list, nil
}
