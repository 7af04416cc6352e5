package rules

import (
	"context"

	"github.com/expr-lang/expr/vm"

	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree"
)

// maxEvaluations bounds the expressions that are evaluated for one operation
// (rules §5.9). One more decides against it.
const maxEvaluations = 100_000

// An evaluation is what the expressions of one operation are evaluated in: the
// variables, what was read so far, and the fault of the current expression. It is
// the environment of programs, and the first argument of every function in them.
//
// Faults stick: a function that fails notes the fault and returns a value of its
// type, and the expression goes on. In the end an expression holds if it is true
// and has no fault, so nothing in it can make up for one (rules §5.4).
type evaluation struct {
	request *Request
	claims  *claims // the variable auth; nil: not asked for yet
	now     any     // the variable now, nil: not asked for yet
	old     oldTree
	new     newTree
	budget  budget
	vm      vm.VM

	// Of the current expression:
	at        tree.Path // the node that holds the rule
	faulty    bool
	failure   failure
	text      []byte // scratch for strings that are put together
	snapshots [8]snapshot
	taken     int // of snapshots
	uses      Reads
	noting    bool // whether uses.Paths is kept
	blamed    bool // whether the noter knows of the fault

	noter func(x lang.Expr, text string, failed bool) // of noting programs
}

// A failure is why an expression failed: its first fault.
type failure struct {
	reason string
	value  any  // that was wrong
	about  bool // whether value belongs to it
}

func (f failure) String() string {
	if f.about {
		return f.reason + ", not " + kindOf(f.value)
	}
	return f.reason
}

// begin prepares for a request.
func (e *evaluation) begin(q *Request) {
	e.request, e.claims, e.now, e.budget = q, q.Auth.decoded, nil, budget{}
	if q.Budget != nil {
		e.budget = q.Budget.budget
	}
	e.noting = q.Reads != nil && q.Op == OpRead
	e.old.reset(q.Data, &e.budget)
	if q.Op == OpWrite {
		e.new.reset(&e.old, q.Writes)
	}
}

// end lets go of the request.
func (e *evaluation) end() {
	if e.request.Op == OpWrite {
		e.new.reset(&e.old, nil)
	}
	e.request, e.claims, e.now = nil, nil, nil
	e.old.reset(nil, nil)
	e.start(tree.Root)
	e.uses.Paths, e.uses.Exists = nil, nil
	clear(e.vm.Stack[:cap(e.vm.Stack)])
}

// start prepares for an expression of a rule at p.
func (e *evaluation) start(p tree.Path) {
	e.at = p
	e.faulty, e.blamed, e.failure = false, false, failure{}
	clear(e.snapshots[:e.taken])
	e.taken = 0
	e.uses = Reads{Paths: e.uses.Paths[:0], Exists: e.uses.Exists[:0]}
	if cap(e.text) > maxFactText {
		e.text = nil
	}
}

// holds reports whether the rule, which is an expression, is true at p.
func (e *evaluation) holds(r *rule, p tree.Path) bool {
	e.start(p)
	if !e.countOne() {
		return false
	}
	return e.run(r.program)
}

func (e *evaluation) run(p *vm.Program) bool {
	result, err := e.vm.Run(p, e)
	if err != nil { // a function panicked: a fault of ours, which must not open anything
		e.fail(lang.Boolean, msgPanic)
		return false
	}
	holds, ok := result.(bool)
	return ok && holds && !e.faulty && e.old.err == nil
}

// countOne counts an expression, and reports whether there may be one more.
func (e *evaluation) countOne() bool {
	if e.budget.count >= maxEvaluations {
		e.fail(lang.Boolean, msgTooMany)
		return false
	}
	e.budget.count++
	return true
}

// fail notes a fault, if it is the first, and returns a value of type t.
func (e *evaluation) fail(t lang.Type, reason string) any {
	if !e.faulty {
		e.faulty, e.failure = true, failure{reason: reason}
	}
	return zero(t)
}

// reject is fail for a value that is of the wrong type.
func (e *evaluation) reject(t lang.Type, reason string, v any) any {
	if !e.faulty {
		e.faulty, e.failure = true, failure{reason, v, true}
	}
	return zero(t)
}

// zero returns a value that the virtual machine takes for one of type t. It only
// insists on booleans.
func zero(t lang.Type) any {
	if t == lang.Boolean {
		return false
	}
	return nil
}

// auth returns the variable auth.
func (e *evaluation) auth() any {
	e.uses.Auth = AuthFull
	q := e.request
	if q.Auth.IsNull() {
		return nil
	}
	if e.claims == nil {
		e.claims = decodeClaims(q.Auth.JSON)
	}
	if e.claims.err != nil {
		return e.fail(lang.Any, msgBadAuth)
	}
	return e.claims.value
}

// signedIn reports whether auth is not null.
func (e *evaluation) signedIn() bool {
	e.uses.Auth = max(e.uses.Auth, AuthNull)
	return !e.request.Auth.IsNull()
}

// clock returns the variable now.
func (e *evaluation) clock() any {
	e.uses.Now = true
	if e.now == nil {
		e.now = float64(e.request.Now.UnixMilli())
	}
	return e.now
}

// capture returns the key that the capture at a depth of the rule's path has
// matched.
func (e *evaluation) capture(depth int) string {
	rest := e.at
	for range depth {
		_, rest, _ = rest.Cut()
	}
	key, _, _ := rest.Cut()
	return key
}

// interrupted returns the error that ends the operation, if there is one.
func (e *evaluation) interrupted(ctx context.Context) error {
	if e.old.err != nil {
		return e.old.err
	}
	if e.budget.count%256 == 0 {
		return ctx.Err()
	}
	return nil
}
