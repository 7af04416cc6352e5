package rules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"

	"github.com/tailscale/hujson"

	"github.com/dogwooddb/dogwood/tree"
)

func mustRules(t testing.TB, src string) *Ruleset {
	t.Helper()
	r, err := Parse(src)
	if err != nil {
		t.Fatalf("Parse(%q): %v", src, err)
	}
	return r
}

func check(t testing.TB, r *Ruleset, q *Request) Decision {
	t.Helper()
	d, err := r.Check(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestSourceIsVerbatim(t *testing.T) {
	for _, src := range []string{
		"{\"rules\":{}}",
		"\uFEFF{\"rules\":{}}\r\n",
		"// a\r\n{\r\n\t\"rules\" : { \".read\": \" true\r\n\", } /* b */ }",
	} {
		if got := mustRules(t, src).Source(); got != src {
			t.Errorf("Source() = %q, want %q", got, src)
		}
	}
}

// The texts here hold bytes that don't survive in a file.
func TestRawText(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"\uFEFF{\"rules\":{\".read\":true}}", `{"rules":{".read":true}}`},
		{"{\"rules\":{\".read\":\"\r\n\ttrue\"}}", `{"rules":{".read":"\r\n\ttrue"}}`},
		{"{\"rules\":{}} //\u2029", "1:16: Parse error.\n"},
		{"{\"rules\":{}} // no end", `{"rules":{}}`},
		{"{\"rules\":{\"\ud7ff\":{}}}", "{\"rules\":{\"\ud7ff\":{}}}"},

		{"\uFEFF{\"foo\":1}", "1:2: Expected 'rules' property.\n"},
		{"{\r\n\"rules\":{\r\n\".read\":\"\r\nx\"}}", "4:1: Unknown variable 'x'.\n"},
		{"{\"rules\":{\"a\nb\":{}}}", "1:11: " + msgBadKey + "\n"},
		{"{\"rules\":{\".read\":\"true\r\"}}", "1:19: Parse error.\n"}, // a CR alone is no line break
		{"{\"rules\":{\".read\":\"true\x00\"}}", "1:19: Parse error.\n"},
		{"{\"rules\":{\"\xff\":{}}}", "1:12: Parse error.\n"},
		{"{\"rules\":{}} // \xff", "1:17: Parse error.\n"},
		{"{\"rules\":{\"a\":\"\\", "1:17: Parse error.\n"},
		{"{\"rules\":{\".read\":\"\\\r\ntrue\"}}", "1:20: Invalid escape: '\\\r'\n"},
		{"{\"rules\":{\".read\":\"\\é\"}}", "1:20: Invalid escape: '\\é'\n"},
		{"{\"rules\":{\".read\":\"\\\t\"}}", "1:20: Invalid escape: '\\\t'\n"},
		{"{\"rules\":{\".read\":\"\n\",,}}", "2:3: Expected '\"'.\n"},
	} {
		got := ""
		if r, err := Parse(c.src); err != nil {
			got = err.Error()
		} else {
			got = r.Strict()
		}
		if got != c.want {
			t.Errorf("Parse(%q)\n got %q\nwant %q", c.src, got, c.want)
		}
	}
}

// Positions in an expression are found through the escapes of its JSON string.
func TestOffsetInString(t *testing.T) {
	const src = `{"rules": "a\n\u0041é\u00e9\u20AC\ud83d\ude00\ud83d\"\udE00z"}`
	d, err := readDocument(src)
	if err != nil {
		t.Fatal(err)
	}
	v := &d.root.Value.(*hujson.Object).Members[0].Value
	for _, c := range []struct{ of, want string }{
		{"a", `a\n`},
		{"\n", `\n\u0041`},
		{"A", `\u0041`},
		{"é", `é\u00e9`},
		{"€", `\u20AC`},
		{"😀", `\ud83d\ude00`},
		{"\uFFFD", `\ud83d\"`},
		{`"`, `\"\udE00`},
		{"\uFFFDz", `\udE00`},
		{"z", `z"`},
	} {
		got := src[d.offsetInString(v, strings.Index(str(v), c.of)):]
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%q of %q is found at %s, want %s", c.of, str(v), got, c.want)
		}
	}
	if got := src[d.offsetInString(v, len(str(v))):]; got != `"}` {
		t.Errorf("the end is found at %s", got)
	}
}

func TestErrorsNameTheRule(t *testing.T) {
	_, err := Parse(`{"rules":{".read":"x","rooms":{"$room":{".write":1,"a.b":{},".indexOn":2}}}}`)
	var errs Errors
	if !errors.As(err, &errs) {
		t.Fatalf("Parse: %T, want Errors", err)
	}
	var got []string
	for _, e := range errs {
		got = append(got, e.Rule)
	}
	want := []string{"/.read", "/rooms/$room/.write", "/rooms/$room/a.b", "/rooms/$room/.indexOn"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("rules of the errors: %q, want %q", got, want)
	}
}

func nested(n int, inner string) string {
	return `{"rules":` + strings.Repeat(`{"a":`, n) + inner + strings.Repeat("}", n) + "}"
}

func TestBounds(t *testing.T) {
	pad := func(n int) string { return `{"rules":{}}` + strings.Repeat(" ", n-len(`{"rules":{}}`)) }
	longKey := strings.Repeat("k", tree.MaxKeyBytes)
	for _, c := range []struct{ name, src, want string }{
		{"largest document", pad(maxDocument), ""},
		{"document too large", pad(maxDocument + 1), "1:1: Rules are larger than 1 MiB.\n"},
		{"deepest node", nested(maxDepth-1, `{".indexOn":["x"]}`), ""},
		{"node too deep", nested(maxDepth+1, `{}`), fmt.Sprintf("1:%d: Rules are nested more than 64 levels deep.\n", 10+5*(maxDepth+1))},
		{"brackets only", strings.Repeat("[", maxDocument), fmt.Sprintf("1:%d: Rules are nested more than 64 levels deep.\n", maxDepth+3)},
		{"longest key", `{"rules":{"` + longKey + `":{},"$` + longKey + `":{}}}`, ""},
		{"key too long", `{"rules":{"$` + longKey + `k":{}}}`, "1:11: Keys must have 1 to 768 bytes.\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse(c.src)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("Parse: %.200q, want %q", got, c.want)
			}
		})
	}
}

func TestPathsAreBounded(t *testing.T) {
	var children strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&children, `"%d":{".read":true,".indexOn":"x"},`, i)
	}
	key := strings.Repeat("k", tree.MaxKeyBytes)
	_, err := Parse(`{"rules":` + strings.Repeat(`{"`+key+`":`, 60) + "{" + children.String() + "}" + strings.Repeat("}", 61))
	if err == nil || strings.Count(err.Error(), "\n") != 1 || !strings.HasSuffix(err.Error(), msgPathsTooLong+"\n") {
		t.Errorf("Parse: %.200q, want one line %q", err, msgPathsTooLong)
	}
}

func TestRegexesAreBounded(t *testing.T) {
	var children strings.Builder
	for i := range 200 {
		fmt.Fprintf(&children, `"%d":{".validate":"newData.val().matches(/a{900}b{900}c{900}d{900}e{900}f{900}/)"},`, i)
	}
	_, err := Parse(`{"rules":{` + children.String() + `}}`)
	if err == nil || strings.Count(err.Error(), "\n") != 1 || !strings.HasSuffix(err.Error(), msgRegexesTooLong+"\n") {
		t.Errorf("Parse: %.200q, want one line %q", err, msgRegexesTooLong)
	}
}

func TestErrorsAreBounded(t *testing.T) {
	_, err := Parse(`{"rules":{` + strings.Repeat(`".read":1,`, 10*maxErrors) + `}}`)
	var errs Errors
	if errors.As(err, &errs); len(errs) != maxErrors {
		t.Errorf("Parse: %d errors, want %d", len(errs), maxErrors)
	}
}

func TestStandardRules(t *testing.T) {
	read := &Request{Op: OpRead, Path: tree.MustParsePath("a")}
	write := &Request{Op: OpWrite, Writes: writes(t, stored{}, false, "a", "1")}
	for _, c := range []struct {
		name     string
		rules    *Ruleset
		allow    bool
		enforced bool
		source   string
	}{
		{"Open()", Open(), true, false, `{"rules":{".read":true,".write":true}}`},
		{"Locked()", Locked(), false, true, `{"rules":{".read":false,".write":false}}`},
		{"Parse(Open().Source())", mustRules(t, Open().Source()), true, true, Open().Source()},
		{"the zero Ruleset", &Ruleset{}, false, false, ""},
	} {
		for _, q := range []*Request{read, write} {
			if d := check(t, c.rules, q); d.Allow != c.allow {
				t.Errorf("%s: Check of operation %d = %v, want %v", c.name, q.Op, d.Allow, c.allow)
			}
		}
		if got := c.rules.Enforced(); got != c.enforced {
			t.Errorf("%s: Enforced() = %v, want %v", c.name, got, c.enforced)
		}
		if c.rules.Source() != c.source || c.rules.Strict() != c.source {
			t.Errorf("%s: Source() = %s, Strict() = %s, want %s", c.name, c.rules.Source(), c.rules.Strict(), c.source)
		}
		if c.rules.Indexes(tree.Root) != nil || c.rules.AllIndexes() != nil {
			t.Errorf("%s has indexes", c.name)
		}
	}
}

func TestUnknownOperation(t *testing.T) {
	for _, op := range []Op{-1, 2} {
		if d, err := Open().Check(t.Context(), &Request{Op: op}); d.Allow || err == nil {
			t.Errorf("Check of operation %d = %v, %v, want an error", op, d, err)
		}
	}
}

func TestCheckEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if d, err := Open().Check(ctx, &Request{}); d.Allow || !errors.Is(err, context.Canceled) {
		t.Errorf("Check = %v, %v, want %v", d, err, context.Canceled)
	}
}

// A trace is a Reader that notes what is read of it, and may fail.
type trace struct {
	stored
	reads []string
	err   error
}

func (r *trace) Get(p tree.Path) (tree.Node, error) {
	r.reads = append(r.reads, "get "+p.String())
	n, _ := r.stored.Get(p)
	return n, r.err
}

func (r *trace) Has(p tree.Path) (bool, error) {
	r.reads = append(r.reads, "has "+p.String())
	has, _ := r.stored.Has(p)
	return has, r.err
}

func (r *trace) Peek(p tree.Path) (tree.Node, bool, error) {
	r.reads = append(r.reads, "peek "+p.String())
	leaf, isObject, _ := r.stored.Peek(p)
	return leaf, isObject, r.err
}

func (r *trace) Priority(p tree.Path) (tree.Node, error) {
	r.reads = append(r.reads, "priority "+p.String())
	n, _ := r.stored.Priority(p)
	return n, r.err
}

func (r *trace) Keys(p tree.Path) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for key := range r.stored.Keys(p) {
			r.reads = append(r.reads, "key "+p.Child(key).String())
			if !yield(key, r.err) {
				return
			}
		}
		if r.err != nil {
			yield("", r.err)
		}
	}
}

func TestCheckReadsLittle(t *testing.T) {
	const data = `{"a":{"b":{"c":1,"d":1},"e":1},"p":{"bad":1}}`
	const src = `{"rules":{".read":true,".write":true,".validate":"true",
		"a":{".validate":false},"p":{"bad":{".validate":false}}}}`
	for _, c := range []struct {
		path, value string
		want        []string
	}{
		{"/other", "1", nil},
		{"/other", "null", nil},
		{"/a", `{"b":1}`, nil},
		{"/a/b/c", "2", nil}, // what is written makes /a exist
		{"/a/b/c", "null", []string{"key /a/b", "key /a/b/c", "key /a/b/d"}}, // its sibling does
		{"/a/b", "null", []string{"key /a/b", "key /a/e"}},                   // and here
		{"/a/.priority", "1", []string{"has /a"}},                            // the value may break the rule
		{"/a/b/.priority", "1", []string{"has /a"}},                          // only that there is one
		{"/p/x/.priority", "1", nil},
	} {
		r := &trace{stored: stored{tree.MustParseNode(data)}}
		check(t, mustRules(t, src), &Request{Op: OpWrite, Writes: writes(t, stored{}, false, c.path, c.value), Data: r})
		if !reflect.DeepEqual(r.reads, c.want) {
			t.Errorf("write of %s at %s reads %q, want %q", c.value, c.path, r.reads, c.want)
		}
	}
}

func TestManyRemovalsAskOnce(t *testing.T) {
	const n = 5000
	r := &trace{stored: stored{tree.Empty}}
	q := &Request{Op: OpWrite, Data: r}
	for i := range n {
		p := tree.MustParsePath(fmt.Sprintf("a/k%d", i))
		q.Writes = append(q.Writes, tree.ResolvedWrite{Target: tree.Target{Path: p}})
	}
	d := check(t, mustRules(t, `{"rules":{".write":true,"a":{".validate":false}}}`), q)
	if !d.Allow || len(r.reads) != 1 {
		t.Errorf("%d removals: %v with %d reads, want one", n, d, len(r.reads))
	}
}

func TestCheckReturnsErrorsOfReading(t *testing.T) {
	broken := errors.New("disk on fire")
	rules := mustRules(t, `{"rules":{".write":true,"a":{".validate":false}}}`)
	for _, c := range []struct{ path, value string }{
		{"/a/b", "null"},
		{"/a/.priority", "1"},
		{"/a/b/.priority", "1"},
	} {
		q := &Request{Op: OpWrite, Writes: writes(t, stored{}, false, c.path, c.value), Data: &trace{err: broken}}
		if d, err := rules.Check(t.Context(), q); d.Allow || !errors.Is(err, broken) {
			t.Errorf("write of %s at %s: %v, %v, want %v", c.value, c.path, d, err, broken)
		}
	}
}

func TestCheckDoesNotAllocate(t *testing.T) {
	matched := mustRules(t, `{"rules":{"rooms":{"$room":{".read":true,".write":true,".validate":true,"members":{}}}}}`)
	for _, c := range []struct {
		name  string
		rules *Ruleset
	}{{"Open()", Open()}, {"a capture", matched}} {
		path := tree.MustParsePath("rooms/r1/members/ann")
		for _, q := range []*Request{
			{Op: OpRead, Path: path},
			{Op: OpWrite, Writes: []tree.ResolvedWrite{{Target: tree.Target{Path: path}, Node: tree.Bool(true)}}},
		} {
			ctx := t.Context()
			var d Decision
			allocs := testing.AllocsPerRun(100, func() { d, _ = c.rules.Check(ctx, q) })
			if allocs != 0 || !d.Allow {
				t.Errorf("%s: Check of operation %d = %v with %v allocations, want none", c.name, q.Op, d, allocs)
			}
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	r := mustRules(b, `{"rules":{"rooms":{"$room":{"members":{".read":true}}}}}`)
	q := &Request{Op: OpRead, Path: tree.MustParsePath("rooms/r1/members/ann")}
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if d, _ := r.Check(ctx, q); !d.Allow {
			b.Fatal("denied")
		}
	}
}

// sameRules reports whether two nodes have the same rules, wherever they stand in
// their documents.
func sameRules(a, b *node) bool {
	if a == nil || b == nil {
		return a == b
	}
	if len(a.children) != len(b.children) || a.captureName != b.captureName || a.validates != b.validates ||
		!reflect.DeepEqual(a.indexes, b.indexes) || !sameRules(a.capture, b.capture) {
		return false
	}
	for i, r := range []*rule{a.grants[OpRead], a.grants[OpWrite], a.validate} {
		s := []*rule{b.grants[OpRead], b.grants[OpWrite], b.validate}[i]
		if (r == nil) != (s == nil) || r != nil && (r.Path != s.Path || r.Kind != s.Kind || r.Source != s.Source || r.always != s.always) {
			return false
		}
	}
	for key, c := range a.children {
		if b.children[key] == nil || !sameRules(c, b.children[key]) {
			return false
		}
	}
	return true
}

func FuzzParse(f *testing.F) {
	for _, src := range []string{
		Open().Source(),
		nested(70, "{}"),
		"{\"rules\":{\".read\":\"\\u0020\n\tauth\",\"$a\":{\"$a\":{}}, /* x */ },} // y",
		`{"rules":{".write":"(true)","a":{".validate":false,".indexOn":["a/b",".value",]},"$b":{}}}`,
		`{"rules":{"a":{".read":"\ud83d\ude00\ud83d \q"}},,}`,
		`[{]},"{//`,
	} {
		f.Add(src)
	}
	for _, src := range ruleTexts(f) {
		f.Add(src)
	}
	paths := []tree.Path{tree.Root, tree.MustParsePath("a"), tree.MustParsePath("rooms/r1/x")}
	value := tree.MustParseNode(`{"a":{"b":1},"rooms":{"r1":2}}`)
	f.Fuzz(func(t *testing.T, src string) {
		r, err := Parse(src)
		if err != nil {
			if errs, ok := err.(Errors); !ok || len(errs) == 0 || r != nil {
				t.Fatalf("Parse(%q) = %v, %#v", src, r, err)
			}
			for _, e := range err.(Errors) {
				if e.Pos.Line < 1 || e.Pos.Col < 1 || e.Pos.Line > 1+strings.Count(src, "\n") || e.Pos.Col > 1+len(src) {
					t.Fatalf("Parse(%q): no such position: %v", src, e)
				}
			}
			return
		}
		if !json.Valid([]byte(r.Strict())) {
			t.Fatalf("Strict() of %q is not JSON: %q", src, r.Strict())
		}
		again, err := Parse(r.Strict())
		if err != nil {
			t.Fatalf("Parse(%q), from %q: %v", r.Strict(), src, err)
		}
		if again.Strict() != r.Strict() || !sameRules(again.root, r.root) || !reflect.DeepEqual(again.indexes, r.indexes) {
			t.Fatalf("Parse(%q) differs from Parse(%q)", r.Strict(), src)
		}
		for _, p := range paths {
			r.Indexes(p)
			check(t, r, &Request{Op: OpRead, Path: p})
			for _, v := range []tree.Node{tree.Empty, value} {
				w := tree.ResolvedWrite{Target: tree.Target{Path: p}, Node: v}
				check(t, r, &Request{Op: OpWrite, Writes: []tree.ResolvedWrite{w}, Data: stored{value}})
			}
		}
	})
}

func TestTooManyIndexes(t *testing.T) {
	var orders []string
	for i := range maxIndexes {
		orders = append(orders, fmt.Sprintf("%q", fmt.Sprint("i", i)))
	}
	text := `{"rules":{"a":{".indexOn":[` + strings.Join(orders, ",") + `]}%s}}`
	if _, err := Parse(fmt.Sprintf(text, "")); err != nil {
		t.Errorf("%d indexes: %v", maxIndexes, err)
	}
	_, err := Parse(fmt.Sprintf(text, `,"b":{".indexOn":"one"}`))
	if err == nil || !strings.Contains(err.Error(), "Too many indexes") {
		t.Errorf("one index more: %v", err)
	}
}

func TestMayWrite(t *testing.T) {
	for _, c := range []struct{ rules, may, not string }{
		{`{}`, "", "/ /a"},
		{`{".write":false}`, "", "/ /a /a/b"},
		{`{".write":true}`, "/ /a /a/b", ""},
		{`{".read":true,".validate":true,"a":{".read":true}}`, "", "/ /a"},
		{`{"a":{"b":{".write":true}}}`, "/ /a /a/b /a/b/c", "/b /a/c"},
		{`{"a":{".write":false,"b":{".write":true}}}`, "/ /a /a/b", "/a/c"},
		{`{"a":{"$k":{"x":{".write":true}}}}`, "/ /a /a/any /a/any/x /a/any/x/y", "/a/any/y /b"},
		{`{"a":{"$k":{".write":true},"lit":{".read":true}}}`, "/ /a /a/any", "/a/lit /a/lit/x"},
	} {
		r := mustRules(t, `{"rules":`+c.rules+`}`)
		for want, paths := range map[bool]string{true: c.may, false: c.not} {
			for _, s := range strings.Fields(paths) {
				p, err := tree.ParsePath(s)
				if err != nil {
					t.Fatal(err)
				}
				if got := r.MayWrite(p); got != want {
					t.Errorf("%s: MayWrite(%s) = %t", c.rules, s, got)
				}
			}
		}
	}
	if new(Ruleset).MayWrite(tree.Root) || Locked().MayWrite(tree.Root) || !Open().MayWrite(tree.Root) {
		t.Error("the zero, locked or open rules are wrong")
	}
}
