package rules

import (
	"context"
)

// Check decides a request. A read is allowed if a .read on the way to its path
// is true. A write is allowed if each of its targets has a .write that is true,
// at the target or above it, and no .validate fails. Rules below cannot take back
// what a rule above has granted. A rule whose evaluation fails is not true. A read
// that is allowed is denied nevertheless if q.Children has more than a .limit allows, and a write
// if what was sent is not allowed in q.Unkept.
// The error is one of reading q.Data or q.Children, or of ctx.
//
// Every operation runs Check. Check itself does not allocate; an expression may.
func (r *Ruleset) Check(ctx context.Context, q *Request) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{}, err
	}
	decision, err := r.decide(ctx, q)
	if err == nil && decision.Allow && q.Unkept != nil {
		decision, err = r.decide(ctx, q.All())
		decision.Unkept = true
	}
	if err != nil || q.Children == nil {
		return decision, err
	}
	t := Trace{Decision: decision}
	err = r.bound(q, &t)
	return t.Decision, err
}

// decide decides a request by its Writes.
func (r *Ruleset) decide(ctx context.Context, q *Request) (Decision, error) {
	d := newDecider(ctx, q)
	defer d.end()
	decision, err := d.decide(r.root)
	if q.Asked != nil {
		*q.Asked = d.asked
	}
	return decision, err
}

// Explain decides a request as Check does and tells how. It does not end at the
// rule that decides: it asks all rules that concern the request, except those of the
// targets of a write that come after a target that is denied. Each rule is evaluated
// a second time by a program that notes the value of every part. So Explain is
// slower than Check; it is for tools.
func (r *Ruleset) Explain(ctx context.Context, q *Request) (*Trace, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	trace, err := r.explain(ctx, q)
	if err == nil && trace.Allow && q.Unkept != nil {
		before := trace.Steps
		if trace, err = r.explain(ctx, q.All()); err == nil {
			trace.Unkept = true
		}
		if err == nil && trace.Allow { // for those that count which rules were asked
			trace.Steps = append(trace.Steps, before...)
		}
	}
	if err != nil {
		return nil, err
	}
	return trace, r.bound(q, trace)
}

// explain is decide with all that it asks.
func (r *Ruleset) explain(ctx context.Context, q *Request) (*Trace, error) {
	t := new(tracer)
	q.begin(&t.e)
	t.e.NotePaths = false
	d := newDecider(ctx, q)
	defer d.end()
	d.tracer = t
	decision, err := d.decide(r.root)
	if err != nil {
		return nil, err
	}
	return &Trace{Decision: decision, Steps: t.steps}, nil
}

// bound denies a read that the rules allow if it would show more than a .limit.
func (r *Ruleset) bound(q *Request, t *Trace) error {
	if !t.Allow || q.Op != OpRead || q.Children == nil {
		return nil
	}
	m := limitCheck{children: q.Children, noting: true}
	x, err := m.read(r.Limits(q.Path), q.Path, q.Query, q.KeysOnly)
	if t.Limits, t.Excess = m.compared, x; x != nil {
		t.Decision = Decision{Rule: x.Limit.Path}
	}
	return err
}
