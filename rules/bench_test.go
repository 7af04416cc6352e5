package rules

import (
	"iter"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/tree"
)

// flat is a Reader of leaves by their paths: the least that reading can cost.
type flat map[tree.Path]tree.Node

func (f flat) Get(p tree.Path) (tree.Node, error)        { return f[p], nil }
func (f flat) Has(p tree.Path) (bool, error)             { return f[p] != tree.Empty, nil }
func (f flat) Peek(p tree.Path) (tree.Node, bool, error) { return f[p], false, nil }
func (f flat) Priority(p tree.Path) (tree.Node, error)   { return f[p].Priority(), nil }
func (f flat) Keys(tree.Path) iter.Seq2[string, error]   { return func(func(string, error) bool) {} }

// memberRule is a rule as most chats have it.
const memberRule = `auth != null && root.child('members/'+$room+'/'+auth.uid).exists()`

func rulesWith(kind, expression string) string {
	return `{"rules":{"rooms":{"$room":{"` + kind + `":"` + expression + `"}}}}`
}

func memberRead(tb testing.TB) (*Ruleset, *Request) {
	return mustRules(tb, rulesWith(".read", memberRule)), &Request{
		Op:   OpRead,
		Auth: NewAuth(`{"uid":"ann","provider":"custom","token":{"sub":"ann","email":"ann@example.org"}}`),
		Path: tree.MustParsePath("rooms/r1/messages"),
		Data: flat{tree.MustParsePath("members/r1/ann"): tree.Bool(true)},
		Now:  time.UnixMilli(testNow),
	}
}

func TestMembershipAllocates(t *testing.T) {
	r, q := memberRead(t)
	ctx := t.Context()
	var d Decision
	if allocs := testing.AllocsPerRun(100, func() { d, _ = r.Check(ctx, q) }); allocs > 4 || !d.Allow {
		t.Errorf("Check = %v with %v allocations, want at most 4", d, allocs)
	}
}

func BenchmarkExpressions(b *testing.B) {
	for _, c := range []struct{ name, rule string }{
		{"signed in", `auth != null`},
		{"owner", `auth != null && auth.uid == $room`},
		{"member", memberRule},
		{"member, step by step", `auth != null && root.child('members').child($room).child(auth.uid).val() === true`},
		{"claim", `auth.token.email.endsWith('@example.org')`},
		{"regex", `auth.token.email.matches(/^[a-z]+@example[.]org$/i)`},
		{"fault", `data.val() + 1 == 1 || true`},
	} {
		b.Run(c.name, func(b *testing.B) {
			_, q := memberRead(b)
			r := mustRules(b, rulesWith(".read", c.rule))
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				r.Check(ctx, q)
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		r := rule{Rule: Rule{Source: memberRule}}
		if err := r.compile([]string{"rooms", "$room"}, ParseOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// A write of a small message with the rules that such messages have.
func BenchmarkWrite(b *testing.B) {
	_, q := memberRead(b)
	r := mustRules(b, `{"rules":{"rooms":{"$room":{"messages":{"$m":{
		".write": "auth != null && root.child('members/'+$room+'/'+auth.uid).exists() && !data.exists()",
		".validate": "newData.hasChildren(['text','at','from'])",
		"text": {".validate": "newData.isString() && newData.val().length < 1000"},
		"at": {".validate": "newData.val() == now"},
		"from": {".validate": "newData.val() == auth.uid"},
		"$other": {".validate": false}}}}}}}`)
	q.Op = OpWrite
	q.Writes = []tree.ResolvedWrite{{
		Target: tree.Target{Path: tree.MustParsePath("rooms/r1/messages/m1")},
		Node:   tree.MustParseNode(`{"at":1234567890123,"from":"ann","text":"hello"}`),
	}}
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if d, _ := r.Check(ctx, q); !d.Allow {
			b.Fatal(d)
		}
	}
}
