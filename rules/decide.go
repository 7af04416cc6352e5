package rules

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/dogwooddb/dogwood/rules/internal/eval"
	"github.com/dogwooddb/dogwood/tree"
)

// A decider decides one request. It walks the document from the root to the path
// of the request; Check and Explain share this walk, so they cannot disagree.
// Constant rules need nothing else. The evaluation begins with the first
// expression, since preparing it costs more than deciding by constants.
//
// With a tracer it asks all rules that concern the request, and notes the outcome
// of each. The decision is the same.
type decider struct {
	ctx     context.Context
	q       *Request
	tracer  *tracer // nil for Check
	target  int     // index of the write being decided
	asked   int     // rules that were asked so far
	failed  *rule   // the first .validate that failed
	refused int     // its target
	denied  bool    // whether a target of a write has no grant
	err     error   // what ended the decision
	begun   bool    // whether e is in use
	e       eval.Evaluation
}

// deciders are reused, since every operation needs one and an evaluation is large.
var deciders = sync.Pool{New: func() any { return new(decider) }}

// newDecider returns a decider for one request. The caller must call end.
func newDecider(ctx context.Context, q *Request) *decider {
	d := deciders.Get().(*decider)
	d.ctx, d.q = ctx, q
	return d
}

// end returns the decider to the pool. The decider keeps nothing of the request.
func (d *decider) end() {
	if d.begun {
		if d.q.Budget != nil {
			d.q.Budget.budget = d.e.Budget
		}
		d.e.End()
	}
	d.ctx, d.q, d.tracer, d.target, d.refused, d.asked, d.failed, d.denied, d.err, d.begun = nil, nil, nil, 0, 0, 0, nil, false, nil, false
	deciders.Put(d)
}

// evaluation returns what expressions are evaluated in.
func (d *decider) evaluation() *eval.Evaluation {
	if !d.begun {
		d.begun = true
		d.q.begin(&d.e)
	}
	return &d.e
}

// decide decides the request. After an error there is no decision: a rule that could
// not read must neither allow nor deny.
func (d *decider) decide(root *node) (Decision, error) {
	var decision Decision
	switch d.q.Op {
	case OpRead:
		if d.q.Reads != nil {
			*d.q.Reads = Reads{}
		}
		decision = d.grant(root, d.q.Path)
	case OpWrite:
		decision = d.write(root)
	default:
		d.err = fmt.Errorf("unknown operation %d", d.q.Op)
	}
	if d.err != nil {
		return Decision{}, d.err
	}
	return decision, nil
}

// holds asks a rule at p.
func (d *decider) holds(r *rule, p tree.Path) bool {
	d.asked++
	holds := r.always
	switch {
	case d.tracing():
		holds = d.tracer.ask(d.evaluation(), r, d.step(r, p))
	case r.program != nil:
		holds = d.evaluation().Holds(r.program, p)
	}
	return !d.interrupted() && holds
}

// interrupted reports whether the decision has to end without a result.
func (d *decider) interrupted() bool {
	if d.err == nil && d.begun {
		d.err = d.e.Interrupted(d.ctx)
	}
	return d.err != nil
}

// tracing reports whether outcomes are noted: there is a tracer with room.
func (d *decider) tracing() bool { return d.tracer != nil && !d.tracer.full() }

// skip notes that a rule was not asked.
func (d *decider) skip(r *rule, p tree.Path, why string) {
	if r != nil && d.tracing() {
		s := d.step(r, p)
		s.Outcome, s.Why = Skipped, why
		d.tracer.steps = append(d.tracer.steps, s)
	}
}

// step returns a step of the trace, without an outcome.
func (d *decider) step(r *rule, p tree.Path) Step {
	s := Step{Rule: &r.Rule, Target: d.target, Path: p}
	for name, depth := range r.depths {
		if s.Captures == nil {
			s.Captures = make(map[string]string)
		}
		s.Captures[name] = eval.Capture(p, depth)
	}
	return s
}

// grant looks for a rule that grants the request at p, from the root downwards.
func (d *decider) grant(root *node, p tree.Path) (decision Decision) {
	rest := p
	for n := root; n != nil && d.err == nil; {
		if g := n.grants[d.q.Op]; g != nil {
			decision = d.ask(g, p, rest, decision)
		}
		key, below, ok := rest.Cut()
		if !ok || decision.Allow && !d.tracing() {
			break
		}
		n, rest = n.child(key), below
	}
	return decision
}

// ask asks the granting rule of a node on the way to p, unless there is a grant
// already. rest is the path from that node to p.
func (d *decider) ask(g *rule, p, rest tree.Path, before Decision) Decision {
	if g.program == nil && !d.tracing() {
		d.asked++
		d.noteReads(g, g.always)
		return Decision{Allow: g.always, Rule: g.Path}
	}
	at := above(p, rest)
	if before.Allow {
		d.skip(g, at, whyGranted)
		return before
	}
	granted := d.holds(g, at)
	d.noteReads(g, granted)
	return Decision{Allow: granted, Rule: g.Path}
}

// noteReads notes in the request what the rule that was just asked depends on.
func (d *decider) noteReads(r *rule, granted bool) {
	reads := d.q.Reads
	switch {
	case reads == nil || d.q.Op != OpRead:
	case r.program == nil:
		if granted {
			*reads = Reads{}
		}
	case granted:
		*reads = readsOf(d.e.Uses())
	default:
		u := d.e.Uses()
		reads.Auth = max(reads.Auth, authUse(u))
		reads.Now = reads.Now || u.Now
	}
}

// above returns the path of which rest is the remainder to p.
func above(p, rest tree.Path) tree.Path {
	for range rest.Len() {
		p, _ = p.Parent()
	}
	return p
}

// write decides a write: all its targets must be granted, but for those that follow from
// others, and what they leave behind must be valid. The empty write is a no-op that needs no grant.
func (d *decider) write(root *node) Decision {
	decision := Decision{Allow: true}
	asked, sent := d.q.Writes, d.q.Sent()
	if d.q.sentOnly {
		asked = sent
	}
	for i, w := range sent {
		d.target = i
		granted := d.grant(root, w.Path)
		if decision.Allow && (i == 0 || !granted.Allow) {
			decision = granted
		}
		if d.err != nil || !decision.Allow {
			d.denied, asked = true, asked[:i+1]
			break
		}
	}
	if kept := d.q.Kept; kept != "" && decision.Allow {
		return Decision{Kept: kept}
	}
	if d.q.Grants || d.q.Kept != "" {
		return decision
	}
	for i, w := range asked {
		if d.done() {
			break
		}
		d.target = i
		d.validate(root, w)
	}
	if decision.Allow && d.failed != nil {
		decision = Decision{Rule: d.failed.Path, Target: d.refused}
	}
	return decision
}

// done reports whether the remaining .validate rules cannot change the decision.
func (d *decider) done() bool {
	return d.err != nil || (d.denied || d.failed != nil) && !d.tracing()
}

// validates reports whether rules at n or below have to be asked.
func (d *decider) validates(n *node) bool {
	return n != nil && (n.validates || d.tracing() && n.validated)
}

// validate asks the .validate rules that a write may break: those of the nodes
// above the target, which contain the write, and those at and below it, which the
// write carries; never those of its siblings. The rules of a node that does not
// exist after the write are not asked, so only rules above see a removal.
func (d *decider) validate(root *node, w tree.ResolvedWrite) {
	n, rest := root, w.Path
	for d.validates(n) && !d.done() {
		key, below, more := rest.Cut()
		switch {
		case more:
			d.container(n, w.Path, rest)
		case w.Priority:
			d.stored(n, w.Path)
		default:
			d.written(n, w.Path, w.Node)
		}
		if !more {
			break
		}
		n, rest = n.child(key), below
	}
}

// matters reports whether the rule has to be asked: it may refuse, or it is traced.
func (d *decider) matters(r *rule) bool { return r != nil && (!r.alwaysHolds() || d.tracing()) }

// container asks the rule of a node on the way to p.
func (d *decider) container(n *node, p, rest tree.Path) {
	if !d.matters(n.validate) {
		return
	}
	at := above(p, rest)
	if exists := d.evaluation().New.Exists(at); d.interrupted() {
		return
	} else if exists {
		d.focus(tree.Root, tree.Empty)
		d.valid(n.validate, at)
	} else {
		d.skip(n.validate, at, whyNothing)
	}
}

// valid asks a .validate rule of a node that exists.
func (d *decider) valid(r *rule, p tree.Path) {
	if !d.holds(r, p) && d.failed == nil {
		d.failed, d.refused = r, d.target
	}
}

// focus sets the written node that the next rules are about. Their most frequent
// questions, newData and its children, then need no search in the writes.
func (d *decider) focus(p tree.Path, v tree.Node) {
	d.evaluation().New.Focus(p, v)
	if d.tracing() {
		d.tracer.e.New.Focus(p, v)
	}
}

// written asks the rules of n, which is at p, and below it. v is what will be
// there.
func (d *decider) written(n *node, p tree.Path, v tree.Node) {
	if v.IsEmpty() {
		d.skip(n.validate, p, whyNothing)
		return
	}
	if d.matters(n.validate) {
		d.focus(p, v)
		d.valid(n.validate, p)
	}
	for key, c := range v.Children() {
		if d.done() {
			return
		}
		if child := n.child(key); d.validates(child) {
			d.written(child, p.Child(key), c)
		}
	}
}

// stored is written for a node that keeps its value: one whose priority is
// written. It reads no more of it than the rules ask about. A visit counts as an expression
// does: there may be any number of nodes without a rule of their own.
func (d *decider) stored(n *node, p tree.Path) {
	if !d.evaluation().Budget.CountOne() {
		if d.failed == nil {
			d.failed, d.refused = n.firstValidate(), d.target
		}
		return
	}
	after := &d.evaluation().New
	if exists := after.Exists(p); d.interrupted() {
		return
	} else if !exists {
		d.skip(n.validate, p, whyNothing)
		return
	}
	if d.matters(n.validate) {
		d.focus(tree.Root, tree.Empty)
		d.valid(n.validate, p)
	}
	keys := after.Keys(p)
	if !d.validates(n.capture) {
		keys = literals(n)
	}
	for key := range keys {
		if d.done() {
			return
		}
		if child := n.child(key); d.validates(child) {
			d.stored(child, p.Child(key))
		}
	}
	d.interrupted()
}

// literals yields the keys that the document names below n.
func literals(n *node) iter.Seq[string] {
	return slices.Values(slices.Sorted(maps.Keys(n.children)))
}
