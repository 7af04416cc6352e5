package eval

import (
	"context"
	"time"

	"github.com/expr-lang/expr/vm"

	"github.com/dogwooddb/dogwood/rules/internal/snapshot"
	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree"
)

// An Input is what the variables of the expressions of one operation stand for.
type Input struct {
	Auth   string      // the variable auth as JSON, "" for null
	Claims *Claims     // Auth decoded; nil: it is decoded when it is asked for
	Now    time.Time   // the variable now
	Query  *tree.Query // the variable query, nil for a write

	Data   tree.Reader          // the tree before the operation
	Writes []tree.ResolvedWrite // at disjoint targets
	Spent  snapshot.Budget      // what was spent already

	NotePaths bool // whether Uses has Paths and Exists
	After     bool // whether the variable data is of the tree after the operation
}

// An Evaluation is what the expressions of one operation are evaluated in: the
// variables, what was read so far, and the fault of the current expression. It is
// the environment of programs, and the first argument of every function in them.
// Set Input, and call Begin before the first expression and End after the last.
// Then it can be used for another operation. Only one goroutine may use it.
//
// Faults stick: a function that fails notes the fault and returns a value of its
// type, and the expression goes on. In the end an expression holds if it is true
// and has no fault, so nothing in it can make up for one (rules §5.4). Errors that
// end a program at once would cost an allocation each, and need the machine's own
// error texts.
type Evaluation struct {
	Input
	snapshot.Trees
	claims *Claims // the variable auth; nil: not asked for yet
	now    any     // the variable now, nil: not asked for yet
	vm     vm.VM

	// Of the current expression:
	at     tree.Path // the node that holds the rule
	fault  fault
	blamed bool   // whether the noter knows of the fault
	text   []byte // scratch for strings that are put together
	kept   [8]snapshot.Snapshot
	taken  int // of kept
	uses   Uses
	noter  func(x lang.Expr, text string, failed bool) // of a noting program

	// Of all expressions, in case that the next one asks for the same:
	joins  joins
	worded worded
}

// Uses are what an expression has asked for. Its answer stays the same as long as
// the answers to these do.
type Uses struct {
	Paths  []tree.Path // in the tree before the operation, read
	Exists []tree.Path // only asked whether there is a node
	Caller bool        // whether there is a caller
	Claims bool        // who the caller is
	Now    bool        // the time
}

// A Program is an expression for the virtual machine.
type Program vm.Program

// A fault is why an expression failed. Its text is made when it is asked for.
type fault struct {
	reason string // "" for none
	value  any    // that was wrong
	about  bool   // whether value belongs to it
}

// String returns the reason and, if it is about a value, what that is instead.
func (f fault) String() string {
	if f.about {
		return f.reason + ", not " + kindOf(f.value)
	}
	return f.reason
}

// Begin prepares for the operation of Input.
func (e *Evaluation) Begin() {
	e.claims = e.Claims
	e.Reset(e.Data, e.Writes, e.Spent)
}

// End lets go of the operation.
func (e *Evaluation) End() {
	e.Input, e.claims, e.now = Input{}, nil, nil
	e.Reset(nil, nil, snapshot.Budget{})
	e.start(tree.Root)
	e.uses, e.joins, e.worded = Uses{}, joins{}, worded{}
	clear(e.vm.Stack[:cap(e.vm.Stack)])
}

// start prepares for an expression of a rule at p.
func (e *Evaluation) start(p tree.Path) {
	e.at = p
	e.fault, e.blamed = fault{}, false
	clear(e.kept[:e.taken])
	e.taken = 0
	e.uses = Uses{Paths: e.uses.Paths[:0], Exists: e.uses.Exists[:0]}
	if cap(e.text) > snapshot.MaxFactText {
		e.text = nil
	}
}

// Holds reports whether the expression of a rule at p is true. It counts it.
func (e *Evaluation) Holds(program *Program, p tree.Path) bool {
	e.start(p)
	if !e.Budget.CountOne() {
		e.fail(lang.Boolean, msgTooMany)
		return false
	}
	return e.run(program)
}

// Answer returns the value of an expression about the node at p, of one of the Go types in values.go.
// Fault says why there is none. It counts it.
func (e *Evaluation) Answer(program *Program, p tree.Path) (v any, ok bool) {
	e.start(p)
	if !e.Budget.CountOne() {
		e.fail(lang.Any, msgTooMany)
		return nil, false
	}
	return e.result(program)
}

// run runs the program of a rule.
func (e *Evaluation) run(program *Program) bool {
	result, ok := e.result(program)
	holds, isBool := result.(bool)
	return ok && isBool && holds
}

// result runs a program. A panic of a function is a fault of ours, which must not
// allow anything.
func (e *Evaluation) result(program *Program) (v any, ok bool) {
	v, err := e.vm.Run((*vm.Program)(program), e)
	if err != nil {
		e.fail(lang.Boolean, msgPanic)
		return nil, false
	}
	return v, !e.faulty() && e.Old.Err == nil
}

// Fault returns why the last expression failed, "" if it did not.
func (e *Evaluation) Fault() string { return e.fault.String() }

// Exhausted reports whether the last expression was one too many and was not
// evaluated.
func (e *Evaluation) Exhausted() bool { return e.fault.reason == msgTooMany }

// Interrupted returns the error that ends the operation, if there is one. It does
// not ask ctx every time.
func (e *Evaluation) Interrupted(ctx context.Context) error {
	if e.Old.Err != nil {
		return e.Old.Err
	}
	if e.Budget.Count%256 == 0 {
		return ctx.Err()
	}
	return nil
}

// faulty reports whether the current expression has failed.
func (e *Evaluation) faulty() bool { return e.fault.reason != "" }

// fail notes a fault, if it is the first, and returns a value of type t.
func (e *Evaluation) fail(t lang.Type, reason string) any {
	if !e.faulty() {
		e.fault = fault{reason: reason}
	}
	return zero(t)
}

// reject is fail for a value that is of the wrong type.
func (e *Evaluation) reject(t lang.Type, reason string, v any) any {
	if !e.faulty() {
		e.fault = fault{reason, v, true}
	}
	return zero(t)
}

// charge charges the current expression for looking at n bytes of text. If that
// is too much it fails.
func (e *Evaluation) charge(n int) bool {
	if e.Budget.Charge(n, 1) {
		return true
	}
	e.fail(lang.Any, msgTooMuch)
	return false
}

// zero returns a value that the virtual machine takes for one of type t. It only
// insists on booleans.
func zero(t lang.Type) any {
	if t == lang.Boolean {
		return false
	}
	return nil
}
