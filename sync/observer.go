package sync

import (
	"context"

	"github.com/dogwooddb/dogwood/rules"
)

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

// A DeniedError is an ErrDenied that tells the client the reason.
type DeniedError struct {
	Detail string
	Rule   string // that decided, such as "/rooms/$room/.write"; "" for none
}

// Error returns the text of ErrDenied and the reason.
func (e *DeniedError) Error() string { return ErrDenied.Error() + ": " + e.Detail }

// Unwrap returns ErrDenied.
func (e *DeniedError) Unwrap() error { return ErrDenied }

// denied returns the error of an operation that a rule denied.
func denied(rule, detail string) error {
	if detail == "" {
		return ErrDenied
	}
	return &DeniedError{Detail: detail, Rule: rule}
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
	err := guarded(func() error {
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
