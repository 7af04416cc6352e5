package rulestest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/jsonc"
	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree"
)

// A Scene is where an expression is evaluated outside a rules document.
//
// It is the state of a repl: what data, auth and the captures are when the
// expression is evaluated.
type Scene struct {
	Pattern string // of the node that the expression is at: "/rooms/$room"
	At      tree.Path
	Before  World
	After   World // what newData sees
	Who     Actor
	Now     int64
	Query   tree.Query
	Plain   bool
	Options rules.ParseOptions
}

// An Evaluation is what an expression evaluated to.
type Evaluation struct {
	Text   string // as in rules.Value
	Failed bool
	Type   rules.Type
	Parts  []rules.Value // of its sub-expressions, in the order they were evaluated
}

// Evaluate evaluates an expression of any type. It is put into the only rule of a
// document, and Explain tells what it was. So there is no second way to evaluate
// expressions, and a repl shows what a server would compute.
func (sc *Scene) Evaluate(ctx context.Context, src string) (*Evaluation, error) {
	x, kind, err := sc.parse(src)
	if err != nil {
		return nil, err
	}
	rule, at := wrap(src, x)
	rs, parseErr := rules.ParseWith(document(sc.Pattern, kind, rule), sc.Options)
	if parseErr != nil {
		return nil, parseErr
	}
	t, traceErr := rs.Explain(ctx, sc.request(kind))
	if traceErr != nil {
		return nil, traceErr
	}
	e := &Evaluation{Type: x.Type(), Failed: true, Text: "it was not evaluated"}
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.Path != sc.At || s.Outcome == rules.Skipped {
			continue
		}
		e.find(s, at, x)
	}
	return e, nil
}

// parse checks an expression and says which kind of rule it can be in.
func (sc *Scene) parse(src string) (lang.Expr, string, error) {
	x, err := lang.Parse(src, sc.Options.Dialect)
	if err != nil {
		return nil, "", err
	}
	scope := lang.Scope{NewData: true, Extensions: sc.Options.Extensions, Dialect: sc.Options.Dialect}
	for _, key := range strings.Split(sc.Pattern, "/") {
		if strings.HasPrefix(key, "$") {
			scope.Captures = append(scope.Captures, key)
		}
	}
	if err := lang.CheckAny(x, scope); err != nil {
		return nil, "", err
	}
	kind := ".read"
	lang.Walk(x, func(x lang.Expr) bool {
		if v, ok := x.(*lang.Variable); ok && (v.Name == "newData" || v.Name == "newRoot") {
			kind = ".write"
		}
		return true
	})
	return x, kind, nil
}

// wrap makes a rule, which must be a boolean, of an expression of any type. at is the
// offset of the expression in it.
func wrap(src string, x lang.Expr) (rule string, at int) {
	switch t := x.Type(); {
	case t == lang.Boolean:
		return src, 0
	case t == lang.Snapshot:
		return "(" + src + ").exists()", 1
	case t&lang.Any != 0:
		return "(" + src + ") == ''", 1
	}
	return src, 0
}

// document returns rules with one rule, at the node of a pattern.
func document(pattern, kind, rule string) string {
	text := fmt.Sprintf(`{%q: %s}`, kind, jsonc.Quote(rule))
	keys := strings.Split(strings.Trim(pattern, "/"), "/")
	for i := len(keys) - 1; i >= 0; i-- {
		if keys[i] != "" {
			text = "{" + jsonc.Quote(keys[i]) + ": " + text + "}"
		}
	}
	return `{"rules": ` + text + `}`
}

// request returns an operation that asks the rule.
func (sc *Scene) request(kind string) *rules.Request {
	q := &rules.Request{
		Op: rules.OpRead, Auth: sc.Who.Auth, Path: sc.At, Query: sc.Query, Plain: sc.Plain,
		Data: sc.Before, Now: time.UnixMilli(sc.Now),
	}
	if kind == ".write" {
		q.Op, q.Query, q.Plain = rules.OpWrite, tree.Query{}, false
		q.Writes = transition(sc.Before.Root, sc.After.Root, sc.At)
	}
	return q
}

// transition returns disjoint writes that turn one tree into another, of which
// one is at p.
func transition(before, after tree.Node, p tree.Path) []tree.ResolvedWrite {
	var list []tree.ResolvedWrite
	here := tree.Root
	for key, rest, ok := p.Cut(); ok; key, rest, ok = rest.Cut() {
		for k := range both(before, after) {
			if k != key && before.Child(k) != after.Child(k) {
				list = append(list, tree.ResolvedWrite{Target: tree.Target{Path: here.Child(k)}, Node: after.Child(k)})
			}
		}
		before, after, here = before.Child(key), after.Child(key), here.Child(key)
	}
	return append(list, tree.ResolvedWrite{Target: tree.Target{Path: p}, Node: after})
}

// both returns the keys of the children of two nodes.
func both(a, b tree.Node) map[string]bool {
	keys := make(map[string]bool)
	for _, n := range []tree.Node{a, b} {
		for key := range n.Children() {
			keys[key] = true
		}
	}
	return keys
}

// find sets the values of the expression and its parts from the step that
// evaluated it. at is where it begins in the rule.
func (e *Evaluation) find(s *rules.Step, at int, x lang.Expr) {
	from, to := x.Span()
	e.Failed, e.Text = s.Outcome == rules.Failed, s.Why
	for _, v := range s.Values {
		switch f, t := v.Expr.Span(); {
		case f == from+at && t == to+at:
			e.Text = v.Text
		case f >= from+at && t <= to+at:
			e.Parts = append(e.Parts, v)
		}
	}
	if lit, ok := x.(*lang.Literal); ok {
		e.Text = lit.String()
	}
}

// Stage returns the world after an operation, which may be one that no rule
// allows.
func (w World) Stage(op *Op) (World, error) {
	if op.Kind != Write && op.Kind != Update {
		return w, errors.New("a read changes nothing; give a write or an update")
	}
	writes, err := w.Resolve(op.Update, op.Now)
	if err != nil {
		return w, err
	}
	return w.after(writes)
}
