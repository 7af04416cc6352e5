package dogwood

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/sdk-go/internal/replica"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// How often a transaction is tried, and how long it waits between tries when
// others are faster.
const (
	maxTries     = 25
	hastyTries   = 3 // without a wait
	maxContended = 100 * time.Millisecond
)

// Transaction replaces the value with the result of update. No change of another
// client is lost: if the value has changed meanwhile, update is called again with the
// new value. After 25 times the error is ErrMaxRetries. An error of
// update ends the transaction and is returned as it is.
//
// Transaction returns the value that it has set. The priority stays if update
// returns none. Transactions of one client that overlap run one after the other;
// update must not begin one. If the connection is lost before the answer, and the
// server is not one of Dogwood, the error is ErrDisconnected and the transaction may
// have taken effect.
func (r Ref) Transaction(ctx context.Context, update func(Snapshot) (any, error)) (Snapshot, error) {
	n, err := r.transact(ctx, update)
	return r.snapshot(n), err
}

func (r Ref) transact(ctx context.Context, update func(Snapshot) (any, error)) (tree.Node, error) {
	fail := func(err error) (tree.Node, error) { return tree.Empty, r.failed("transaction", err) }
	if err := r.check(); err != nil {
		return fail(err)
	}
	turn, err := r.client.turn(ctx, r.path)
	if err != nil {
		return fail(err)
	}
	defer turn.end()
	f, v, stop, err := r.client.follow(r.path, tree.Query{})
	if err != nil {
		return fail(err)
	}
	defer stop()
	for try := range maxTries {
		if err := contend(ctx, try); err != nil {
			return fail(err)
		}
		n, err := r.client.complete(ctx, f, v)
		if err != nil {
			return fail(err)
		}
		value, err := update(r.snapshot(n))
		if err != nil {
			return n, err
		}
		d, err := keepPriority(r.path, value, n)
		if err != nil {
			return fail(err)
		}
		switch n, err := r.client.replace(ctx, v, n, d); {
		case err == nil:
			return n, nil
		case !errors.Is(err, ErrStale):
			return fail(err)
		}
	}
	return fail(ErrMaxRetries)
}

// contend waits before a try, the longer the more there were.
func contend(ctx context.Context, try int) error {
	if try < hastyTries {
		return ctx.Err()
	}
	t := time.NewTimer(rand.N(min(time.Millisecond<<try, maxContended)))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// complete waits until all that a view shows is known, and returns it.
func (c *Client) complete(ctx context.Context, f *feed, v *replica.View) (tree.Node, error) {
	for {
		c.mu.Lock()
		s := v.State()
		c.mu.Unlock()
		if s.Complete {
			return s.Node, nil
		}
		if _, err := c.next(ctx, f); err != nil {
			return tree.Empty, err
		}
	}
}

// keepPriority reads what a transaction sets. It has the priority of what it
// replaces unless it has one of its own.
func keepPriority(p tree.Path, value any, was tree.Node) (tree.Draft, error) {
	w, err := encode(tree.Target{Path: p}, value)
	if err != nil {
		return tree.Draft{}, err
	}
	return w.Value.OrPriority(was.Priority()), nil
}

// replace replaces a value that is known, and returns what there is then. The
// error is ErrStale if the value has changed by now.
func (c *Client) replace(ctx context.Context, v *replica.View, n tree.Node, d tree.Draft) (tree.Node, error) {
	r := putIf("transaction", v.Path, d, n.Hash())
	r.isWrite = true
	var shown *replica.Write
	var after tree.Node
	var known bool
	r.settle = func(_ wire.ServerMessage, err error) {
		if err != nil {
			c.replica.Denied(shown)
			return
		}
		c.replica.Acknowledged(shown)
		if after, known = d.Node(); !known { // it had server values
			after = v.State().Node
		}
	}
	err := c.submit(ctx, r, func(now time.Time) error {
		if v.State().Node != n {
			return ErrStale
		}
		writes, err := c.guess(tree.Update{{Target: tree.Target{Path: v.Path}, Value: d}}, now)
		if err == nil {
			shown = c.replica.Put(writes)
		}
		return err
	})
	return after, err
}

// A turn is a transaction's: those that overlap wait for it. Without it, two of
// one client that overlap would make each other start again, and neither might
// end.
type turn struct {
	client *Client
	path   tree.Path
	done   chan struct{}
}

// turn waits for the transactions that overlap with p and came before.
func (c *Client) turn(ctx context.Context, p tree.Path) (*turn, error) {
	t := &turn{client: c, path: p, done: make(chan struct{})}
	c.mu.Lock()
	var before []*turn
	for _, other := range c.turns {
		if other.path.Contains(p) || p.Contains(other.path) {
			before = append(before, other)
		}
	}
	c.turns = append(c.turns, t)
	c.mu.Unlock()
	for _, other := range before {
		select {
		case <-other.done:
		case <-ctx.Done():
			t.end()
			return nil, ctx.Err()
		case <-c.ctx.Done():
			t.end()
			return nil, c.cause()
		}
	}
	return t, nil
}

func (t *turn) end() {
	t.client.mu.Lock()
	defer t.client.mu.Unlock()
	t.client.turns = slices.DeleteFunc(t.client.turns, func(other *turn) bool { return other == t })
	close(t.done)
}
