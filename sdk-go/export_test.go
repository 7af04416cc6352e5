package dogwood

import (
	"context"
	"net"

	"github.com/dogwooddb/dogwood/tree"
)

// Window is the query as package tree has it.
func (q Query) Window() tree.Query { return q.query }

// EncodeQuery is what is sent for a query.
func EncodeQuery(q Query) string { return encodeQuery(q.query) }

// IsUserToken tells a user's token from an administrator's.
func IsUserToken(credential string) bool { return isUserToken(credential) }

// Times of a connection.
const (
	PingInterval = pingInterval
	SilenceLimit = silenceLimit
)

// A Dialer makes a connection to an address.
type Dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// DialOver is Dial over connections that a function makes.
func DialOver(ctx context.Context, url string, dial Dialer, o Options) (*Client, error) {
	a, err := parseAddress(url)
	if err != nil {
		return nil, err
	}
	n := newNetwork(a, nil, o.withDefaults().MaxMessage)
	n.dial = dial
	return New(ctx, n, o)
}

// SocketURL returns where a client of a database connects to.
func SocketURL(url string, h Handshake) (string, error) {
	a, err := parseAddress(url)
	return a.socket(h), err
}

// ResourceURL returns where a client of a database reads.
func ResourceURL(url string, r ReadRequest) (string, error) {
	a, err := parseAddress(url)
	return a.resource(r), err
}

// NewWriter returns a name for a client.
func NewWriter() string { return newWriter() }

// Turns returns how many transactions run or wait for others.
func Turns(c *Client) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.turns)
}

// Pending returns how many requests have no answer.
func Pending(c *Client) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.requests)
}
