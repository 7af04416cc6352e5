package dogwood

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/dogwooddb/dogwood/sdk-go/internal/replica"
	"github.com/dogwooddb/dogwood/tree"
)

// A Client is one connection to one database, which it makes again whenever it
// is lost.
//
// mu guards everything from replica to lines, and the requests in it. It is
// held for moments: nothing is sent to the network under it (link has a queue),
// and no function of the application is called, such as its clock or its log. The
// fields behind "Only run uses these" belong to the goroutine of run, which is the
// only one that connects.
//
// A request stays in requests until it is known how it went. That list, the
// sources of the replica and the operations for the disconnect are all that a
// new connection needs to go on where the old one ended.
type Client struct {
	transport Transport
	options   Options
	ctx       context.Context // ends with Close
	cancel    context.CancelFunc
	ended     chan struct{} // run has returned
	slots     chan struct{} // one for each operation that is not answered
	wake      chan struct{} // GoOnline was called; has room for one

	pushIDs tree.PushIDs
	writer  string // tells the client's writes from those of others

	mu        sync.Mutex
	replica   *replica.Replica
	link      *link                 // the connection that requests are sent on; nil while there is none
	requests  []*request            // not answered, in the order they were made
	lastID    int64                 // of the requests that were sent
	lastWrite int64                 // the number of the last write that was made
	asked     map[int64]asked       // listens that are not answered on this connection
	changing  map[int64]*changeFeed // the loops over Changes and Notices, by the tags of their listens
	left      leftovers             // what the server will write when the connection ends
	turns     []*turn               // of the transactions that run, in order
	states    connectionState
	offset    time.Duration // the server's clock is ahead by this
	offline   bool          // by GoOffline
	err       error         // why the client has ended
	met       bool          // there was a connection
	failure   error         // why the last attempt to connect, or connection, ended
	lines     []func()      // write to the log once mu is free

	// Only run uses these.
	session    string // the last one
	host       string // where the server said to go
	credential string // also read by Read, under mu
	refresh    bool   // the credential is no longer good
}

// Dial connects to a database: https://shop.example.org, or
// http://127.0.0.1:9000?ns=shop. Without ns, a host of three labels or more names it
// by the first, and any other has the server's default. Dial returns when the
// connection is made and the client is signed in, or that failed: the error is
// ErrUnavailable if there is no server, ErrUnauthorized if it refuses the credential,
// or that of the token source or ctx. The context is for dialing only; the client
// lives until Close.
func Dial(ctx context.Context, url string, o Options) (*Client, error) {
	a, err := parseAddress(url)
	if err != nil {
		return nil, err
	}
	return New(ctx, newNetwork(a, o.TLS, o.withDefaults().MaxMessage), o)
}

// New is Dial for a database that is reached in another way. If the transport is
// an io.Closer, the client closes it in the end.
func New(ctx context.Context, t Transport, o Options) (*Client, error) {
	c := &Client{transport: t, options: o.withDefaults(), ended: make(chan struct{}), wake: make(chan struct{}, 1), writer: newWriter()}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.slots = make(chan struct{}, c.options.MaxPending)
	c.replica = replica.New((*listens)(c))
	c.changing = make(map[int64]*changeFeed)
	first := make(chan error, 1)
	go c.run(first)
	if o.Lazy {
		return c, nil
	}
	var err error
	select {
	case err = <-first:
	case <-ctx.Done():
		err = failed("connect", "", c.late(ctx))
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close ends the connection and everything that goes on, for good: what is not answered
// fails with ErrClosed. The server writes what OnDisconnect left. Close returns
// when all of the client's goroutines have, but for a TokenSource that does not
// mind its context.
func (c *Client) Close() error {
	c.end(ErrClosed)
	<-c.ended
	if t, ok := c.transport.(io.Closer); ok {
		return t.Close()
	}
	return nil
}

// end makes everything fail, for good.
func (c *Client) end(err error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = err
		c.replica.Fail(err)
		c.states.end(err)
		for _, f := range c.changing {
			f.end(err)
		}
		requests := c.requests
		c.requests = nil
		for _, r := range requests {
			r.finish(err)
		}
	}
	c.mu.Unlock()
	c.cancel()
}

// Ref returns the place at a path: "rooms/r1", "" for the root. If the path is
// not valid, what is done with the Ref fails with ErrPath.
func (c *Client) Ref(path string) Ref {
	p, err := join(tree.Root, path)
	return Ref{Query{client: c, path: p, err: err}}
}

// Update replaces the values at several paths, "rooms/r1/name" and so on, all at once
// or none of them. It is Ref("").Update.
func (c *Client) Update(ctx context.Context, values map[string]any) error {
	return c.Ref("").Update(ctx, values)
}

// ServerTime returns the time by the server's clock, as far as the client knows: it
// has heard it when it connected, and goes by its own clock until then and since.
func (c *Client) ServerTime() time.Time {
	now := c.options.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	return now.Add(c.offset)
}

// GoOffline ends the connection until GoOnline. Reads wait, writes are seen by
// this client alone, and the server writes what OnDisconnect left.
func (c *Client) GoOffline() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.offline {
		return
	}
	c.offline = true
	if c.link != nil {
		c.link.close()
		c.link = nil
		c.states.set(false)
	}
}

// GoOnline connects again after GoOffline. A client that waits before it tries
// to connect again does that at once.
func (c *Client) GoOnline() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offline = false
	c.states.tell()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
