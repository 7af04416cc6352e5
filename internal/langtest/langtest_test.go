package langtest

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/rules/lang"
)

var scopes = []lang.Scope{
	{},
	{Captures: []string{"$a", "$b"}},
	{Captures: []string{"$a"}, NewData: true},
	{Captures: []string{"$a"}, NewData: true, Extensions: lang.Extensions{NewRoot: true}, Dialect: lang.Wilddog},
}

// TestMostTreesPass holds the generator to its types: Generate throws few trees
// away.
func TestMostTreesPass(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const all = 4000
	passed := 0
	for i := range all {
		s := scopes[i%len(scopes)]
		g := generator{Rand: r, scope: s, budget: 1 + r.IntN(40)}
		src := g.boolean().String()
		x, err := lang.Parse(src, s.Dialect)
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		if lang.Check(x, s) == nil {
			passed++
		}
	}
	if passed < all*95/100 {
		t.Errorf("%d of %d trees pass Check, want 95 %%", passed, all)
	}
}

// TestGenerateCovers finds every construct in some thousand rules.
func TestGenerateCovers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var all strings.Builder
	largest := 0
	for i := range 4000 {
		s := scopes[i%len(scopes)]
		x := Generate(r, s)
		if x.Type() != lang.Boolean {
			t.Fatalf("%s is %s", x, x.Type())
		}
		n := 0
		lang.Walk(x, func(lang.Expr) bool { n++; return true })
		largest = max(largest, n)
		all.WriteString(x.String() + "\n")
	}
	for _, want := range []string{
		" && ", " || ", " == ", " != ", " < ", " <= ", " > ", " >= ", " + ", " - ", " * ", " / ", " % ",
		"!", "-now", " ? ", "null", "true", "false", "auth", "now", "$a", "$b", "data", "root", "newData", "newRoot",
		".val()", ".exists()", ".isNumber()", ".isString()", ".isBoolean()", ".getPriority()",
		".child(", ".parent()", ".hasChild(", ".hasChildren()", ".hasChildren([]", ".hasChildren(['", "['val']()",
		".length", ".contains(", ".beginsWith(", ".endsWith(", ".replace(", ".toLowerCase()", ".toUpperCase()",
		".matches(/", "/i)", "auth.token", "['0']", "[1]", "['' + ",
		"query.orderByKey", "query.orderByValue", "query.orderByPriority", "query.orderByChild",
		"query.startAt", "query.endAt", "query.equalTo", "query.limitToFirst", "query.limitToLast",
	} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no rule has %s", want)
		}
	}
	if largest < 30 || largest > 1000 {
		t.Errorf("the largest rule has %d nodes", largest)
	}
}
