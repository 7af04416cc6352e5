package sync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/access"
	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/trace"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Get returns the node at a path, or its children inside a query's window. The
// error is ErrDenied, a *NoIndexError, ErrTooBig, ErrLong or that of the context.
//
// With r.Brief it fails with ErrLong as soon as it turns out to be long. The caller then
// repeats it with r.Again in the turns of large reads. Most reads are small, and so never
// wait for large ones; a large one is begun twice, which costs about a millisecond.
func (d *Database) Get(ctx context.Context, r Read) (n tree.Node, err error) {
	err = d.read(ctx, r, func(tx *store.Tx) (int, error) {
		n, err = tx.Window(r.Path, r.Query, d.mostText(r))
		return len(n.Text()), err
	})
	return n, err
}

// mostText returns how long the text may be that a read returns.
func (d *core) mostText(r Read) int64 {
	if r.Brief {
		return min(d.options.MaxRead, store.BriefBytes)
	}
	return d.options.MaxRead
}

// Priority returns the priority of the node at a path.
func (d *Database) Priority(ctx context.Context, r Read) (n tree.Node, err error) {
	r.Childless = true
	err = d.read(ctx, r, func(tx *store.Tx) (int, error) {
		n, err = tx.Priority(r.Path)
		return len(n.Text()), err
	})
	return n, err
}

// Shallow lists the keys below a path in key order: those behind after ("" for
// all), at most limit (0 for all).
func (d *Database) Shallow(ctx context.Context, r Read, after string, limit int) (l Listing, err error) {
	r.KeysOnly = true
	err = d.read(ctx, r, func(tx *store.Tx) (int, error) {
		l, err = tx.Shallow(r.Path, after, limit)
		return listingBytes(l), err
	})
	return l, err
}

// listingBytes returns about how long a listing is.
func listingBytes(l Listing) int { return l.Keys.Size() + len(l.Leaf.Text()) }

// read is view, and tells of the read.
func (d *Database) read(ctx context.Context, r Read, f func(*store.Tx) (bytes int, err error)) error {
	began := d.watchers.Begin()
	bytes, err := d.view(ctx, r, f)
	d.reportRead(r, began, bytes, err)
	return err
}

// reportRead tells of a read that began at a time that Begin returned.
func (d *core) reportRead(r Read, began time.Time, bytes int, err error) {
	if began.IsZero() || errors.Is(err, fault.ErrLong) {
		return
	}
	op := trace.Operation{Name: trace.OpRESTRead, Path: r.Path, Took: time.Since(began), Bytes: bytes, Denied: errors.Is(err, fault.ErrDenied), Failed: err != nil, Began: began, Query: r.Query}
	if r.Realtime {
		op.Name = trace.OpRead
	}
	op.Unindexed = !d.access.Declared(d.rules.Load(), r.Path, r.Query)
	d.watchers.Tell(op)
}

// authorizeRead allows or refuses a read in the budget of the task.
func (b *batch) authorizeRead(r Read) error {
	return b.db.access.Read(b.Ctx, access.State{Rules: b.Rules, Data: b.Tx, Budget: &b.budget}, r)
}

// Listen starts to follow a view for an event stream. last is the id of the last
// event that the client has of the same view, "" for none. The first event is what
// has changed since that, or the whole view; errors are as for Get.
func (d *Database) Listen(ctx context.Context, r Read, last string, out *outbox.Outbox) (*audience.Listener, error) {
	return d.audience.Stream(ctx, r, last, out)
}

// keepCountFrom is from how many children on, counted one by one, their number is
// worth to be kept.
const keepCountFrom = 1000

// Count returns how many children a read would show. It costs no more than a row
// without a range, and the keys or index entries in the range with one. The query
// must have no limit. Errors are those of Get.
func (d *Database) Count(ctx context.Context, r Read) (n int, err error) {
	walked := 0
	r.Childless = true
	err = d.read(ctx, r, func(tx *store.Tx) (int, error) {
		before := tx.Stats()
		n, err = tx.Count(r.Path, r.Query)
		walked = tx.Stats().Visited - before.Visited
		return 0, err
	})
	if err == nil && walked >= keepCountFrom && r.Query.IsAll() {
		// In a file of an older version it is not kept. The caller has the answer already.
		if err := d.store.KeepCount(r.Path, ctx.Err); err != nil && ctx.Err() == nil && !d.closed.Load() {
			d.log.Warn("a number of children could not be kept", "database", d.store.String(), "path", r.Path, "err", err)
		}
	}
	return n, err
}

// Bounds of a page of children.
const (
	DefaultPage = 200
	MaxPage     = 1000
)

// Children describes the children in a query's window, of at most MaxPage, from its end to
// its start if descending. A caller that may read the node only through a query is not told
// how many children there are, nor whether there are more. Errors are those of Get.
func Children(ctx context.Context, d *Database, r Read, descending bool) (page tree.Page, err error) {
	if r.Query.Limit == 0 {
		r.Query.Limit = DefaultPage
	}
	r.KeysOnly, r.Plain = true, false
	err = d.read(ctx, r, func(tx *store.Tx) (int, error) {
		if page, err = store.ReadPage(tx, r.Path, r.Query); err != nil {
			return 0, err
		}
		page.Whole, err = d.access.MayRead(ctx, access.State{Rules: d.rules.Load(), Data: tx}, access.Whole(r.Caller, r.Path, !r.Realtime))
		return page.Size(), err
	})
	if descending {
		slices.Reverse(page.Children)
	}
	return page, err
}

// Bounds of how many children are looked at for a page of those that a caller may read.
const (
	looksForOne = 20 // for each that the page may have
	looksAtMost = 1000
)

// ErrRange is the error of a range in a listing of those children that the caller may read, where
// the node as a whole may not be read: it would tell which ranges have other children.
var ErrRange = fmt.Errorf("%w: a range of children needs the permission to read the node", fault.ErrQuery)

// Readable returns those of the children in a query's window that the caller may read, where the
// node as a whole may not be read (REST §19.5). They are those behind the child after, "" for all.
// The query orders by key and has a limit of at most MaxPage. Each child is decided like a read of
// its own, 20 times as many as the limit and 1,000 at most, and no more than rules may look at for
// one operation. That nothing may be read is no error; else errors are ErrRange and those of Get.
// No observer is told of these decisions.
func Readable(ctx context.Context, d *Database, r Read, after string) (page access.Readable, err error) {
	began := d.watchers.Begin()
	bytes, err := d.viewUndecided(ctx, r, func(tx *store.Tx) (int, error) {
		window, whole, err := d.readable(ctx, tx, r, after, &page)
		if err != nil || r.KeysOnly {
			return 0, err
		}
		tx.Hold = r.Hold // not before: how much the rules read is not for the caller to know
		page.Node, err = tx.Children(r.Path, window, d.options.MaxRead)
		if !whole {
			page.Node = page.Node.WithPriority(tree.Empty)
		}
		return len(page.Node.Text()), err
	})
	d.reportRead(r, began, bytes, err)
	return page, err
}

// readable adds the keys of a page, and returns the entries of its children. whole is that the
// caller may read the node itself. If not, nothing here but how far the page goes depends on
// children that the caller may not read.
func (d *core) readable(ctx context.Context, tx *store.Tx, r Read, after string, page *access.Readable) (window []tree.Entry, whole bool, err error) {
	s := access.State{Rules: d.rules.Load(), Data: tx, Quiet: true}
	ranged := r.Query.Start.Set || r.Query.End.Set
	if after != "" {
		r.Query.Start = tree.Bound{Set: true, Value: tree.String(after), KeyRank: tree.AfterKeys, Exclusive: true}
	}
	of, looks := Read{Caller: r.Caller, Path: r.Path, Query: r.Query, KeysOnly: true}, r.Query
	switch err = d.access.Read(ctx, s, r); {
	case err == nil:
		whole = true
		err = access.WithinLimits(s.Rules, tx, of)
	case errors.Is(err, fault.ErrDenied) && ranged:
		err = ErrRange
	case errors.Is(err, fault.ErrDenied):
		looks.Limit, err = min(looksForOne*r.Query.Limit, looksAtMost), nil
	}
	if err != nil {
		return nil, whole, err
	}
	most := looks.Limit
	looks.Limit++
	entries, err := tx.Query(r.Path, looks)
	if err != nil {
		return nil, whole, err
	}
	s.Budget = new(rules.Budget) // of all children of the page
	for i, e := range entries {
		if i == most || len(window) == r.Query.Limit {
			page.Next = entries[i-1].Key
			break
		}
		shown, err := d.shows(ctx, s, r, e.Key, whole)
		if err != nil {
			return nil, whole, err
		}
		if s.Budget.Over() {
			// The next page has the whole of it for this child. If that is not enough, the
			// rule is false as for any other read.
			page.Next = entries[max(i-1, 0)].Key
			break
		}
		if shown {
			window, page.Keys = append(window, e), append(page.Keys, e.Key)
		}
	}
	if whole {
		return window, whole, nil
	}
	if len(window) == r.Query.Limit { // also if there are no others behind it, hidden ones
		page.Next = window[len(window)-1].Key
	}
	return window, whole, access.WithinLimits(s.Rules, access.Shown{N: len(window)}, of)
}

// shows reports whether a page has the child of a key. whole is that the caller may read the node.
func (d *core) shows(ctx context.Context, s access.State, r Read, key string, whole bool) (shown bool, err error) {
	child := r.Path.Child(key)
	if shown = whole; !shown {
		shown, err = d.access.MayRead(ctx, s, access.Whole(r.Caller, child, !r.Realtime))
	}
	if shown && !r.KeysOnly {
		err = access.WithinLimits(s.Rules, s.Data.(*store.Tx), Read{Caller: r.Caller, Path: child})
	}
	return shown, err
}
