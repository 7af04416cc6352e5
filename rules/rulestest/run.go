package rulestest

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree"
)

// A Runner runs suites. The zero Runner runs everything.
type Runner struct {
	Match *regexp.Regexp // only steps whose name matches are reported

	// Traced is called with each decision of a suite's own rules; it may be nil.
	Traced func(*rules.Trace)

	// Asked is called with each request before it is decided; it may be nil. Steps of
	// administrators ask nothing.
	Asked func(*Suite, *Step, *rules.Request) error

	// VerdictsOnly leaves out what only people read, and with it the trace.
	VerdictsOnly bool

	// FirstFailure ends a run with the first step that fails.
	FirstFailure bool
}

// Run runs a suite with the given rules, or without any if compiling them failed
// with err. Steps that do not match are run too if later ones need what they
// leave, but not reported.
func (r *Runner) Run(ctx context.Context, s *Suite, rs *rules.Ruleset, compileErr error) ([]*Result, error) {
	var list []*Result
	for _, g := range s.Groups {
		rs, compileErr := rs, compileErr
		if g.Rules != nil {
			rs, compileErr = g.Rules.Compile()
		}
		run := &groupRun{Runner: r, suite: s, group: g, rules: rs, compileErr: compileErr, own: g.Rules == nil}
		if err := run.steps(ctx); err != nil {
			return list, err
		}
		list = append(list, run.results...)
		if r.FirstFailure && run.failed {
			break
		}
	}
	return list, nil
}

// At returns the first step at a line of the test file and its group.
func (s *Suite) At(line int) (*Group, *Step) {
	for _, g := range s.Groups {
		for _, step := range g.Steps {
			if step.Line == line {
				return g, step
			}
		}
	}
	return nil, nil
}

// Before runs what comes before the step at a line and returns the world that
// the step finds.
func (s *Suite) Before(ctx context.Context, rs *rules.Ruleset, line int) (World, error) {
	g, before := s.At(line)
	if g == nil {
		return World{}, fmt.Errorf("%s has no step at line %d", s.File, line)
	}
	world, err := s.World(g)
	if err != nil {
		return World{}, err
	}
	run := &groupRun{Runner: &Runner{VerdictsOnly: true}, suite: s, group: g, rules: rs, world: world, listeners: make(listeners)}
	for _, step := range g.Steps {
		if step == before {
			break
		}
		if _, err := run.step(ctx, step); err != nil {
			return World{}, err
		}
	}
	return run.world, nil
}

// Compile parses the rules of a source.
func (s *Source) Compile() (*rules.Ruleset, error) {
	return rules.ParseWith(s.Text, s.Options)
}

// A groupRun is the run of one group. Its world is a tree in memory that changes with
// each step that commits; trees are immutable, so the group's own data stays.
//
// Rules see each operation as a server would show it to them: the world before it, the
// resolved writes, and the time of the step. A write that is refused leaves the world as
// it was. One that is allowed changes it only if the step commits, so the steps of a list
// of independent tests do not disturb each other.
type groupRun struct {
	*Runner
	suite      *Suite
	group      *Group
	rules      *rules.Ruleset
	compileErr error
	own        bool // the rules are the suite's

	world     World
	moved     bool // the world is no longer the group's data
	listeners listeners
	results   []*Result
	failed    bool
}

// matches reports whether a step is to be reported.
func (r *groupRun) matches(s *Step) bool {
	return r.Match == nil || r.Match.MatchString((&Result{Group: r.group, Step: s}).Name())
}

// steps runs the steps of the group up to the last that is to be reported.
func (r *groupRun) steps(ctx context.Context) (err error) {
	if r.world, err = r.suite.World(r.group); err != nil {
		return fmt.Errorf("%s: data: %w", r.suite.File, err)
	}
	r.listeners = make(listeners)
	last := -1
	for i, s := range r.group.Steps {
		if r.matches(s) {
			last = i
		}
	}
	for _, s := range r.group.Steps[:last+1] {
		if !r.matches(s) && !s.Commit && s.Op.Listener == "" {
			continue
		}
		started := time.Now()
		res, err := r.step(ctx, s)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", r.suite.File, s.Line, err)
		}
		res.Elapsed = time.Since(started)
		if r.matches(s) {
			r.results = append(r.results, res)
			r.failed = r.failed || res.Status == Failed
		}
		if r.FirstFailure && r.failed {
			break
		}
	}
	return nil
}

// step runs one step.
func (r *groupRun) step(ctx context.Context, s *Step) (*Result, error) {
	res := &Result{Suite: r.suite, Group: r.group, Step: s, Status: Passed}
	if s.Skip != "" {
		res.Status = Skipped
		return res, nil
	}
	if !r.VerdictsOnly {
		res.Repro = r.repro(s)
	}
	var err error
	switch {
	case r.rules == nil:
		res.Got = CompileError
		if s.Want.Verdict != CompileError {
			res.fail("the rules do not compile: %v", strings.TrimSpace(r.compileErr.Error()))
		}
	case s.Want.Verdict == CompileError:
		res.fail("the rules compile")
	default:
		switch s.Op.Kind {
		case Read:
			err = r.read(ctx, s, res)
		case Write, Update:
			err = r.write(ctx, s, res)
		case Events:
			r.listeners.compare(s, res)
		case Invariants:
			r.checkInvariants(s, res)
		}
	}
	return res, err
}

// repro returns a command line that decides the operation of a step again. Data
// that is no file's is taken from the test file, as it is before the step. A
// failed step is of use only if it can be tried alone, in front of an editor.
func (r *groupRun) repro(s *Step) string {
	if s.Op.Kind == Events || s.Op.Kind == Invariants {
		return ""
	}
	src := &r.suite.Rules
	if r.group.Rules != nil {
		src = r.group.Rules
	}
	here := fmt.Sprintf("%s#%d", r.suite.File, s.Line)
	rules, data := src.File, r.group.DataFile
	if rules == "" || r.suite.Document != nil && r.suite.Declared == "" {
		rules = here
	}
	if r.moved || data == "" && !r.world.Root.IsEmpty() {
		data = here
	}
	return s.Op.Command("eval", rules, data, r.suite.Declared)
}

// decide asks the rules and compares their answer with the step's.
func (r *groupRun) decide(ctx context.Context, s *Step, res *Result, q *rules.Request) (bool, error) {
	res.Got, res.Rule = Allow, ""
	if s.Op.Who.Admin && q.Kept != "" {
		res.Got = Deny
	}
	if !s.Op.Who.Admin {
		if r.Asked != nil {
			if err := r.Asked(r.suite, s, q); err != nil {
				return false, err
			}
		}
		t, err := r.ask(ctx, q, s)
		if err != nil {
			return false, err
		}
		if !t.Allow {
			res.Got = Deny
		}
		res.Rule, res.Trace, res.request = t.Rule, t, q
		if r.Traced != nil && r.own {
			r.Traced(t)
		}
	}
	r.compare(s, res)
	return res.Got == Allow, nil
}

// ask decides a request, with a trace if anything needs one. A trace costs a
// second evaluation of each rule, so it is only made for steps that need the
// reason.
func (r *groupRun) ask(ctx context.Context, q *rules.Request, s *Step) (*rules.Trace, error) {
	if r.VerdictsOnly && s.Want.Reason == "" && r.Traced == nil {
		d, err := r.rules.Check(ctx, q)
		return &rules.Trace{Decision: d}, err
	}
	return r.rules.Explain(ctx, q)
}

// compare compares a decision with what is expected.
func (r *groupRun) compare(s *Step, res *Result) {
	w := s.Want
	if w.Verdict != "" && w.Verdict != res.Got {
		res.fail("got %s, want %s", res.Got, w.Verdict)
		return
	}
	if w.Reason != "" && res.Trace != nil && !w.Reason.fits(res.Trace) {
		res.fail("denied because of %s, want %s", ReasonOf(res.Trace), w.Reason)
	}
	if w.Rule != "" && w.Rule != res.Rule {
		res.fail("decided by %s, want %s", orNone(res.Rule), w.Rule)
	}
}

// orNone returns the path of the rule that decided, which may be none.
func orNone(rule string) string {
	if rule == "" {
		return "no rule"
	}
	return rule
}

// Request returns the question whether the step's operation is allowed.
func (op *Op) Request(w World) (*rules.Request, error) {
	q := &rules.Request{
		Op:       rules.OpRead,
		Auth:     op.Who.Auth,
		Path:     op.Path,
		Query:    op.Query,
		Plain:    op.Plain,
		Data:     w,
		Now:      time.UnixMilli(op.Now),
		Children: w,
		KeysOnly: op.Shallow,
	}
	if op.Kind == Read {
		return q, nil
	}
	q.Op, q.Query, q.Plain = rules.OpWrite, tree.Query{}, false
	var err error
	if q.Writes, err = w.Resolve(op.Update, op.Now); err != nil {
		return q, err
	}
	return q, w.follow(q, op.Who.Admin)
}

// read decides a read, or one for each field, and compares the values.
func (r *groupRun) read(ctx context.Context, s *Step, res *Result) error {
	fields := s.Op.Fields
	if fields == nil {
		fields = []string{""}
	}
	for _, field := range fields {
		op := s.Op
		rel, err := tree.ParsePath(field)
		if err != nil {
			return err
		}
		op.Path = op.Path.Join(rel)
		q, err := op.Request(r.world)
		if err != nil {
			return err
		}
		allowed, err := r.decide(ctx, s, res, q)
		if err != nil || !allowed {
			return err
		}
		r.compareValue(s, res, field, op.view(r.world))
	}
	if s.Op.Listener != "" {
		r.listeners[s.Op.Listener] = &listener{op: s.Op}
	}
	return nil
}

// compareValue compares what a read returned, if anything is expected of it.
func (r *groupRun) compareValue(s *Step, res *Result, field string, got tree.Node) {
	if want, ok := s.Want.Values[field]; ok && want != got {
		res.fail("%s is %s, want %s", s.Op.Path.Join(clean(field)), got.JSON(), want.JSON())
	}
	if s.Want.Order == nil || field != "" {
		return
	}
	var keys []string
	for _, e := range s.Op.Query.Entries(r.world.Root.Get(s.Op.Path)) {
		keys = append(keys, e.Key)
	}
	if !slices.Equal(keys, s.Want.Order) {
		res.fail("the order is %q, want %q", keys, s.Want.Order)
	}
}

// write decides a write. If it is accepted, the invariants must hold of the
// result, which later steps see if the step commits.
func (r *groupRun) write(ctx context.Context, s *Step, res *Result) error {
	if s.Op.Assume != nil && r.world.Root.Get(s.Op.Path) != *s.Op.Assume {
		res.Got = Conflict
		r.compare(s, res)
		return nil
	}
	q, err := s.Op.Request(r.world)
	if err != nil {
		return err
	}
	allowed, err := r.decide(ctx, s, res, q)
	if err != nil || !allowed {
		return err
	}
	after := r.world.After(q.Writes)
	for _, p := range s.Op.Returns {
		if want, ok := s.Want.Values[p]; ok {
			if got := after.Root.Get(s.Op.Path.Join(clean(p))); got != want {
				res.fail("%s becomes %s, want %s", p, got.JSON(), want.JSON())
			}
		}
	}
	for _, v := range r.suite.Invariants {
		for _, broken := range v.Check(after.Root) {
			res.fail("breaks %s (%s): %s", v.ID, v.Text, broken)
		}
	}
	if s.Commit {
		r.listeners.notify(r.world, after)
		r.moved = r.moved || after != r.world
		r.world = after
	}
	return nil
}

// checkInvariants compares the invariants that do not hold with the expected.
func (r *groupRun) checkInvariants(s *Step, res *Result) {
	for _, v := range r.suite.Invariants {
		if slices.Contains(s.Want.Broken, v.ID) {
			continue
		}
		for _, broken := range v.Check(r.world.Root) {
			res.fail("%s does not hold (%s): %s", v.ID, v.Text, broken)
		}
	}
	for _, id := range s.Want.Broken {
		i := slices.IndexFunc(r.suite.Invariants, func(v *Invariant) bool { return v.ID == id })
		if i < 0 || len(r.suite.Invariants[i].Check(r.world.Root)) == 0 {
			res.fail("%s holds, which is not expected", id)
		}
	}
}
