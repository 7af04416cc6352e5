package rules

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/langtest"
	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree"
)

// A maker makes random rules, data and requests that have much to do with each
// other.
type maker struct{ *rand.Rand }

func newMaker(seed uint64) maker { return maker{rand.New(rand.NewPCG(seed, 0))} }

func (m maker) oneIn(n int) bool { return m.IntN(n) == 0 }

func choose[T any](m maker, list []T) T { return list[m.IntN(len(list))] }

// rules makes a document and what the oracle knows of it.
func (m maker) rules() (string, *mapRules) {
	var b strings.Builder
	b.WriteString(`{"rules":`)
	r := m.node(&b, 0, nil)
	b.WriteString("}")
	return b.String(), r
}

// node makes a node below the given captures.
func (m maker) node(b *strings.Builder, depth int, captures []string) *mapRules {
	r := &mapRules{rules: make(map[string]lang.Expr), children: make(map[string]*mapRules)}
	b.WriteString("{")
	separator := ""
	property := func(name string) {
		b.WriteString(separator + strconv.Quote(name) + ":")
		separator = ","
	}
	for _, name := range []string{".read", ".write", ".validate"} {
		if m.oneIn(2) {
			s := lang.Scope{Captures: captures, NewData: name != ".read", Extensions: lang.Extensions{NewRoot: true}}
			x := langtest.Generate(m.Rand, s)
			if m.oneIn(8) {
				x, _ = lang.Parse("true", lang.Firebase)
			}
			r.rules[name] = x
			text, _ := json.Marshal(x.String())
			property(name)
			b.Write(text)
		}
	}
	if depth < 3 {
		if m.oneIn(3) {
			key := choose(m, langtest.Keys)
			property(key)
			r.children[key] = m.node(b, depth+1, captures)
		}
		if !m.oneIn(4) {
			r.capture = "$" + string(rune('x'+depth))
			property(r.capture)
			r.below = m.node(b, depth+1, append(captures[:len(captures):len(captures)], r.capture))
		}
	}
	b.WriteString("}")
	return r
}

func (m maker) key() string { return choose(m, langtest.Keys) }

func (m maker) path(most int) tree.Path {
	p := tree.Root
	for range m.IntN(most + 1) {
		p = p.Child(m.key())
	}
	return p
}

func (m maker) leaf() tree.Node {
	switch m.IntN(4) {
	case 0:
		return tree.Bool(m.oneIn(2))
	case 1:
		return tree.Number(choose(m, langtest.Numbers))
	}
	return tree.String(choose(m, langtest.Strings))
}

func (m maker) data(depth int) tree.Node {
	n := tree.Empty
	if depth > 0 && !m.oneIn(4) {
		for range m.IntN(4) {
			n = n.With(tree.Root.Child(m.key()), m.data(depth-1))
		}
	} else if !m.oneIn(5) {
		n = m.leaf()
	}
	if m.oneIn(4) {
		n = n.WithPriority(m.priority())
	}
	return n
}

func (m maker) priority() tree.Node {
	if m.oneIn(2) {
		return tree.String(choose(m, langtest.Strings))
	}
	return tree.Number(choose(m, langtest.Numbers))
}

func (m maker) auth() Auth {
	if m.oneIn(4) {
		return Auth{}
	}
	claims := map[string]any{"uid": m.key(), "list": []any{"a", 1.0}}
	for range m.IntN(5) {
		claims[m.key()] = m.claim(2)
	}
	text, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	if m.oneIn(2) {
		return Auth{JSON: string(text)}
	}
	return NewAuth(string(text))
}

func (m maker) claim(depth int) any {
	switch m.IntN(6) {
	case 0:
		return m.oneIn(2)
	case 1:
		return choose(m, langtest.Numbers)
	case 2, 3:
		return choose(m, langtest.Strings)
	case 4:
		return []any{m.key(), choose(m, langtest.Numbers)}
	}
	claims := make(map[string]any)
	for range m.IntN(3) * depth {
		claims[m.key()] = m.claim(depth - 1)
	}
	return claims
}

func (m maker) query() (q tree.Query) {
	if m.oneIn(3) {
		return q
	}
	q.OrderBy = choose(m, []string{tree.ByKey, tree.ByValue, tree.ByPriority, "a", "b/c"})
	bound := func(rank tree.KeyRank) (b tree.Bound) {
		if m.oneIn(2) {
			b = tree.Bound{Set: true, Value: m.leaf(), KeyRank: rank}
		}
		return b
	}
	q.Start, q.End = bound(tree.BeforeKeys), bound(tree.AfterKeys)
	if m.oneIn(3) {
		q.End = q.Start
		q.End.KeyRank = tree.AfterKeys
	}
	if m.oneIn(2) {
		q.Limit, q.FromLast = 1+m.IntN(20), m.oneIn(2)
	}
	return q
}

func (m maker) writes() []tree.ResolvedWrite {
	var u tree.Update
	var list []tree.ResolvedWrite
	for range 1 + m.IntN(3)*m.IntN(2) {
		target := tree.Target{Path: m.path(4), Priority: m.oneIn(8)}
		if more := append(u[:len(u):len(u)], tree.Write{Target: target}); more.Check() == nil {
			u = more
			w := tree.ResolvedWrite{Target: target}
			switch {
			case target.Priority:
				w.Node = m.priority()
			case !m.oneIn(4):
				w.Node = m.data(3)
			}
			list = append(list, w)
		}
	}
	return list
}

func (m maker) request() *Request {
	q := &Request{Data: stored{m.data(4)}, Auth: m.auth(), Now: time.UnixMilli(1700000000000)}
	if m.oneIn(3) {
		q.Op, q.Path, q.Query = OpRead, m.path(4), m.query()
	} else {
		q.Op, q.Writes = OpWrite, m.writes()
	}
	return q
}

// check compiles the expressions of the oracle's rules, which need types.
func (r *mapRules) check(t *testing.T, captures []string) {
	for name, x := range r.rules {
		s := lang.Scope{Captures: captures, NewData: name != ".read", Extensions: lang.Extensions{NewRoot: true}}
		if err := lang.Check(x, s); err != nil {
			t.Fatalf("%s: %v", x, err)
		}
	}
	for _, c := range r.children {
		c.check(t, captures)
	}
	if r.below != nil {
		r.below.check(t, append(captures[:len(captures):len(captures)], r.capture))
	}
}

// triples is how many decisions the differential test compares.
func triples() int {
	return tier.Count("DOGWOOD_ORACLE_TRIPLES", 3_000, 5_000, 2_000_000)
}

// TestOracle compares decisions on random rules, data and requests with those of
// the oracle, and those of Check with those of Explain.
// DOGWOOD_ORACLE_TRIPLES sets how many.
func TestOracle(t *testing.T) {
	allowed, faults := 0, 0
	n := triples()
	for seed := uint64(0); n > 0; seed++ {
		m := newMaker(seed)
		src, model := m.rules()
		r, err := ParseWith(src, ParseOptions{Extensions: lang.Extensions{NewRoot: true}})
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, src, err)
		}
		model.check(t, nil)
		for range 20 {
			n--
			q := m.request()
			d := check(t, r, q)
			x, err := r.Explain(t.Context(), q)
			if err != nil || x.Decision != d {
				t.Fatalf("seed %d: Explain = %+v, %v, Check = %v\n%s\n%s", seed, x.Decision, err, d, src, describe(q))
			}
			if want := model.decide(q); d.Allow != want {
				t.Fatalf("seed %d: allow = %t by %s, want %t\n%s\n%s", seed, d.Allow, d.Rule, want, src, describe(q))
			}
			if d.Allow {
				allowed++
			}
			for _, s := range x.Steps {
				if s.Outcome == Failed {
					faults++
				}
				if text, shown := shownResult(s); shown && (s.Outcome == Failed || text != strconv.FormatBool(s.Outcome == True)) {
					t.Fatalf("seed %d: %s is shown as %s, and is %s\n%s", seed, s.Rule.Source, text, s.Outcome, describe(q))
				}
			}
		}
	}
	t.Logf("%d allowed, %d faults", allowed, faults)
	if allowed == 0 || faults == 0 {
		t.Error("the requests are no test")
	}
}

// shownResult returns the value that a trace shows for a whole rule.
func shownResult(s Step) (text string, shown bool) {
	if len(s.Values) == 0 {
		return "", false
	}
	last := s.Values[len(s.Values)-1]
	return last.Text, last.Expr == s.Rule.Expr && !last.Failed
}

func describe(q *Request) string {
	return fmt.Sprintf("%+v\ndata %s\nauth %s", *q, q.Data.(stored).JSON(), q.Auth.JSON)
}
