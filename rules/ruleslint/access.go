package ruleslint

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/jsonc"
	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/rules/rulesgen"
	"github.com/dogwooddb/dogwood/rules/rulestest"
	"github.com/dogwooddb/dogwood/tree"
)

// Bounds of what FindAccess asks. maxAccessAll is for both callers together: the signed-out
// one is asked first, so a huge document loses answers about signed-in users first.
const (
	maxAccessNode = 400     // operations for one rule, by each caller
	maxAccessAll  = 200_000 // decisions in all
)

// OpenWrite is the code of warnings about writes that need no user. FindAccess finds them,
// and Lint, which evaluates no rules, does not.
const OpenWrite = "open-write"

// An Access is a grant that needs no more than a client: a .read or .write rule that
// is true on an empty database.
type Access struct {
	Rule     *rules.Rule
	SignedIn bool // it needs a user, whichever; otherwise clients need not sign in
	Invalid  bool // of a write: .validate refused every value that was tried

	// A rule has one Access at most. The weaker caller counts: a grant that a signed-out client
	// has is not reported again for a user, even if it is Invalid and the user's is not. For one
	// caller, a write that was carried out replaces one that was Invalid.
}

// Node returns the pattern of the node that the rule is of: "/rooms/$room".
func (a *Access) Node() string {
	if i := strings.LastIndexByte(a.Rule.Path, '/'); i > 0 {
		return a.Rule.Path[:i]
	}
	return "/"
}

// FindAccess asks every grant of a document about made-up operations on an empty
// database, and about deleting a value: first as a client that is signed out, then as a
// user that no rule names. It returns the grants that were true, in the order of the
// document. It may miss a grant that needs data or a value that it does not make up. A
// comment with the code open-write silences it about a .write.
func FindAccess(ctx context.Context, r *rules.Ruleset) ([]*Access, error) {
	a := accessFinder{ctx: ctx, ruleset: r, words: rulesgen.NewWords(r), left: maxAccessAll, found: map[string]*Access{}}
	for _, caller := range []struct {
		auth     string
		signedIn bool
	}{{"null", false}, {`{"uid":"` + strangerUID + `","provider":"password","token":{}}`, true}} {
		who, err := rulestest.ParseActor(caller.auth)
		if err != nil {
			return nil, err
		}
		a.who, a.signedIn = who, caller.signedIn
		if err := a.all(); err != nil {
			return nil, err
		}
	}
	doc, err := jsonc.Parse(r.Source())
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	ignored := parseIgnores(doc.Text)
	var list []*Access
	for rule := range r.Rules() {
		x := a.found[rule.Path]
		silent := rule.Kind == rules.WriteRule && ignored.covers(Warning{Code: OpenWrite, Pos: rule.Pos})
		if x != nil && !silent {
			list = append(list, x)
		}
	}
	return list, nil
}

// strangerUID is a uid that no rule names and no path has. So
// auth.uid == $uid is false for it, and a rule that is true asks for no particular user.
const strangerUID = "stranger-4f1c"

// accessNow is the clock of the operations, in milliseconds. It is fixed so that two runs over
// the same document warn of the same rules.
const accessNow = 1_700_000_000_000

// An accessFinder collects grants for one call of FindAccess, in one pass for each caller.
//
// It decides by asking and not by reading the rules: a grant that is hidden behind
// functions and negations is found by being granted. The number of questions is bounded
// for each rule, so a grant may be missed, but none is reported that does not exist.
type accessFinder struct {
	ctx      context.Context
	ruleset  *rules.Ruleset
	words    *rulesgen.Words
	who      rulestest.Actor
	signedIn bool
	left     int                // of maxAccessAll
	found    map[string]*Access // by path of the rule
}

// all asks about operations at every node that has a grant. Rules with an answer that the
// second caller cannot improve are skipped.
func (a *accessFinder) all() error {
	for rule := range a.ruleset.Rules() {
		if rule.Kind == rules.ValidateRule {
			continue
		}
		if x := a.found[rule.Path]; x != nil && !x.Invalid {
			continue
		}
		if err := a.one(rule); err != nil {
			return err
		}
	}
	return nil
}

// one asks about operations at the node of a rule until one is granted by it.
func (a *accessFinder) one(rule *rules.Rule) error {
	node := strings.TrimSuffix(strings.TrimSuffix(rule.Path, rule.Kind.String()), "/")
	ops := a.words.Operations(node, rulestest.World{}, accessNow)
	ops = append(ops, a.more(rule, ops)...)
	asked := 0
	for _, op := range ops {
		if (op.Kind == rulestest.Read) != (rule.Kind == rules.ReadRule) {
			continue
		}
		if asked++; asked > maxAccessNode || a.left <= 0 {
			return nil
		}
		a.left--
		op.Who = a.who
		world := rulestest.World{}
		if op.Kind == rulestest.Write && op.Value == "null" { // without a value it would change nothing
			world.Root = world.Root.With(op.Path, tree.Number(1))
		}
		q, err := op.Request(world)
		if err != nil {
			continue // an increment of what is no number
		}
		done, err := a.ask(rule, &op, q)
		if done || err != nil {
			return err
		}
	}
	return nil
}

// ask reports whether the rule granted an operation that was carried out.
//
// Decision.Rule is the first .read or .write that was true, and of a denied write the rule that
// denied it. A grant that a .validate overruled is therefore found in the trace only. The trace
// is slower and asked for in that case alone.
func (a *accessFinder) ask(rule *rules.Rule, op *rulestest.Op, q *rules.Request) (bool, error) {
	d, err := a.ruleset.Check(a.ctx, q)
	if err != nil {
		return false, fmt.Errorf("%s: %w", op, err)
	}
	invalid := !d.Allow && strings.HasSuffix(d.Rule, "/"+rules.ValidateRule.String())
	granted := d.Allow && d.Rule == rule.Path
	if invalid {
		t, err := a.ruleset.Explain(a.ctx, q)
		if err != nil {
			return false, fmt.Errorf("%s: %w", op, err)
		}
		granted = slices.ContainsFunc(t.Steps, func(s rules.Step) bool { return s.Rule.Path == rule.Path && s.Outcome == rules.True })
	}
	if !granted {
		return false, nil
	}
	if x := a.found[rule.Path]; x == nil || !invalid && x.SignedIn == a.signedIn {
		a.found[rule.Path] = &Access{Rule: rule, SignedIn: a.signedIn, Invalid: invalid}
	}
	return !invalid, nil
}

// more returns operations around what one rule mentions: values with the children that
// it asks for, the plain read of the realtime protocol, and reads of one child.
func (a *accessFinder) more(rule *rules.Rule, ops []rulestest.Op) (list []rulestest.Op) {
	keys := childNames(rule.Expr)
	for _, op := range ops {
		if op.Kind == rulestest.Read && op.Plain {
			op.Query = tree.Query{}
			list = append(list, op)
			op.Plain = false
			for _, fromLast := range []bool{false, true} {
				op.Query = tree.Query{OrderBy: tree.ByKey, Limit: 1, FromLast: fromLast}
				list = append(list, op)
			}
		}
		if op.Kind != rulestest.Write || op.Value != "1" || len(keys) == 0 {
			continue
		}
		for _, leaf := range []tree.Node{tree.Bool(true), tree.String("text"), tree.Number(1), tree.Number(accessNow), tree.Bool(false)} {
			var value tree.Node
			for _, key := range keys {
				value = value.With(tree.MustParsePath(key), leaf)
			}
			t := rulestest.OpText{Kind: "write", Path: op.Path.String(), Value: value.JSON()}
			if made, err := t.Parse(); err == nil {
				made.Now = accessNow
				list = append(list, made)
			}
		}
	}
	return list
}

// childNames returns the paths that an expression asks for as literals.
func childNames(x lang.Expr) (list []string) {
	lang.Walk(x, func(x lang.Expr) bool {
		c, ok := x.(*lang.Call)
		if !ok {
			return true
		}
		m, ok := c.Fun.(*lang.Member)
		if !ok || m.X.Type() != lang.Snapshot {
			return true
		}
		args := c.Args
		if len(args) == 1 {
			if a, ok := args[0].(*lang.Array); ok {
				args = a.Items
			}
		}
		for _, arg := range args {
			s, isText := text(arg)
			if p, err := tree.ParsePath(s); isText && err == nil && !p.IsRoot() && !slices.Contains(list, p.Clean()) {
				list = append(list, p.Clean())
			}
		}
		return true
	})
	return list
}
