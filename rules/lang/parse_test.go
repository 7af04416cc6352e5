package lang_test

import (
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/rules/lang"
)

func mustParse(t testing.TB, src string, d lang.Dialect) lang.Expr {
	t.Helper()
	x, err := lang.Parse(src, d)
	if err != nil {
		t.Fatalf("%s: %d: %v", src, err.Offset, err)
	}
	return x
}

// TestPrint parses expressions and prints them in canonical form, from which the
// structure can be seen.
func TestPrint(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"true", "true"},
		{" ( ( null ) ) ; // end", "null"},
		{`"it's"`, `'it\'s'`},
		{`'a\\b\n\r\t\x00\u007f\u2028é"'`, `'a\\b\n\r\t\x00\x7f\u2028é"'`},
		{"0x10 + 1.50 + 1e21 + 1e-7 + .000001 + 0", "16 + 1.5 + 1e+21 + 1e-7 + 0.000001 + 0"},
		{"a||b&&c==d<e+f*g", "a || b && c == d < e + f * g"},
		{"((((((a||b)&&c)==d)<e)+f)*g)", "(((((a || b) && c) == d) < e) + f) * g"},
		{"a||(b&&(c==(d<(e+(f*g)))))", "a || b && c == d < e + f * g"},
		{"a-b-c", "a - b - c"},
		{"a-(b-c)", "a - (b - c)"},
		{"(a||b)||c", "a || b || c"},
		{"a||(b||c)", "a || (b || c)"},
		{"a===b!==c", "a == b != c"},
		{"a%b/c*d", "a % b / c * d"},
		{"a?b:c?d:e", "a ? b : c ? d : e"},
		{"a?b?c:d:e", "a ? b ? c : d : e"},
		{"(a?b:c)?d:e", "(a ? b : c) ? d : e"},
		{"(a?b:c)||d", "(a ? b : c) || d"},
		{"a||b?c:d", "a || b ? c : d"},
		{"a||(b?c:d)", "a || (b ? c : d)"},
		{"a?.5:1", "a ? 0.5 : 1"},
		{"!!a", "!!a"},
		{"- - -a", "- - -a"},
		{"!-a", "!-a"},
		{"-!a", "-!a"},
		{"-(-1)", "- -1"},
		{"a - -b", "a - -b"},
		{"!(a&&b)", "!(a && b)"},
		{"-a.b", "-a.b"},
		{"(-a).b", "(-a).b"},
		{"(!a)['b']", "(!a)['b']"},
		{"a . b [ 'c' ] [ d ] ( e , f ) ( )", "a.b['c'][d](e, f)()"},
		{"(a.b)(c)", "a.b(c)"},
		{"a[('b')]", "a['b']"},
		{"a[b?c:d]", "a[b ? c : d]"},
		{"a(b?c:d,e)", "a(b ? c : d, e)"},
		{"(a+b).c", "(a + b).c"},
		{"(1).a", "(1).a"},
		{"1['a']", "1['a']"},
		{"1..a", "(1).a"},
		{"'a'.b", "'a'.b"},
		{"a.true.null.in.typeof", "a.true.null.in.typeof"},
		{"[]", "[]"},
		{"[a,'b',[1]]", "[a, 'b', [1]]"},
		{"/a/", "/a/"},
		{`/a[/\]]\/b/i.c`, `/a[/\]]\/b/i.c`},
		{"/=a/", "/=a/"},
		{"a / /b/", "a / /b/"},
		{"a /b/ c", "a / b / c"},
		{"a.m(/ b/)", "a.m(/ b/)"},
		{"auth.uid.length()", "auth.uid.length()"},
		{"this", "this"},
	} {
		x := mustParse(t, c.src, lang.Firebase)
		if got := x.String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.src, got, c.want)
		}
		if again := mustParse(t, c.want, lang.Firebase); !lang.Equal(x, again) {
			t.Errorf("%s and %s are not equal", c.src, again)
		}
	}
}

func TestSyntaxErrors(t *testing.T) {
	for _, c := range []struct {
		src    string
		offset int
		msg    string
	}{
		{"", 0, "Unexpected end of expression."},
		{" // a", 5, "Unexpected end of expression."},
		{"auth !=", 7, "Unexpected end of expression."},
		{"(auth != null", 13, "Unexpected end of expression."},
		{"a ? b", 5, "Unexpected end of expression."},
		{"a.", 2, "Unexpected end of expression."},
		{"(a b", 3, "Expected ')'."},
		{"(a, b)", 2, "Expected ')'."},
		{"f(a;", 3, "Expected ')'."},
		{"a[b)", 3, "Expected ']'."},
		{"[b)", 2, "Expected ']'."},
		{"a ? b ; c", 6, "Expected ':'."},
		{"a b", 2, "syntax error"},
		{"a, b", 1, "syntax error"},
		{"a;;", 2, "syntax error"},
		{"a == true; true", 11, "syntax error"},
		{"a)", 1, "syntax error"},
		{"a.1", 1, "syntax error"},
		{"a.'b'", 2, "syntax error"},
		{"a[]", 2, "syntax error"},
		{"[a,]", 3, "syntax error"},
		{"f(a,)", 4, "syntax error"},
		{"()", 1, "syntax error"},
		{"* a", 0, "syntax error"},
		{"+a", 0, "syntax error"},
		{"a ?? b", 3, "syntax error"},
		{"{}", 0, "syntax error"},
		{"a => b", 2, "Rule expressions may not contain assignments."},
		{"auth = null", 5, "Rule expressions may not contain assignments."},
		{"a /= b", 2, "Rule expressions may not contain assignments."},
		{"a &&= b", 2, "Rule expressions may not contain assignments."},
		{"auth &&& true", 7, "Rule expressions may not contain operator '&'."},
		{"a | b", 2, "Rule expressions may not contain operator '|'."},
		{"(a ^ b)", 3, "Rule expressions may not contain operator '^'."},
		{"~a", 0, "Rule expressions may not contain operator '~'."},
		{"a++", 1, "Rule expressions may not contain operator '++'."},
		{"--a", 0, "Rule expressions may not contain operator '--'."},
		{"a**b", 1, "Rule expressions may not contain operator '**'."},
		{"1 << 2", 2, "Rule expressions may not contain operator '<<'."},
		{"a in [b]", 2, "Rule expressions may not contain operator 'in'."},
		{"typeof a", 0, "Rule expressions may not contain operator 'typeof'."},
		{"new Date()", 0, "Rule expressions may not contain operator 'new'."},
		{"a || 'b", 5, "unterminated string literal"},
		{"/a", 0, "unterminated regular expression literal"},
		{"/a\nb/", 0, "unterminated regular expression literal"},
		{"x.matches(/[a/)", 10, "unterminated regular expression literal"},
		{"x.matches(/a\\/)", 10, "unterminated regular expression literal"},
		{"x.matches(/a/g)", 13, "regular expressions do not support flags other than i"},
		{"x.matches(/a/ii)", 13, "regular expressions do not support flags other than i"},
		{"x.matches(/a^/)", 12, "Invalid regular expression: '^' is only allowed at the beginning."},
		{"a\xff", 1, "Expression is not valid UTF-8."},
		{"'\ufffd\xff'", 4, "Expression is not valid UTF-8."},
	} {
		_, err := lang.Parse(c.src, lang.Firebase)
		if err == nil || err.Offset != c.offset || err.Error() != c.msg {
			t.Errorf("%q: %+v, want %d: %s", c.src, err, c.offset, c.msg)
		}
	}
}

func TestLimits(t *testing.T) {
	repeat := strings.Repeat
	for _, c := range []struct {
		what, src string
		msg       string // the beginning, "" if it parses
	}{
		{"65,536 bytes", repeat(" ", lang.MaxBytes-1) + "a", ""},
		{"65,537 bytes", repeat(" ", lang.MaxBytes) + "a", "Expression is too long"},
		{"199 parentheses", repeat("(", 199) + "a" + repeat(")", 199), ""},
		{"200 parentheses", repeat("(", 200) + "a" + repeat(")", 200), "Expression is nested too deeply"},
		{"199 negations", repeat("!", 199) + "a", ""},
		{"200 negations", repeat("!", 200) + "a", "Expression is nested too deeply"},
		{"200 brackets", repeat("a[", 200) + "a" + repeat("]", 200), "Expression is nested too deeply"},
		{"200 lists", repeat("[", 200) + "a" + repeat("]", 200), "Expression is nested too deeply"},
		{"199 ternaries in a chain", repeat("a ? b : ", 199) + "c", ""},
		{"200 ternaries in a chain", repeat("a ? b : ", 200) + "c", "Expression is nested too deeply"},
		{"a chain of 2,500 operands", repeat("a || ", 2499) + "a", ""},
		{"a chain of 2,501 operands", repeat("a || ", 2500) + "a", "Expression is too complex"},
		{"a chain of 4,999 members", "a" + repeat(".b", 4999), ""},
		{"a chain of 5,000 members", "a" + repeat(".b", 5000), "Expression is too complex"},
		{"10,000 steps", repeat("f(/a{1000}/) || ", 9) + "f(/(b|c){500}/)", ""},
		{"10,001 steps", repeat("f(/a{1000}/) || ", 10) + "f(/b/)", "Regular expressions repeat too much"},
		{"a pattern of 1,000 characters", "/" + repeat("é", 1000) + "/", ""},
		{"a pattern of 1,001 characters", "/" + repeat("é", 1001) + "/", "Regular expression is too long"},
	} {
		x, err := lang.Parse(c.src, lang.Firebase)
		switch {
		case c.msg == "" && err != nil:
			t.Errorf("%s: %v", c.what, err)
		case c.msg != "" && (err == nil || !strings.HasPrefix(err.Msg, c.msg)):
			t.Errorf("%s: %v, want %s", c.what, err, c.msg)
		case err == nil && !lang.Equal(x, mustParse(t, x.String(), lang.Firebase)):
			t.Errorf("%s: doesn't parse as it prints", c.what)
		}
	}
}

// TestSpans finds the source of nodes of each kind.
func TestSpans(t *testing.T) {
	src := " ( a.b ) [ 'c' ](/d/i, [1]) + - ( 'e' ) == (x ? y : z)[w] ; "
	var got []string
	lang.Walk(mustParse(t, src, lang.Firebase), func(x lang.Expr) bool {
		from, to := x.Span()
		got = append(got, src[from:to])
		return true
	})
	want := []string{
		"( a.b ) [ 'c' ](/d/i, [1]) + - ( 'e' ) == (x ? y : z)[w]",
		"( a.b ) [ 'c' ](/d/i, [1]) + - ( 'e' )",
		"( a.b ) [ 'c' ](/d/i, [1])", "( a.b ) [ 'c' ]", "a.b", "a", "/d/i", "[1]", "1",
		"- ( 'e' )", "'e'", "(x ? y : z)[w]", "x ? y : z", "x", "y", "z", "w",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWalkStops(t *testing.T) {
	n := 0
	lang.Walk(mustParse(t, "a.b(c) || !d", lang.Firebase), func(x lang.Expr) bool {
		n++
		_, isCall := x.(*lang.Call)
		return !isCall
	})
	if n != 4 {
		t.Errorf("%d nodes, want ||, the call, ! and d", n)
	}
}

func TestEqual(t *testing.T) {
	all := []string{
		"null", "true", "1", "'1'", "/a/", "/a/i", "/b/", "[]", "[1]", "[2]", "a", "b", "!a", "-a", "!b",
		"a + b", "a - b", "b + a", "a ? b : c", "b ? b : c", "a ? c : c", "a ? b : b",
		"a.b", "a['b']", "b.b", "a.c", "a[b]", "b[b]", "a[c]", "a()", "b()", "a(b)", "a(b, c)",
	}
	for _, a := range all {
		for _, b := range all {
			x, y := mustParse(t, a, lang.Firebase), mustParse(t, " ( "+b+" ) ", lang.Firebase)
			if got := lang.Equal(x, y); got != (a == b) {
				t.Errorf("Equal(%s, %s) = %t", a, b, got)
			}
		}
	}
}
