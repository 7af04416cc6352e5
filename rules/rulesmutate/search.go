package rulesmutate

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/rules/rulesgen"
	"github.com/dogwooddb/dogwood/rules/rulestest"
	"github.com/dogwooddb/dogwood/tree"
)

// A Search looks for suggestions.
//
// A test that it suggests asserts what the rules do now. It cannot know whether
// that is intended, so a suggestion is for a person to judge and is never added
// by itself.
type Search struct {
	Source *rulestest.Source
	Suites []*rulestest.Suite // what they do is where the search begins
	World  rulestest.World    // what the suggested tests begin with
	Budget int                // how many operations to try, about
	Seed   uint64             // with equal seeds the same is suggested
}

// Suggest returns tests that kill mutants. Those that no test was found for are
// not mentioned in any; they may mean the same as the rules.
func (s *Search) Suggest(ctx context.Context, survivors []*Mutant) ([]Suggestion, error) {
	rs, err := s.Source.Compile()
	if err != nil {
		return nil, err
	}
	f := finder{Search: s, rules: rs, compiled: make(map[*Mutant]*rules.Ruleset), alive: slices.Clone(survivors)}
	f.rnd = rand.New(rand.NewPCG(s.Seed, 2))
	f.world = s.World
	f.actors, f.bases, f.own = s.beginnings(rs)
	f.varier = rulesgen.NewVarier(rulesgen.NewWords(rs), f.world, f.actors, s.Seed)
	for _, look := range []func(context.Context) error{f.plain, f.systematic, f.random} {
		if err := look(ctx); err != nil {
			return nil, err
		}
	}
	return f.smallest(ctx, survivors)
}

// beginnings returns who acts in the suites, and what they do there or could do.
// The first own of the operations are from the suites.
func (s *Search) beginnings(rs *rules.Ruleset) (actors []rulestest.Actor, ops []rulestest.Op, own int) {
	add := func(a rulestest.Actor) {
		if !a.Admin {
			actors = a.AddTo(actors)
		}
	}
	now := int64(rulestest.DefaultNow)
	for _, suite := range s.Suites {
		for _, name := range suite.Names() {
			add(suite.Actors[name])
		}
		for _, g := range suite.Groups {
			for _, step := range g.Steps {
				if step.Skip == "" && step.Op.Kind <= rulestest.Update && step.Op.Fields == nil {
					op := step.Op
					op.Listener, op.Assume, op.Returns, op.Shallow = "", nil, nil, false
					ops, now = append(ops, op), op.Now
				}
			}
		}
	}
	add(rulestest.Actor{})
	own = len(ops)
	w := rulesgen.NewWords(rs)
	for _, pattern := range w.Nodes() {
		for _, op := range w.Operations(pattern, s.World, now) {
			op.Who = actors[len(ops)%len(actors)]
			ops = append(ops, op)
		}
	}
	return actors, ops, own
}

// A finder tries operations on the mutants that are still alive. It asks only the
// mutants of rules that the operation reaches: the others decide as the rules do.
//
// The search is random but repeatable: it draws from one generator with a seed, and
// no goroutine takes part. Systematic changes come first, and random ones spend the
// rest of the budget.
type finder struct {
	*Search
	rules    *rules.Ruleset
	compiled map[*Mutant]*rules.Ruleset
	alive    []*Mutant // those that nothing in found kills
	rnd      *rand.Rand
	varier   *rulesgen.Varier
	world    rulestest.World
	actors   []rulestest.Actor
	bases    []rulestest.Op
	own      int          // of them are the suites'
	tried    int          // calls of try, and variations that could not be made
	found    []Suggestion // each killed a mutant that was alive
}

// plain tries the operations as they are, by each actor.
func (f *finder) plain(ctx context.Context) error {
	for _, op := range f.bases {
		for _, who := range append([]rulestest.Actor{op.Who}, f.actors...) {
			if who.JSON() != op.Who.JSON() {
				op.As = ""
			}
			op.Who = who
			if _, err := f.try(ctx, nil, op); err != nil || f.done() {
				return err
			}
		}
	}
	return nil
}

// systematic tries operations of the suites with one change, to them or to the
// data at a place that the rules look at.
func (f *finder) systematic(ctx context.Context) error {
	for _, op := range f.bases[:f.own] {
		t, err := f.try(ctx, nil, op)
		if err != nil {
			return err
		}
		for varied := range f.varier.Each(op) {
			if _, err := f.try(ctx, nil, varied); err != nil || f.done() {
				return err
			}
		}
		if t == nil {
			continue
		}
		for _, place := range looked(t) {
			for _, setup := range f.varier.Setups(place) {
				if _, err := f.try(ctx, []rulestest.Op{setup}, op); err != nil || f.done() {
					return err
				}
			}
		}
	}
	return nil
}

// done reports whether nothing is left to find, or no more may be tried.
func (f *finder) done() bool { return len(f.alive) == 0 || f.tried >= f.Budget }

// random tries operations with small changes, behind others, with a part of their
// writes done before, and on data with small changes at places that the rules
// look at. What killed something is varied further.
func (f *finder) random(ctx context.Context) error {
	for !f.done() {
		setup, op := f.draw()
		if f.rnd.IntN(4) > 0 {
			varied, ok := f.varier.Vary(op, f.actors)
			if !ok {
				f.tried++
				continue
			}
			op = varied
		}
		t, err := f.try(ctx, setup, op)
		if err != nil {
			return err
		}
		if t == nil {
			continue
		}
		if err := f.vary(ctx, setup, op, looked(t)); err != nil {
			return err
		}
	}
	return nil
}

// draw returns an operation and what is to be done before it. Operations of the
// suites come more often than those that are made up: they lead further.
func (f *finder) draw() (setup []rulestest.Op, op rulestest.Op) {
	op = f.bases[f.rnd.IntN(len(f.bases))]
	if f.own > 0 && f.rnd.IntN(4) > 0 {
		op = f.bases[f.rnd.IntN(f.own)]
	}
	if n := len(f.found); n > 0 && f.rnd.IntN(3) == 0 {
		op, setup = f.found[f.rnd.IntN(n)].Op, f.found[f.rnd.IntN(n)].Setup
	}
	switch f.rnd.IntN(6) {
	case 0:
		setup = append(slices.Clone(setup), asAdmin(f.bases[f.rnd.IntN(max(f.own, 1))]))
	case 1, 2:
		if done, rest, ok := f.varier.Split(f.world, op); ok {
			setup, op = append(slices.Clone(setup), done), rest
		}
	}
	return setup, op
}

// vary tries an operation twice more, with other data at one of the places.
func (f *finder) vary(ctx context.Context, setup []rulestest.Op, op rulestest.Op, places []tree.Path) error {
	for range 2 {
		if len(places) == 0 || len(setup) > 2 {
			break
		}
		if s, ok := f.varier.Setup(f.world, places[f.rnd.IntN(len(places))]); ok {
			setup = append(slices.DeleteFunc(slices.Clone(setup), func(o rulestest.Op) bool { return s.Path.Contains(o.Path) }), s)
		}
		if _, err := f.try(ctx, setup, op); err != nil {
			return err
		}
	}
	return nil
}

// asAdmin returns an operation done by an administrator.
func asAdmin(op rulestest.Op) rulestest.Op {
	op.Who, op.As = rulestest.Actor{Admin: true}, ""
	return op
}

// looked returns the paths that rules looked at.
func looked(t *rules.Trace) []tree.Path {
	var list []tree.Path
	for _, s := range t.Steps {
		for _, v := range s.Values {
			if v.Expr.Type() != lang.Snapshot || v.Failed {
				continue
			}
			path, _, _ := strings.Cut(v.Text, " ")
			if p, err := tree.ParsePath(path); err == nil && !p.IsRoot() && !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
	}
	return list
}

// try asks the rules and the mutants of the rules that were asked. The trace is nil if there is
// nothing to ask: the operation or its setup is impossible, or an administrator does it.
func (f *finder) try(ctx context.Context, setup []rulestest.Op, op rulestest.Op) (*rules.Trace, error) {
	f.tried++
	q, ok := f.request(setup, op)
	if !ok || op.Who.Admin {
		return nil, nil
	}
	t, err := f.rules.Explain(ctx, q)
	if err != nil {
		return nil, err
	}
	killed, err := f.kills(ctx, q, t, f.alive)
	if err != nil || len(killed) == 0 {
		return t, err
	}
	f.alive = slices.DeleteFunc(f.alive, func(m *Mutant) bool { return slices.Contains(killed, m) })
	verdict := rulestest.Deny
	if t.Allow {
		verdict = rulestest.Allow
	}
	f.found = append(f.found, Suggestion{Setup: setup, Op: op, Verdict: verdict, Rule: t.Rule, Kills: killed})
	return t, nil
}

// request returns the question of an operation after its setup.
func (f *finder) request(setup []rulestest.Op, op rulestest.Op) (*rules.Request, bool) {
	world := f.world
	for _, s := range setup {
		var err error
		if world, err = world.Stage(&s); err != nil {
			return nil, false
		}
	}
	q, err := op.Request(world)
	return q, err == nil
}

// kills returns the mutants that give another verdict.
func (f *finder) kills(ctx context.Context, q *rules.Request, t *rules.Trace, among []*Mutant) ([]*Mutant, error) {
	asked := make(map[string]bool)
	addAsked(asked, t)
	var list []*Mutant
	for _, m := range among {
		if !asked[m.Rule.Path] {
			continue
		}
		rs, err := f.compile(m)
		if err != nil {
			return nil, err
		}
		d, err := rs.Check(ctx, q)
		if err != nil {
			return nil, err
		}
		if d.Allow != t.Allow {
			list = append(list, m)
		}
	}
	return list, nil
}

// compile returns the rules of a mutant, which are asked about many operations.
func (f *finder) compile(m *Mutant) (*rules.Ruleset, error) {
	if rs := f.compiled[m]; rs != nil {
		return rs, nil
	}
	rs, err := m.compile(f.Source)
	f.compiled[m] = rs
	return rs, err
}

// smallest returns few of the suggestions that kill all that were killed. While the search goes
// on, a suggestion has only the mutants that it was the first to kill, so all are asked again.
// Then it takes the one that kills the most of the rest, and so on. That is not always the least
// number, which would take exponential time to find.
func (f *finder) smallest(ctx context.Context, survivors []*Mutant) ([]Suggestion, error) {
	for i := range f.found {
		s := &f.found[i]
		q, _ := f.request(s.Setup, s.Op)
		t, err := f.rules.Explain(ctx, q)
		if err != nil {
			return nil, err
		}
		if s.Kills, err = f.kills(ctx, q, t, survivors); err != nil {
			return nil, err
		}
	}
	var list []Suggestion
	left := slices.Clone(survivors)
	for {
		best, most := -1, 0
		for i, s := range f.found {
			n := 0
			for _, m := range s.Kills {
				if slices.Contains(left, m) {
					n++
				}
			}
			if n > most || n == most && best >= 0 && len(s.Setup) < len(f.found[best].Setup) {
				best, most = i, n
			}
		}
		if most == 0 {
			return list, nil
		}
		s := f.found[best]
		s.Kills = slices.DeleteFunc(slices.Clone(s.Kills), func(m *Mutant) bool { return !slices.Contains(left, m) })
		left = slices.DeleteFunc(left, func(m *Mutant) bool { return slices.Contains(s.Kills, m) })
		list = append(list, s)
	}
}
