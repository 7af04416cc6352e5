package rules

import (
	"context"

	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree"
)

// Reasons for which a rule is not asked.
const (
	whyGranted = "access was already granted"
	whyNothing = "there is nothing to validate"
)

const (
	// maxSteps bounds a trace. What comes after is decided as Check does.
	maxSteps = 10_000

	// maxValues bounds the values in all steps of a trace.
	maxValues = 200_000
)

// Explain decides a request as Check does and tells how. It doesn't end at the
// rule that decides: rules are asked if they concern the request at all, except
// those of the targets of a write that come after one that is denied. Each is evaluated once more
// node by node, so Explain is slower than Check, and for tools.
func (r *Ruleset) Explain(ctx context.Context, q *Request) (*Trace, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t := new(tracer)
	t.begin(q)
	d := newDecider(ctx, q)
	defer d.end()
	d.tracer = t
	decision, err := d.decide(r.root)
	if err != nil {
		return nil, err
	}
	trace := &Trace{Decision: decision, Steps: t.steps}
	return trace, r.bound(q, trace)
}

// A tracer notes the steps of a decision.
type tracer struct {
	e      evaluation // that of the decision takes no part in what is only shown
	steps  []Step
	values int // in all steps
}

func (t *tracer) begin(q *Request) {
	t.e.begin(q)
	t.e.noting = false
}

// full reports whether there is room for no more steps.
func (t *tracer) full() bool { return len(t.steps) >= maxSteps }

// ask asks a rule at p and notes what comes of it: whether it holds is what its
// program says, and the values are those of its parts.
func (t *tracer) ask(d *decider, r *rule, p tree.Path) bool {
	e := d.evaluation()
	e.start(p)
	holds := r.always
	if r.program != nil {
		holds = e.holds(r, p)
	}
	s := t.step(d, r, p)
	switch {
	case e.faulty:
		s.Outcome, s.Why = Failed, e.failure.String()
	case holds:
		s.Outcome = True
	}
	if !e.faulty || e.failure.reason != msgTooMany {
		t.show(&s, r)
		e.old.failed(t.e.old.err)
	}
	t.steps = append(t.steps, s)
	return holds
}

// show notes the values of a rule's parts. Of a fault it tells where it is.
func (t *tracer) show(s *Step, r *rule) {
	if t.values == maxValues {
		return
	}
	t.e.start(s.Path)
	w := walker{e: &t.e, depths: r.depths, room: maxValues - t.values}
	w.run(r.Expr)
	t.values += len(w.values)
	s.Values = w.values
	if s.Outcome == Failed && t.e.faulty {
		s.Why = t.e.failure.String()
	}
}

func (t *tracer) skip(d *decider, r *rule, p tree.Path, why string) {
	s := t.step(d, r, p)
	s.Outcome, s.Why = Skipped, why
	t.steps = append(t.steps, s)
}

func (t *tracer) step(d *decider, r *rule, p tree.Path) Step {
	s := Step{Rule: &r.Rule, Target: d.target, Path: p}
	e := &t.e
	e.at = p
	for name, depth := range r.depths {
		if s.Captures == nil {
			s.Captures = make(map[string]string)
		}
		s.Captures[name] = e.capture(depth)
	}
	return s
}

// A walker evaluates an expression node by node, as a program does in larger
// portions, and notes the value of each. It ends at the first fault.
type walker struct {
	e      *evaluation
	depths map[string]int
	values []Value
	room   int // for values
}

// run evaluates a whole expression. A panic is a fault, as it is to the virtual
// machine.
func (w *walker) run(x lang.Expr) (v any) {
	defer func() {
		if recover() != nil {
			v = w.e.fail(lang.Boolean, msgPanic)
		}
	}()
	return w.eval(x)
}

// eval returns the value of x, or nil if there was a fault.
func (w *walker) eval(x lang.Expr) any {
	v := w.compute(x)
	switch {
	case w.e.faulty:
		w.blame(x)
		return nil
	case isTelling(x):
		w.note(Value{Expr: x, Text: w.text(v)})
	}
	return v
}

// isTelling reports whether the value of x is worth noting: it isn't plain from
// the source.
func isTelling(x lang.Expr) bool {
	switch x.(type) {
	case *lang.Literal, *lang.Regex, *lang.Array:
		return false
	}
	return true
}

// blame notes that x failed, unless it is because a part of it did.
func (w *walker) blame(x lang.Expr) {
	if n := len(w.values); n == 0 || !w.values[n-1].Failed {
		w.note(Value{Expr: x, Text: w.e.failure.String(), Failed: true})
	}
}

func (w *walker) note(v Value) {
	if len(w.values) < w.room {
		w.values = append(w.values, v)
	}
}

// text returns a value as JSON, and a snapshot as its path and value.
func (w *walker) text(v any) string {
	s, ok := v.(*snapshot)
	switch {
	case !ok:
		return textOf(v)
	case s.none:
		return "null"
	}
	v = w.e.value(*s)
	if w.e.faulty { // too much was shown already, which is no fault of the rule
		w.e.faulty, w.e.failure = false, failure{}
		return s.path.String()
	}
	return s.path.String() + " " + textOf(v)
}

func (w *walker) compute(x lang.Expr) any {
	switch x := x.(type) {
	case *lang.Literal:
		return x.Value
	case *lang.Variable:
		return w.variable(x)
	case *lang.Unary:
		return w.unary(x)
	case *lang.Binary:
		return w.binary(x)
	case *lang.Cond:
		test := w.eval(x.Test)
		switch {
		case w.e.faulty:
			return nil
		case test == true:
			return w.eval(x.Then)
		}
		return w.eval(x.Else)
	case *lang.Member:
		if isQuery(x.X) {
			return w.e.queryMember(x.Name)
		}
		if v := w.eval(x.X); !w.e.faulty {
			return w.e.memberOf(v, x.Name, x.X.Type(), x.Type())
		}
		return nil
	case *lang.Index:
		v, key := w.pair(x.X, x.Key)
		if w.e.faulty {
			return nil
		}
		return w.e.index(v, key)
	case *lang.Call:
		return w.call(x)
	}
	return opaque{"a " + x.Type().String()}
}

// pair evaluates two operands, the second only if the first has no fault.
func (w *walker) pair(x, y lang.Expr) (v, u any) {
	if v = w.eval(x); !w.e.faulty {
		u = w.eval(y)
	}
	return v, u
}

func isQuery(x lang.Expr) bool {
	v, ok := x.(*lang.Variable)
	return ok && v.Name == "query"
}

func (w *walker) variable(x *lang.Variable) any {
	if depth, ok := w.depths[x.Name]; ok {
		return w.e.capture(depth)
	}
	switch {
	case x.Name == "auth":
		return w.e.auth()
	case x.Name == "now":
		return w.e.clock()
	case isQuery(x):
		return opaque{"query"}
	}
	return w.e.keep(w.e.snapshotOf(x.Name))
}

func (w *walker) unary(x *lang.Unary) any {
	v := w.eval(x.X)
	switch {
	case w.e.faulty:
		return nil
	case x.Op == lang.Not:
		return v == false
	}
	return w.e.negate(v)
}

func (w *walker) binary(x *lang.Binary) any {
	switch {
	case x.Op == lang.And || x.Op == lang.Or:
		v := w.eval(x.X)
		if w.e.faulty || v == (x.Op == lang.Or) {
			return v
		}
		return w.eval(x.Y)
	case comparesAuthWithNull(x):
		return w.e.signedIn() == (x.Op == lang.Ne)
	}
	v, u := w.pair(x.X, x.Y)
	if w.e.faulty {
		return nil
	}
	return w.e.binary(x.Op, v, u)
}

func (w *walker) call(x *lang.Call) any {
	fun := x.Fun.(*lang.Member)
	v := w.eval(fun.X)
	if w.e.faulty {
		return nil
	}
	exprs := x.Args
	if len(exprs) == 1 {
		if list, ok := exprs[0].(*lang.Array); ok {
			exprs = list.Items
		}
	}
	args := make([]any, 0, len(exprs))
	for _, arg := range exprs {
		args = append(args, w.eval(arg))
		if w.e.faulty {
			return nil
		}
	}
	if s, ok := v.(*snapshot); ok {
		return w.snapshotMethod(x, *s, fun.Name, args)
	}
	return w.stringMethod(x, v, fun.Name, args)
}

func (w *walker) snapshotMethod(x *lang.Call, s snapshot, name string, args []any) any {
	if name == "parent" {
		up, _ := w.e.parent(s)
		return w.e.keep(up)
	}
	if len(x.Args) == 0 {
		return w.e.ask(s, questions[name])
	}
	all := true
	for _, arg := range args {
		if _, ok := arg.(string); !ok {
			return w.e.reject(x.Type(), msgPathArg, arg)
		}
	}
	for _, arg := range args {
		c := w.e.child(s, arg.(string))
		if name == "child" {
			return w.e.keep(c)
		}
		all = all && w.e.exists(c)
	}
	return all
}

func (w *walker) stringMethod(x *lang.Call, v any, name string, args []any) any {
	s, ok := v.(string)
	if !ok {
		return w.e.reject(x.Type(), msgNoString, v)
	}
	if name == "matches" {
		return w.e.matches(x.Args[0].(*lang.Regex).Machine, s)
	}
	var strs [2]string
	for i, arg := range args {
		if strs[i], ok = arg.(string); !ok {
			return w.e.reject(x.Type(), msgArgument, arg)
		}
	}
	return w.e.callMethod(stringMethods[name], x.Type(), s, strs[:len(args)])
}
