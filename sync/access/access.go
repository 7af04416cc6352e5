// Package access decides about operations: it asks the rules about the operations of a
// database. [Access.Read] is the only door for reads of any kind, also those that a client
// did not ask for; [Access.Authorize] is beneath it, and the door for writes. An Access has
// no lock: its methods may be called by several goroutines at once.
package access

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree"
)

// An Observer watches what the rules decide. Its methods are called by several
// goroutines at once, for writes by the committer: they must not block, and not
// call the database. Operations of administrators, to whom no rules apply, are
// not seen.
type Observer interface {
	// Wants is told each decision, and reports whether Decided is to be called
	// with how it came about. That costs several times what deciding does.
	Wants(rs *rules.Ruleset, q *rules.Request, d rules.Decision) bool

	// Decided is told how a request was decided. Its result for a denied one
	// is what the client may be told about the reason, "" for nothing.
	Decided(rs *rules.Ruleset, q *rules.Request, t *rules.Trace) (detail string)
}

// An Access asks the rules about the operations of a database.
type Access struct {
	Now       func() time.Time
	Observer  Observer                     // of decisions of the rules; nil: none
	Unindexed func(*fault.NoIndexError)    // of queries that rules would refuse; nil: none
	Orders    OrdersFunc                   // of the data document
	TellRules bool                         // callers are told which rule decided
	Failed    func(p tree.Path, err error) // a decision could not be explained

	Decisions, Denied atomic.Uint64
}

// An OrdersFunc reports whether something other than the rules has the children of the node at p
// indexed in an order.
type OrdersFunc func(p tree.Path, order string) bool

// A State is what a decision is made of.
type State struct {
	Rules  *rules.Ruleset
	Data   tree.Reader
	Reads  *rules.Reads  // notes what the decision depends on, unless the caller is an administrator; nil: nothing
	Budget *rules.Budget // of all decisions of one task; nil: of this one
	Quiet  bool          // the caller did not ask for the decision: no observer is told
}

// Read allows or refuses a read.
func (a *Access) Read(ctx context.Context, s State, r Read) error {
	if r.Caller.Admin && !r.OneShot {
		return nil
	}
	q := &rules.Request{
		Op:     rules.OpRead,
		Path:   r.Path,
		Query:  r.Query.Unfiltered(),
		Plain:  r.Plain,
		Data:   s.Data,
		Now:    a.Now(),
		Reads:  s.Reads,
		Budget: s.Budget,
	}
	authorize := a.Authorize
	if s.Quiet {
		authorize = authorizeQuietly
	}
	if err := authorize(ctx, s.Rules, r.Caller, q); err != nil {
		return err
	}
	return a.RequireIndex(s.Rules, r)
}

// authorizeQuietly is Authorize for what the caller did not ask for.
func authorizeQuietly(ctx context.Context, rs *rules.Ruleset, c Caller, q *rules.Request) error {
	if c.Admin {
		return nil
	}
	q.Auth, q.Origin = c.Auth, c.Origin
	d, err := rs.Check(ctx, q)
	if err == nil && !d.Allow {
		err = fault.ErrDenied
	}
	return err
}

// MayWrite decides as Authorize does, for what the caller is not told: no observer sees it.
func (a *Access) MayWrite(ctx context.Context, rs *rules.Ruleset, c Caller, q *rules.Request) (bool, error) {
	err := authorizeQuietly(ctx, rs, c, q)
	if errors.Is(err, fault.ErrDenied) {
		return false, nil
	}
	return err == nil, err
}

// MayRead is Read for what the caller did not ask for.
func (a *Access) MayRead(ctx context.Context, s State, r Read) (bool, error) {
	s.Quiet = true
	err := a.Read(ctx, s, r)
	if errors.Is(err, fault.ErrDenied) {
		return false, nil
	}
	return err == nil, err
}

// Authorize is the one place where an operation that a caller asked for is allowed or refused, and
// where observers and explanations see that. Decisions that the server needs for itself go through
// authorizeQuietly. Data is the state before the operation.
func (a *Access) Authorize(ctx context.Context, rs *rules.Ruleset, c Caller, q *rules.Request) error {
	if c.Admin {
		return nil
	}
	q.Auth, q.Origin = c.Auth, c.Origin
	if c.verdict != nil {
		q.Asked = &c.verdict.Asked
	}
	a.Decisions.Add(1)
	var spent rules.Budget // before this decision
	if q.Budget != nil {
		spent = *q.Budget
	}
	decision, err := rs.Check(ctx, q)
	if err != nil {
		return err
	}
	if c.verdict != nil {
		c.verdict.By = decision.Rule
	}
	detail := a.observe(ctx, rs, c, q, decision, spent)
	if !decision.Allow {
		a.Denied.Add(1)
		if name := q.Of(decision).FollowsFrom(decision.Target); name != "" {
			detail = fmt.Sprintf("%s refuses what follows by the definition %q", decision.Rule, name)
		}
		return fault.Denied(decision.Rule, detail)
	}
	return nil
}

// MayKnowAll reports whether a caller may be told what depends on places that the caller
// may not read.
func (a *Access) MayKnowAll(c Caller) bool { return c.Admin || a.TellRules }

// RequireIndex refuses a query without a declared index, for all callers (REST
// §5.3), if the read needs one. Without a rules document there is no place to declare one:
// the query is answered, and Unindexed is told that it would be refused elsewhere.
func (a *Access) RequireIndex(rs *rules.Ruleset, r Read) error {
	if !r.OneShot || a.Declared(rs, r.Path, r.Query) {
		return nil
	}
	missing := &fault.NoIndexError{Path: r.Path, Order: r.Query.Order()}
	if rs.Enforced() {
		return missing
	}
	if a.Unindexed != nil {
		a.Unindexed(missing)
	}
	return nil
}

// Declared reports whether the rules or the data document declare an index for the query, or
// it needs none.
func (a *Access) Declared(r *rules.Ruleset, p tree.Path, q tree.Query) bool {
	if !q.NeedsIndex() {
		return true
	}
	for _, ix := range r.Indexes(p) {
		if ix.Order == q.Order() {
			return true
		}
	}
	return a.Orders != nil && a.Orders(p, q.Order())
}

// WithinLimits refuses a read that would show more children of a node than the rules
// allow, at its path or below it. Administrators may read everything.
func WithinLimits(rs *rules.Ruleset, data rules.Children, r Read) error {
	if r.Caller.Admin || r.Childless {
		return nil
	}
	x, err := rs.Excess(data, r.Path, r.Query, r.KeysOnly)
	if x != nil {
		return &fault.UnboundedError{Excess: x}
	}
	return err
}

// Shown is a node for WithinLimits with so many children, whatever else it has.
type Shown struct {
	rules.Children
	N int
}

// Count returns their number.
func (s Shown) Count(tree.Path, tree.Query) (int, error) { return s.N, nil }

// maxTraced is how many targets a write may have for its caller's Trace to be
// called: explaining it holds up the writes of others.
const maxTraced = 100

// observe tells the observer, and the caller's Trace, about a decision and returns
// what the observer has to tell the client. spent is what of the request's budget was
// spent before. Whatever goes wrong with that does not change the decision.
func (a *Access) observe(ctx context.Context, rs *rules.Ruleset, c Caller, q *rules.Request, decision rules.Decision, spent rules.Budget) (detail string) {
	o, traced := a.Observer, c.Trace != nil && q.Paths() <= maxTraced
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
		a.Failed(q.Path, err)
	}
	return detail
}
