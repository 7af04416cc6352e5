package embed

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// A transport connects clients of one caller to the database.
type transport struct {
	db     *dsync.Database
	caller dsync.Caller
	now    func() time.Time
	closed func(*transport) // is called when the client is closed
}

// Close is the end of the client.
func (t *transport) Close() error {
	t.closed(t)
	return nil
}

// Connect begins a session.
func (t *transport) Connect(context.Context, dogwood.Handshake) (dogwood.Conn, error) {
	c := &conn{wake: make(chan struct{}, 1)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.out = outbox.New(outbox.Realtime, 0, c.notify)
	id := rand.Text()
	c.session = t.db.NewSession(dsync.SessionOptions{ID: id, Out: c.out, SignIn: t.signIn})
	c.ready = [][]byte{wire.AppendHello(nil, t.now().UnixMilli(), "local", id, wire.Features...)}
	return c, nil
}

func (t *transport) signIn(context.Context, dsync.Credential) (dsync.Caller, dsync.SignInInfo, error) {
	return t.caller, dsync.SignInInfo{Data: `{}`}, nil
}

// Read reads a value, or some of its children.
func (t *transport) Read(ctx context.Context, r dogwood.ReadRequest) (io.ReadCloser, error) {
	if r.Readable {
		return t.readable(ctx, r)
	}
	text, err := t.read(ctx, r)
	if err != nil {
		return nil, refusal(err)
	}
	return io.NopCloser(strings.NewReader(text)), nil
}

func (t *transport) read(ctx context.Context, r dogwood.ReadRequest) (string, error) {
	p, err := tree.ParsePath(r.Path)
	if err != nil {
		return "", err
	}
	read := dsync.Read{Caller: t.caller, Path: p, Query: tree.Query{OrderBy: tree.ByKey}, OneShot: true}
	if r.Shallow {
		l, err := t.db.Shallow(ctx, read, r.After, r.Limit)
		return listing(l), err
	}
	if read.Plain = r.Limit == 0; !read.Plain {
		read.Query.Limit = r.Limit
		if r.After != "" {
			read.Query.Start = tree.Bound{Set: true, Value: tree.String(r.After), Exclusive: true}
		}
	}
	n, err := t.db.Get(ctx, read)
	return n.JSON(), err
}

// A page is one of the children that the caller may read. Where the next one begins is a key,
// which the program that embeds the database may know.
type page struct {
	io.Reader
	next string
}

func (p page) Close() error { return nil }

func (p page) Next() string { return p.next }

// readable reads a page of the children that the caller may read.
func (t *transport) readable(ctx context.Context, r dogwood.ReadRequest) (dogwood.ReadPage, error) {
	p, err := tree.ParsePath(r.Path)
	if err != nil {
		return nil, refusal(err)
	}
	read := dsync.Read{Caller: t.caller, Path: p, Query: tree.Query{OrderBy: tree.ByKey, Limit: r.Limit}, OneShot: true, KeysOnly: r.Shallow}
	got, err := dsync.Readable(ctx, t.db, read, r.Next)
	if err != nil {
		return nil, refusal(err)
	}
	n := got.Node
	if r.Shallow {
		var b tree.Builder
		for _, key := range got.Keys {
			b.Child(key, tree.Bool(true))
		}
		n = b.Node()
	}
	return page{strings.NewReader(n.JSON()), got.Next}, nil
}

// listing returns keys as REST does: each with true.
func listing(l dsync.Listing) string {
	if l.Keys.Len() == 0 {
		return l.Leaf.JSON()
	}
	var b tree.Builder
	for key := range l.Keys.All() {
		b.Child(key, tree.Bool(true))
	}
	return b.Node().JSON()
}

// refusal returns an error in the words of package dogwood.
func refusal(err error) error {
	for _, c := range []struct{ is, means error }{
		{fault.ErrDenied, dogwood.ErrPermissionDenied},
		{fault.ErrTooBig, dogwood.ErrTooBig},
		{fault.ErrFailed, dogwood.ErrUnavailable},
		{fault.ErrClosed, dogwood.ErrUnavailable},
	} {
		if errors.Is(err, c.is) {
			return c.means
		}
	}
	return err
}

// A conn is a session. The goroutine that sends a message also handles it, until the
// message has to wait for a commit. So a read of an embedded database needs no other
// goroutine.
type conn struct {
	session *dsync.Session
	out     *outbox.Outbox
	ctx     context.Context
	cancel  context.CancelFunc
	wake    chan struct{} // has room for one

	ready [][]byte // for Receive alone

	mu     sync.Mutex // held while the session is used
	closed bool
}

// takeBytes is about how much is taken from the outbox at a time.
const takeBytes = 64 << 10

func (c *conn) notify() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Send lets the session handle a message.
func (c *conn) Send(msg []byte) error {
	m, err := wire.ParseMessage(string(msg))
	if err != nil {
		return err
	}
	if m.Control != nil {
		if m.Control.Type == wire.ControlPing {
			c.out.PushFrame(wire.AppendControl(nil, wire.ControlPong, "null"))
		}
		return nil
	}
	if c.out.Wait(c.ctx) != nil { // the client has to take its replies
		return io.ErrClosedPipe
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return io.ErrClosedPipe
	}
	c.session.Handle(c.ctx, m.Request)
	return nil
}

// Receive returns what the session says. After Close it is silent: an answer that was
// being made then could be that its work was given up.
func (c *conn) Receive() ([]byte, error) {
	for len(c.ready) == 0 {
		c.ready = c.out.Take(takeBytes)
		if c.ctx.Err() != nil {
			return nil, io.EOF
		}
		if len(c.ready) > 0 {
			break
		}
		if err := c.out.Closing(); err != nil {
			return nil, err
		}
		select {
		case <-c.wake:
		case <-c.ctx.Done():
			return nil, io.EOF
		}
	}
	msg := c.ready[0]
	c.ready = c.ready[1:]
	return bytes.Clone(msg), nil
}

// Close ends the session, which carries out what it left for that.
func (c *conn) Close() error {
	c.cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		c.session.Close()
		c.out.Close()
	}
	return nil
}
