package dogwood

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/dogwooddb/dogwood/sdk-go/internal/replica"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// A Change is a place that was written.
type Change struct {
	Value    Snapshot // the place, at that of the query or below, and what it has now
	Priority bool     // only the priority of the place has changed: Value is the new one
}

// Changes follows what happens from now on, without a view first. It returns
// once the server follows the view: whatever is written later is yielded, in order, until ctx ends
// or the loop is left. Of several places that are written at once there is a Change for each.
// Writes of this client are among them, once the server has carried them out. The last
// thing that it yields is an error, as for Values.
//
// A client that may have missed a change, because the connection was lost or the loop is slow,
// is sent the whole view instead: a Change of the place of the query itself.
//
// The server must know the extension; the error is ErrUnsupported if it does not.
func (q Query) Changes(ctx context.Context) (iter.Seq2[Change, error], error) {
	return followed(ctx, q, false, func(n news) Change {
		return Change{Snapshot{ref: Ref{Query{client: q.client, path: n.Path}}, node: n.Node}, n.Priority}
	})
}

// A Notice says which children of a place were written.
type Notice struct {
	Revision uint64   // of the last write that it is about: a Page of this or a later one has it
	Children []string // their keys, in the order in which they were written first
	All      bool     // any child may have changed, and Children is empty
}

// Notices is told which children of the query are written from now on, and no value. It is for
// programs that show a part of a large place and read that again. The server joins what happens within
// a fifth of a second. It returns, yields and ends as Changes does. A client that may have missed
// something is told that any child may have changed.
//
// The server must know the extension; the error is ErrUnsupported if it does not.
func (q Query) Notices(ctx context.Context) (iter.Seq2[Notice, error], error) {
	return followed(ctx, q, true, func(n news) Notice { return n.notice })
}

// followed begins to follow what happens in a query, and returns the loop over it.
func followed[T any](ctx context.Context, q Query, notices bool, as func(news) T) (iter.Seq2[T, error], error) {
	none := as(news{Change: replica.Change{Target: tree.Target{Path: q.path}}})
	f, release, err := q.watch(ctx, notices)
	if err != nil {
		err = q.failed("listen", err)
		return func(yield func(T, error) bool) { yield(none, err) }, err
	}
	return func(yield func(T, error) bool) {
		defer f.close()
		defer release()
		for {
			n, err := f.next(ctx)
			if err != nil {
				yield(none, q.failed("listen", err))
				return
			}
			if !yield(as(n), nil) {
				return
			}
		}
	}, nil
}

// news are what a loop over Changes or Notices yields next.
type news struct {
	replica.Change
	notice Notice
}

func (n news) size() int {
	size := len(n.Node.Text())
	for _, key := range n.notice.Children {
		size += len(key)
	}
	return size
}

// A changeFeed is what waits for one loop over Changes or Notices. If there is too much, the server is
// asked to stop, and to send the whole view, or a notice of all, once the loop has taken what there is.
// So a slow loop bounds what is kept for it.
//
// Lock order: the client's, then the feed's.
type changeFeed struct {
	of      Query
	notices bool          // of notices, not of changes
	ready   chan struct{} // has room for one
	begun   chan struct{} // closed when the server has answered for the first time

	// Guarded by the client's lock.
	tag   int64
	whole bool // something may have been missed: the next listen is for the whole view
	left  bool // the loop was left

	mu      sync.Mutex
	waiting []news
	bytes   int
	stopped bool  // the server is not to send more before the loop has taken all of it
	err     error // comes last
}

// watch begins to follow the changes of a query, until ctx ends, and waits until the server
// does. release ends the wait for ctx.
func (q Query) watch(ctx context.Context, notices bool) (f *changeFeed, release func() bool, err error) {
	if err := q.check(); err != nil {
		return nil, nil, err
	}
	f, err = newChangeFeed(q, notices)
	if err != nil {
		return nil, nil, err
	}
	release = context.AfterFunc(ctx, f.close)
	select {
	case <-f.begun:
		err = f.failure()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		err = q.client.late(ctx)
	}
	if err != nil {
		release()
		f.close()
	}
	return f, release, err
}

// newChangeFeed asks for the changes of a query.
func newChangeFeed(q Query, notices bool) (*changeFeed, error) {
	c := q.client
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	f := &changeFeed{of: q, notices: notices, ready: make(chan struct{}, 1), begun: make(chan struct{})}
	f.listen()
	return f, nil
}

// listen asks the server for the changes, under a new tag: what comes under an earlier one is not
// for the feed any more. The client's lock is held.
func (f *changeFeed) listen() {
	c := f.of.client
	delete(c.changing, f.tag)
	f.tag = c.replica.NewTag()
	c.changing[f.tag] = f
	if c.link == nil {
		return
	}
	c.lastID++
	c.asked[c.lastID] = asked{changes: f}
	feature := wire.FeatureChanges
	if f.notices {
		feature = wire.FeatureNotices
	}
	if !c.link.has(f.of.features(feature)) {
		answerSoon(c, c.lastID, statusUnsupported, "")
		return
	}
	c.post(c.lastID, f.request(c.lastID))
}

// request is what asks the server to begin. The client's lock is held.
func (f *changeFeed) request(id int64) []byte {
	path, query := f.of.path.String(), encodeQuery(f.of.query)
	switch {
	case f.notices:
		return wire.AppendNotices(nil, id, path, query, f.tag, f.whole)
	case f.whole:
		return wire.AppendListen(nil, id, path, query, f.tag, "")
	}
	return wire.AppendListenChanges(nil, id, path, query, f.tag)
}

// unlisten ends the listen. The client's lock is held.
func (f *changeFeed) unlisten() {
	c := f.of.client
	if c.changing[f.tag] != f {
		return
	}
	delete(c.changing, f.tag)
	if c.link != nil {
		c.lastID++
		c.link.send(wire.AppendUnlisten(nil, c.lastID, f.of.path.String(), encodeQuery(f.of.query), f.tag))
	}
}

// begin is the answer of the server: from here on, nothing is missed.
func (f *changeFeed) begin() {
	f.whole = true
	if !closed(f.begun) {
		close(f.begun)
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// end ends a feed with an error. The client's lock is held.
func (f *changeFeed) end(err error) {
	delete(f.of.client.changing, f.tag)
	f.mu.Lock()
	f.err = err
	f.mu.Unlock()
	if !closed(f.begun) {
		close(f.begun)
	}
	f.signal()
}

func (f *changeFeed) close() {
	c := f.of.client
	c.mu.Lock()
	defer c.mu.Unlock()
	f.left = true
	f.unlisten()
	f.mu.Lock()
	if f.err == nil {
		f.err = errLeft
	}
	f.mu.Unlock()
	f.signal()
}

var errLeft = errors.New("a loop over these changes has ended; follow them again")

func (f *changeFeed) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// add queues news. The client's lock is held.
func (f *changeFeed) add(more ...news) {
	c := f.of.client
	f.mu.Lock()
	size := 0
	for _, each := range more {
		size += each.size()
	}
	full := len(f.waiting) > 0 && (len(f.waiting)+len(more) > c.options.MaxQueue || f.bytes+size > maxFeedBytes)
	if f.stopped = full; !full {
		f.waiting = append(f.waiting, more...)
		f.bytes += size
	}
	f.mu.Unlock()
	if full {
		f.unlisten()
	}
	f.signal()
}

func (f *changeFeed) signal() {
	select {
	case f.ready <- struct{}{}:
	default:
	}
}

// next waits for what comes next. The end of the context comes first.
func (f *changeFeed) next(ctx context.Context) (news, error) {
	for {
		n, ok, again, err := f.pop()
		switch {
		case ctx.Err() != nil: // which leaves the feed
			return news{}, f.of.client.late(ctx)
		case ok || err != nil:
			return n, err
		case again:
			f.again()
		}
		select {
		case <-f.ready:
		case <-ctx.Done():
		}
	}
}

// pop returns the oldest news. again says that there are none, and that the server was
// stopped.
func (f *changeFeed) pop() (n news, ok, again bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.waiting) == 0 {
		again, f.stopped = f.stopped && f.err == nil, false
		return n, false, again, f.err
	}
	n = f.waiting[0]
	f.waiting[0] = news{}
	f.waiting = f.waiting[1:]
	f.bytes -= n.size()
	return n, true, false, nil
}

// again has the server send the whole view, or a notice of all, and what comes after it.
func (f *changeFeed) again() {
	c := f.of.client
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
		f.end(c.err)
	case !f.left:
		f.listen()
	}
}

// changesAt returns the feeds of a place and query, as a server names it.
func changesAt(c *Client, p tree.Path, query string) (list []*changeFeed) {
	for _, f := range c.changing {
		if f.of.path == p && sameQuery(encodeQuery(f.of.query), query) {
			list = append(list, f)
		}
	}
	return list
}
