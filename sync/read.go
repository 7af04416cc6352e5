package sync

import (
	"context"
	"errors"
	"fmt"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A Read says what is to be read.
type Read struct {
	Caller  Caller
	Path    tree.Path
	Query   tree.Query // the zero Query is everything
	Plain   bool       // the client gave no query parameters
	OneShot bool       // an unindexed query is refused, as REST and get do
	Quota   *Quota     // that a listen counts in; nil: none

	// Hold, if not nil, is asked before a read takes much memory, with all that it takes
	// so far and then. An error ends the read. A listen does not use it.
	Hold func(total int64) error

	realtime  bool // it came over the realtime protocol
	keysOnly  bool // nothing below the children is answered
	childless bool // no children are answered
}

// Get returns the node at a path, or its children inside a query's window. The
// error is ErrDenied, a *NoIndexError, ErrTooBig or that of the context.
func (d *Database) Get(ctx context.Context, r Read) (n tree.Node, err error) {
	began := d.operations.start()
	err = d.view(ctx, r, func(tx *store.Tx) error {
		n, err = tx.Window(r.Path, r.Query, d.options.MaxRead)
		return err
	})
	d.reportRead(r, began, len(n.Text()), err)
	return n, err
}

// Priority returns the priority of the node at a path.
func (d *Database) Priority(ctx context.Context, r Read) (n tree.Node, err error) {
	r.childless = true
	began := d.operations.start()
	err = d.view(ctx, r, func(tx *store.Tx) error {
		n, err = tx.Priority(r.Path)
		return err
	})
	d.reportRead(r, began, len(n.Text()), err)
	return n, err
}

// A Listing is what a shallow read shows: a leaf's value, or an object's keys.
// It has neither if there is no node.
type Listing = store.Listing

// A KeyList is the keys of a listing.
type KeyList = store.KeyList

// Shallow lists the keys below a path in key order: those behind after ("" for
// all), at most limit (0 for all).
func (d *Database) Shallow(ctx context.Context, r Read, after string, limit int) (l Listing, err error) {
	r.keysOnly = true
	began := d.operations.start()
	err = d.view(ctx, r, func(tx *store.Tx) error {
		l, err = tx.Shallow(r.Path, after, limit)
		return err
	})
	d.reportRead(r, began, listingBytes(l), err)
	return l, err
}

// view runs f on the current state if the caller may read what r says.
func (d *Database) view(ctx context.Context, r Read, f func(*store.Tx) error) error {
	d.stats.reads.Add(1)
	err := d.snapshot(func(tx *store.Tx) error {
		tx.Interrupt = ctx.Err
		if err := d.authorizeRead(ctx, d.rules.Load(), tx, r, nil); err != nil {
			return err
		}
		if err := withinLimits(d.rules.Load(), tx, r); err != nil {
			return err
		}
		tx.Hold = r.Hold // not before: how much the rules read is not for the caller to know
		return f(tx)
	})
	if errors.Is(err, store.ErrTooBig) {
		return fault.ErrTooBig
	}
	return err
}

// An access asks the rules about the operations of a database.
type access struct{ db *Database }

// authorize is the one place where an operation is allowed or refused. Data is
// the state before it.
func (a *access) authorize(ctx context.Context, rs *rules.Ruleset, c Caller, q *rules.Request) error {
	if c.Admin {
		return nil
	}
	q.Auth, q.Origin = c.Auth, c.Origin
	if c.verdict != nil {
		q.Asked = &c.verdict.asked
	}
	a.db.stats.decisions.Add(1)
	var spent rules.Budget // before this decision
	if q.Budget != nil {
		spent = *q.Budget
	}
	decision, err := rs.Check(ctx, q)
	if err != nil {
		return err
	}
	if c.verdict != nil {
		c.verdict.by = decision.Rule
	}
	detail := a.observe(ctx, rs, c, q, decision, spent)
	if !decision.Allow {
		a.db.stats.denied.Add(1)
		return fault.Denied(decision.Rule, detail)
	}
	return nil
}

// authorizeRead allows or refuses a read without a query, in the budget of the task.
func (b *batch) authorizeRead(c Caller, p tree.Path) error {
	return b.db.authorize(b.ctx, b.rules, c, &rules.Request{
		Op:     rules.OpRead,
		Path:   p,
		Plain:  true,
		Data:   b.tx,
		Now:    b.db.options.Now(),
		Budget: &b.budget,
	})
}

// authorizeRead allows or refuses a read. What that depends on goes to reads,
// unless it is nil or the caller is an administrator.
func (a *access) authorizeRead(ctx context.Context, rs *rules.Ruleset, tx *store.Tx, r Read, reads *rules.Reads) error {
	err := a.authorize(ctx, rs, r.Caller, &rules.Request{
		Op:    rules.OpRead,
		Path:  r.Path,
		Query: r.Query,
		Plain: r.Plain,
		Data:  tx,
		Now:   a.db.options.Now(),
		Reads: reads,
	})
	if err != nil || !r.OneShot {
		return err
	}
	return a.requireIndex(rs, r.Path, r.Query)
}

// requireIndex refuses a query without a declared index, whoever asks (REST
// §5.3). Without a rules document there is no place to declare one: the query is
// answered, and Options.Unindexed is told that it would be refused elsewhere.
func (a *access) requireIndex(r *rules.Ruleset, p tree.Path, q tree.Query) error {
	if declared(r, p, q) {
		return nil
	}
	missing := &fault.NoIndexError{Path: p, Order: q.Order()}
	if r.Enforced() {
		return missing
	}
	if a.db.options.Unindexed != nil {
		a.db.options.Unindexed(missing)
	}
	return nil
}

// declared reports whether the rules declare an index for the query, or it
// needs none.
func declared(r *rules.Ruleset, p tree.Path, q tree.Query) bool {
	if !q.NeedsIndex() {
		return true
	}
	for _, ix := range r.Indexes(p) {
		if ix.Order == q.Order() {
			return true
		}
	}
	return false
}

// An Observer watches what the rules decide. Its methods are called by several
// goroutines at once, for writes by the committer: they must not block, and not
// call the Database. Operations of administrators, to whom no rules apply, are
// not seen.
type Observer interface {
	// Wants is told each decision, and reports whether Decided is to be called
	// with how it came about. That costs several times what deciding does.
	Wants(rs *rules.Ruleset, q *rules.Request, d rules.Decision) bool

	// Decided is told how a request was decided. What it returns for a denied one
	// is what the client may be told about the reason, "" for nothing.
	Decided(rs *rules.Ruleset, q *rules.Request, t *rules.Trace) (detail string)
}

// maxTraced is how many targets a write may have for its caller's Trace to be
// called: explaining it holds up the writes of others.
const maxTraced = 100

// observe tells the observer, and the caller's Trace, about a decision and returns
// what the observer has to tell the client. spent is what of the request's budget was
// spent before. Whatever goes wrong with that does not change the decision.
func (a *access) observe(ctx context.Context, rs *rules.Ruleset, c Caller, q *rules.Request, decision rules.Decision, spent rules.Budget) (detail string) {
	o, traced := a.db.options.Observer, c.Trace != nil && len(q.Writes) <= maxTraced
	if o == nil && !traced {
		return ""
	}
	err := fault.Guard(func() error {
		wanted := o != nil && o.Wants(rs, q, decision)
		if !wanted && !traced {
			return nil
		}
		again := *q
		again.Reads = nil // noted when it was decided
		budget := spent   // not &spent: most decisions end above, and allocate nothing
		again.Budget = &budget
		t, err := rs.Explain(ctx, &again)
		if err != nil {
			return err
		}
		if traced {
			c.Trace(&again, t)
		}
		if wanted {
			detail = o.Decided(rs, &again, t)
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		a.db.log.Error("a decision could not be explained", "database", a.db.store.String(), "path", q.Path, "err", err)
	}
	return detail
}

// keepCountFrom is from how many children on, counted one by one, their number is
// worth to be kept.
const keepCountFrom = 1000

// Count returns how many children a read would show. It costs no more than a row
// without a range, and the keys or index entries in the range with one. The query
// must have no limit. Errors are those of Get.
func (d *Database) Count(ctx context.Context, r Read) (n int, err error) {
	began := d.operations.start()
	walked := 0
	r.childless = true
	err = d.view(ctx, r, func(tx *store.Tx) error {
		before := tx.Stats()
		n, err = tx.Count(r.Path, r.Query)
		walked = tx.Stats().Visited - before.Visited
		return err
	})
	d.reportRead(r, began, 0, err)
	if err == nil && walked >= keepCountFrom && r.Query.IsAll() {
		// In a file of an older version it is not kept. The caller has the answer already.
		if err := d.store.KeepCount(r.Path, ctx.Err); err != nil && ctx.Err() == nil && !d.closed.Load() {
			d.log.Warn("a number of children could not be kept", "database", d.store.String(), "path", r.Path, "err", err)
		}
	}
	return n, err
}

// errCountLimit is the error of a count that has a limit.
var errCountLimit = fmt.Errorf("%w: a count has no limit", fault.ErrQuery)

// count answers with the number of children that a get would show. Like that it sees
// the earlier writes of its session.
func (s *Session) count(ctx context.Context, r wire.Request) error {
	v, err := readView(r)
	if err == nil && v.query.Limit > 0 {
		err = errCountLimit
	}
	if err != nil {
		return err
	}
	s.out.PushLater(v.size(), func() [][]byte {
		read := v.read(s.as())
		read.OneShot = true
		n, err := s.db.Count(ctx, read)
		if err != nil {
			return [][]byte{s.failure(v.id, err)}
		}
		return [][]byte{wire.AppendOK(nil, v.id, fmt.Sprintf(`{"n":%d}`, n))}
	})
	return nil
}
