package eval

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree"
)

// parse returns a checked expression of a .read without captures.
func parse(t *testing.T, text string) lang.Expr {
	t.Helper()
	x, err := lang.Parse(text, lang.Firebase)
	if err != nil {
		t.Fatalf("%.99s: %v", text, err)
	}
	if errs := lang.CheckAll(x, lang.Scope{}, 1); errs != nil {
		t.Fatalf("%.99s: %v", text, errs[0])
	}
	return x
}

// holds reports whether an expression is true at the root.
func holds(t *testing.T, text string, in Input) bool {
	t.Helper()
	program, err := Compile(parse(t, text), nil)
	if err != nil {
		t.Fatal(err)
	}
	e := Evaluation{Input: in}
	e.Begin()
	return e.Holds(program, tree.Root)
}

// TestExplain: a noting program passes on what was evaluated, in that order, up to the
// first fault.
func TestExplain(t *testing.T) {
	for _, c := range []struct {
		rule string
		want []string
	}{
		{"true", nil},
		{"auth != null && auth.uid == 'bo'", []string{"auth != null: true", "auth: {\"uid\":\"ann\"}", "auth.uid: \"ann\"", "auth.uid == 'bo': false", "auth != null && auth.uid == 'bo': false"}},
		{"auth == null || now > 5", []string{"auth == null: false", "now: 7", "now > 5: true", "auth == null || now > 5: true"}},
		{"now + 1 > 'a' || true", []string{"now: 7", "now + 1: 8", "now + 1 > 'a': FAILED the operands must be two numbers or two strings"}},
		{"root.parent().child('a').exists()", []string{"root: / null", "root.parent(): FAILED the root has no parent"}},
	} {
		noting, err := CompileNoting(parse(t, c.rule), nil)
		if err != nil {
			t.Fatal(err)
		}
		e := Evaluation{Input: Input{Auth: `{"uid":"ann"}`, Now: time.UnixMilli(7)}}
		e.Begin()
		var got []string
		e.Explain(noting, tree.Root, func(x lang.Expr, text string, failed bool) {
			if failed {
				text = "FAILED " + text
			}
			got = append(got, fmt.Sprintf("%s: %s", x, text))
		})
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.rule, got, c.want)
		}
	}
}

// A sum of many terms is as deep as it is long.
func TestLongExpression(t *testing.T) {
	x := parse(t, "now"+strings.Repeat(" + 1", 1000)+" > 0")
	noting, err := CompileNoting(x, nil)
	if err != nil {
		t.Fatal(err)
	}
	var e Evaluation
	e.Begin()
	n := 0
	e.Explain(noting, tree.Root, func(lang.Expr, string, bool) { n++ })
	if n != 1002 || e.Fault() != "" {
		t.Errorf("%d values, fault %q; want 1,002 and none", n, e.Fault())
	}
}
