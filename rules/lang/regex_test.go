package lang

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

func TestRegex(t *testing.T) {
	for _, c := range []struct {
		pattern string
		i       bool
		yes, no []string
	}{
		{"oba", false, []string{"foobar"}, []string{"", "Oba"}},
		{"^foo", false, []string{"foobar"}, []string{"xfoo", "\nfoo"}},
		{"bar$", false, []string{"foobar"}, []string{"bar\n", "barx", "bar\nx"}},
		{"^$", false, []string{""}, []string{"a", "\n"}},
		{"^", false, []string{"", "a"}, nil},
		{"$", false, []string{"", "a"}, nil},
		{"^a|b$", false, []string{"ax", "xb"}, []string{"xa", "bx"}},
		{"^a.b$", false, []string{"axb", "aéb", "a\u0085b", "a\x00b"}, []string{"ab", "a\nb", "a\rb", "a\u2028b", "a\u2029b"}},
		{`^\s$`, false, []string{" ", "\t", "\n", "\v", "\f", "\r", "\u00a0", "\ufeff", "\u2028", "\u3000", "\u2003"}, []string{"", "a", "\u200b", "\u0085"}},
		{`^\S$`, false, []string{"a", "\u200b", "\u0085"}, []string{" ", "\v", "\u00a0"}},
		{`^\w\d\W\D$`, false, []string{"_7-x", "Z0éé"}, []string{"é7-x", "a٣-x", "a7ax", "a7-7"}},
		{`^[\s\d-]+$`, false, []string{"1 - 2"}, []string{"a"}},
		{`^[^\s\d]+$`, false, []string{"ab"}, []string{"a b", "1"}},
		{`^[\W]$`, false, []string{"-", "é"}, []string{"a", "_"}},
		{`[^\s\S]`, false, nil, []string{"", "a", " "}},
		{`^\b\n\1$`, false, []string{"bn1"}, []string{"\b\n1", "\n"}},
		{`^\$\^\.\*\/\\\[\{$`, false, []string{`$^.*/\[{`}, nil},
		{`^[\]\-^a]+$`, false, []string{"]-^a"}, []string{"\\"}},
		{"^[-a]+$", false, []string{"-a"}, []string{"b"}},
		{"^[a-]+$", false, []string{"-a"}, []string{"b"}},
		{"^[a-c-e]+$", false, []string{"abc-e"}, []string{"d"}},
		{`^[\w-.]+$`, false, []string{"a-b.c"}, []string{"a+b"}},
		{`^[+-\d]+$`, false, []string{"+-1"}, []string{",", "."}},
		{"^[$^(|)*+?{}.]+$", false, []string{"$^(|)*+?{}."}, []string{"a"}},
		{"^[[]$", false, []string{"["}, nil},
		{"]", false, []string{"]"}, nil},
		{`^\{foo}$`, false, []string{"{foo}"}, []string{"foo"}},
		{"^a{2}$", false, []string{"aa"}, []string{"a", "aaa"}},
		{"^a{2,}$", false, []string{"aa", "aaaa"}, []string{"a"}},
		{"^a{2,3}$", false, []string{"aa", "aaa"}, []string{"a", "aaaa"}},
		{"^a{0}b$", false, []string{"b"}, []string{"ab"}},
		{"^a{01}$", false, []string{"a"}, []string{"aa"}},
		{"^ab*c+d?$", false, []string{"ac", "abbccd"}, []string{"ab", "acdd"}},
		{"^(ab)*$", false, []string{"", "abab"}, []string{"aba"}},
		{"^a**b+*c?{2}$", false, []string{"", "aabbcc", "c"}, []string{"ccc"}},
		{"^a*?$", false, []string{"", "aa"}, []string{"b"}},
		{"^a{2}{3}$", false, []string{"aaaaaa"}, []string{"aaaaa"}},
		{"^(a|b(c|d))e$", false, []string{"ae", "bce", "bde"}, []string{"be", "ace"}},
		{"(?:foo)", false, []string{"x?:foo"}, []string{"foo", ":foo"}},
		{"^(*a)(+)({)$", false, []string{"*a+{"}, []string{"a"}},
		{"+a", false, []string{"+a"}, []string{"aa"}},
		{"?", false, []string{"?"}, []string{""}},
		{"**", false, []string{"", "*"}, nil},
		{"^({2})$", false, []string{"{2}"}, nil},
		{"^[a-z]+$", true, []string{"aBz"}, []string{"a1", "\u017f", "\u212a"}},
		{"^[^a-z]+$", true, []string{"1", "\u017f", "\u212a"}, []string{"A", "a"}},
		{"^k\u212a$", true, []string{"K\u212a"}, []string{"kk", "\u212aK"}},
		{"^É$", true, []string{"é", "É"}, []string{"e", "E"}},
		{"^[à-þ]$", true, []string{"É", "é"}, []string{"e"}},
		{"^σ$", true, []string{"Σ", "ς", "σ"}, []string{"s"}},
		{`^\W$`, true, []string{"\u017f", "\u212a", "-"}, []string{"s", "K"}},
		{`^[\W]$`, true, []string{"\u017f", "\u212a", "-"}, []string{"s", "K"}},
		{"^😀.$", false, []string{"😀😀"}, []string{"😀"}},
	} {
		x, err := compileRegex(c.pattern, c.i, regexBounds)
		if err != nil {
			t.Errorf("/%s/: %v", c.pattern, err)
			continue
		}
		re := regexp.MustCompile(x.re2)
		for _, s := range c.yes {
			if !re.MatchString(s) {
				t.Errorf("/%s/ doesn't match %q (%s)", c.pattern, s, re)
			}
		}
		for _, s := range c.no {
			if re.MatchString(s) {
				t.Errorf("/%s/ matches %q (%s)", c.pattern, s, re)
			}
		}
	}
}

func TestRegexErrors(t *testing.T) {
	for _, c := range []struct {
		pattern string
		offset  int
		what    string
	}{
		{"", 0, "empty alternative"},
		{"a|", 2, "empty alternative"},
		{"|a", 0, "empty alternative"},
		{"a||b", 2, "empty alternative"},
		{"^(foo|)$", 6, "empty alternative"},
		{"a()", 2, "empty alternative"},
		{"(a", 0, "missing ')'"},
		{"a(b(c)", 1, "missing ')'"},
		{"a)", 1, "unmatched ')'"},
		{"[a", 0, "missing ']'"},
		{"a[]", 1, "empty set"},
		{"a[^]", 1, "empty set"},
		{"[]a]", 0, "empty set"},
		{"[b-a]", 1, "range out of order"},
		{"a^b", 1, "'^' is only allowed at the beginning"},
		{"(^foo$|bar)", 1, "'^' is only allowed at the beginning"},
		{"^^", 1, "'^' is only allowed at the beginning"},
		{"a$b", 1, "'$' is only allowed at the end"},
		{"(foo$)", 4, "'$' is only allowed at the end"},
		{"a$|b", 1, "'$' is only allowed at the end"},
		{"^*", 1, "nothing to repeat"},
		{"a|*", 2, "nothing to repeat"},
		{"é|*", 3, "nothing to repeat"},
		{"a{", 1, "'{' begins no repeat count"},
		{"a{,2}", 1, "'{' begins no repeat count"},
		{"a{1,2", 1, "'{' begins no repeat count"},
		{"a{x}", 1, "'{' begins no repeat count"},
		{"a{3,2}", 1, "repeat counts out of order"},
		{"a{1001}", 2, "repeat count too large"},
		{"a{1,99999999999999999999}", 4, "repeat count too large"},
		{`a\`, 1, `nothing follows '\'`},
		{`[a\`, 2, `nothing follows '\'`},
	} {
		_, err := compileRegex(c.pattern, false, regexBounds)
		want := "Invalid regular expression: " + c.what + "."
		if err == nil || err.Offset != c.offset || err.Msg != want {
			t.Errorf("/%s/: %+v, want %d: %s", c.pattern, err, c.offset, want)
		}
	}
}

// TestRegexSize keeps programs small.
func TestRegexSize(t *testing.T) {
	for _, c := range []struct {
		pattern string
		ok      bool
	}{
		{"a{1000}", true},
		{strings.Repeat("a{1000}", 10), true},
		{strings.Repeat("a{1000}", 11), false},
		{"(a{10}){100}", true},
		{"(a{100}){11}", false}, // RE2 counts repeats of repeats
		{"((abcdefghijk){10}){100}", false},
		{"(a{1,1000}|" + strings.Repeat("b{1000}|", 9) + "c)", false},
		{strings.Repeat("(", 450) + "a" + strings.Repeat(")", 450), true},
		{strings.Repeat("[^a]", 250), true},
	} {
		_, err := compileRegex(c.pattern, true, regexBounds)
		if (err == nil) != c.ok || err != nil && err.Msg != msgRegexTooLarge {
			t.Errorf("%.30s: %v", c.pattern, err)
		}
	}
}

// A patternMaker makes random patterns that mean the same to RE2 as they are.
type patternMaker struct{ *rand.Rand }

func (m patternMaker) union(depth int) string {
	s := m.sequence(depth)
	for m.IntN(4) == 0 {
		s += "|" + m.sequence(depth)
	}
	return s
}

func (m patternMaker) sequence(depth int) string {
	var b strings.Builder
	for range 1 + m.IntN(3) {
		b.WriteString(m.atom(depth))
		b.WriteString([]string{"", "", "", "*", "+", "?", "{2}", "{1,2}", "{1,}"}[m.IntN(9)])
	}
	return b.String()
}

func (m patternMaker) atom(depth int) string {
	if depth > 0 && m.IntN(3) == 0 {
		return "(" + m.union(depth-1) + ")"
	}
	return []string{
		"a", "b", "B", "0", "-", `\.`, `\w`, `\W`, `\d`, `\D`, ".", "[ab]", "[^ab]", "[a-z0]", `[\d.]`, `[^\w-]`, "[A-Z]",
	}[m.IntN(17)]
}

// TestRegexTwoWays compares translated patterns with what RE2 makes of the
// originals, where both languages agree.
func TestRegexTwoWays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	m := patternMaker{r}
	matched := 0
	for range 3000 {
		pattern, i := m.union(3), r.IntN(2) == 0
		if r.IntN(2) == 0 && !strings.Contains(pattern, "|") {
			pattern = "^" + pattern + "$"
		}
		flags := "(?s)"
		if i {
			flags = "(?si)"
		}
		x, err := compileRegex(pattern, i, regexBounds)
		want, bad := regexp.Compile(flags + pattern)
		if err != nil || bad != nil {
			t.Fatalf("/%s/: %v, and RE2 says %v", pattern, err, bad)
		}
		re := regexp.MustCompile(x.re2)
		for range 10 {
			s := make([]byte, r.IntN(6))
			for k := range s {
				s[k] = "abAB01-. "[r.IntN(9)]
			}
			if re.Match(s) != want.Match(s) {
				t.Errorf("/%s/ ignore case %t on %q: %t", pattern, i, s, re.Match(s))
			}
			if re.Match(s) {
				matched++
			}
		}
	}
	if matched < 3000 || matched > 27000 {
		t.Errorf("%d of 30,000 match: this tests little", matched)
	}
}

func TestComplement(t *testing.T) {
	for _, c := range []struct{ set, want charset }{
		{charset{{0, unicode.MaxRune}}, nil},
		{nil, charset{{0, unicode.MaxRune}}},
		{charset{{'b', 'c'}, {'a', 'a'}, {'a', 'b'}, {'x', 'x'}}, charset{{0, 'a' - 1}, {'d', 'w'}, {'y', unicode.MaxRune}}},
		{charset{{'a', 'z'}, {'b', 'c'}}, charset{{0, 'a' - 1}, {'z' + 1, unicode.MaxRune}}},
	} {
		if got := c.set.complement(); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("complement of %v: %v, want %v", c.set, got, c.want)
		}
	}
}

func FuzzRegex(f *testing.F) {
	for _, s := range []string{
		"", "a", "^a|b$", "(a|b)*", "[^a-z\\d]", "a{1,2}{3}?", "(?:a)", "[a", "\\", "^(ab{2,})$", "[\\w-.]", "é", "(((a{10}){10}){10}){10}",
	} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, pattern string, ignoreCase bool) {
		x, err := compileRegex(pattern, ignoreCase, regexBounds)
		if err != nil {
			if x != nil || err.Offset < 0 || err.Offset > len(pattern) || err.Msg == "" {
				t.Errorf("/%s/: %v, %+v", pattern, x, err)
			}
			if strings.Contains(err.Msg, "repeat too much") && !strings.ContainsAny(pattern, "{") {
				t.Errorf("/%s/: RE2 refuses it", pattern)
			}
			return
		}
		regexp.MustCompile(x.re2).MatchString(pattern)
	})
}
