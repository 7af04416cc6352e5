package lang_test

import (
	"math/rand/v2"
	"testing"

	"github.com/dogwooddb/dogwood/internal/langtest"
	"github.com/dogwooddb/dogwood/rules/lang"
	"pgregory.net/rapid"
)

var names = []string{"auth", "data", "$a", "x", "true1", "été", "matches", "length"}

// exprs generates well-formed trees of any types.
func exprs(depth int) *rapid.Generator[lang.Expr] {
	if depth == 0 {
		return rapid.OneOf(literals(), variables(), regexes())
	}
	return rapid.Custom(func(t *rapid.T) lang.Expr {
		sub := exprs(depth - 1)
		draw := func() lang.Expr { return sub.Draw(t, "operand") }
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			return &lang.Array{Items: rapid.SliceOfN(sub, 0, 3).Draw(t, "items")}
		case 1:
			op := rapid.SampledFrom([]lang.Op{lang.Not, lang.Neg}).Draw(t, "op")
			return &lang.Unary{Op: op, X: draw()}
		case 2, 3, 4:
			op := lang.Op(rapid.IntRange(int(lang.Or), int(lang.Rem)).Draw(t, "op"))
			return &lang.Binary{Op: op, X: draw(), Y: draw()}
		case 5:
			return &lang.Cond{Test: draw(), Then: draw(), Else: draw()}
		case 6:
			return &lang.Member{X: draw(), Name: rapid.SampledFrom(names).Draw(t, "name")}
		case 7:
			return &lang.Member{X: draw(), Name: rapid.String().Draw(t, "name"), Bracket: true}
		case 8:
			key := sub.Filter(func(x lang.Expr) bool { return !isString(x) }).Draw(t, "key")
			return &lang.Index{X: draw(), Key: key}
		}
		return &lang.Call{Fun: draw(), Args: rapid.SliceOfN(sub, 0, 3).Draw(t, "args")}
	})
}

func isString(x lang.Expr) bool {
	lit, ok := x.(*lang.Literal)
	if !ok {
		return false
	}
	_, ok = lit.Value.(string)
	return ok
}

func literals() *rapid.Generator[lang.Expr] {
	return rapid.Custom(func(t *rapid.T) lang.Expr {
		return &lang.Literal{Value: rapid.OneOf(
			rapid.Just[any](nil),
			rapid.Bool().AsAny(),
			rapid.Float64Range(0, 1e308).AsAny(),
			rapid.Custom(func(t *rapid.T) any { return float64(rapid.Uint32().Draw(t, "n")) }),
			rapid.String().AsAny(),
		).Draw(t, "value")}
	})
}

func variables() *rapid.Generator[lang.Expr] {
	return rapid.Custom(func(t *rapid.T) lang.Expr {
		return &lang.Variable{Name: rapid.SampledFrom(names).Draw(t, "name")}
	})
}

func regexes() *rapid.Generator[lang.Expr] {
	return rapid.Custom(func(t *rapid.T) lang.Expr {
		return &lang.Regex{
			Pattern:    rapid.SampledFrom(langtest.Patterns).Draw(t, "pattern"),
			IgnoreCase: rapid.Bool().Draw(t, "i"),
		}
	})
}

// TestRoundTrip wants each tree to parse as it prints.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := exprs(3).Draw(t, "x")
		src := x.String()
		y, err := lang.Parse(src, lang.Firebase)
		if err != nil {
			t.Fatalf("%s: %d: %v", src, err.Offset, err)
		}
		if !lang.Equal(x, y) || y.String() != src {
			t.Fatalf("%s parses as %s", src, y)
		}
	})
}

// TestGeneratedRoundTrip does the same with rules that pass Check.
func TestGeneratedRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		for _, d := range []lang.Dialect{lang.Firebase, lang.Wilddog} {
			s := lang.Scope{Captures: []string{"$a"}, NewData: true, Extensions: lang.Extensions{NewRoot: true}, Dialect: d}
			x := langtest.Generate(r, s)
			y := mustParse(t, x.String(), d)
			if err := lang.Check(y, s); err != nil || !lang.Equal(x, y) {
				t.Errorf("%s: %v", x, err)
			}
		}
	}
}

// FuzzParse parses anything in both dialects. What parses must print as what
// parses alike, and stay so when it is checked.
func FuzzParse(f *testing.F) {
	var cases []ruleCase
	for _, file := range []string{"rules-cases.json", "prod-observations.json"} {
		vectors(f, file, &cases)
		for _, c := range cases {
			f.Add(c.When.Expression)
			doc, _ := c.Rules.(map[string]any)
			for _, r := range append(rulesOf(doc, ""), rulesOf(c.Given.Rules, "")...) {
				f.Add(r.src)
			}
		}
	}
	for _, src := range []string{
		"$a.startsWith('b') && $a.length() > 1 || $a.matches('^a/b')", "- -1 == 1. - .5e3 + 0x1f", "'\\ud83d\\ude00\\x00'",
		"(1)['a'][auth ? 1 : /a/i]", "newRoot.exists() // end", "a(/[/]\\//i.b, [])", "$a.matches('\\n*')",
	} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		for _, d := range []lang.Dialect{lang.Firebase, lang.Wilddog} {
			x, err := lang.Parse(src, d)
			if err != nil {
				if x != nil || err.Offset < 0 || err.Offset > len(src) || err.Msg == "" {
					t.Fatalf("%v, %+v", x, err)
				}
				continue
			}
			same(t, x, d)
			if lang.CheckAny(x, lang.Scope{Captures: []string{"$a"}, NewData: true, Extensions: lang.Extensions{NewRoot: true}, Dialect: d}) == nil {
				same(t, x, d)
			}
		}
	})
}

// same fails if the text of x is not another tree's that is equal.
func same(t *testing.T, x lang.Expr, d lang.Dialect) {
	t.Helper()
	src := x.String()
	if len(src) > lang.MaxBytes {
		return // escapes and spaces have made it longer
	}
	y, err := lang.Parse(src, d)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	if !lang.Equal(x, y) || y.String() != src {
		t.Fatalf("%s parses as %s", src, y)
	}
}
