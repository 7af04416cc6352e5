package eval

import (
	"strings"
	"testing"
	"unicode"
)

func TestCaseMappings(t *testing.T) {
	for _, c := range []struct{ s, lower, upper string }{
		{"", "", ""},
		{"abcXYZ09", "abcxyz09", "ABCXYZ09"},
		{"İ", "i̇", "İ"},
		{"Iıi", "iıi", "III"},
		{"ß", "ß", "SS"},
		{"ẞ", "ß", "ẞ"},
		{"Straße", "straße", "STRASSE"},
		{"\ufb01\ufb03\ufb05", "\ufb01\ufb03\ufb05", "FIFFIST"},
		{"\ufb13", "\ufb13", "\u0544\u0546"},
		{"ŉ", "ŉ", "ʼN"},
		{"ǆǅǄ", "ǆǆǆ", "ǄǄǄ"},
		{"\u1fb3\u1fbc", "\u1fb3\u1fb3", "\u0391\u0399\u0391\u0399"},
		{"\u1fb7", "\u1fb7", "\u0391\u0342\u0399"},
		{"𐐀𐐨", "𐐨𐐨", "𐐀𐐀"},
		{"日本", "日本", "日本"},

		// A sigma that ends a word, and others.
		{"ΟΔΟΣ", "οδος", "ΟΔΟΣ"},
		{"ΟΔΟΣ ΣΑΣ", "οδος σας", "ΟΔΟΣ ΣΑΣ"},
		{"Σ", "σ", "Σ"},
		{"ΣΣ", "σς", "ΣΣ"},
		{"AΣ", "aς", "AΣ"},
		{"AΣB", "aσb", "AΣB"},
		{"AΣ1", "aς1", "AΣ1"},
		{"1Σ", "1σ", "1Σ"},
		{"A'Σ", "a'ς", "A'Σ"},
		{"AΣ'", "aς'", "AΣ'"},
		{"AΣ.B", "aσ.b", "AΣ.B"},
		{"AΣ\u00ad\u0301B", "aσ\u00ad\u0301b", "AΣ\u00ad\u0301B"},
		{"A\u00adΣ", "a\u00adς", "A\u00adΣ"},
		{"ςσ", "ςσ", "ΣΣ"},
	} {
		if got := toLower(c.s); got != c.lower {
			t.Errorf("toLower(%+q) = %+q, want %+q", c.s, got, c.lower)
		}
		if got := toUpper(c.s); got != c.upper {
			t.Errorf("toUpper(%+q) = %+q, want %+q", c.s, got, c.upper)
		}
		rule := `'` + c.s + `'.toLowerCase() == '` + c.lower + `' && '` + c.s + `'.toUpperCase() == '` + c.upper + `'`
		if !strings.Contains(c.s, "'") && !holds(t, rule, Input{}) {
			t.Errorf("%s is not true", rule)
		}
	}
}

// Upper case is upper case, and the table holds nothing that Go maps as well.
func TestLongUpper(t *testing.T) {
	if len(longUpper) != 102 {
		t.Errorf("the table has %d characters, SpecialCasing has 102", len(longUpper))
	}
	for r, s := range longUpper {
		if len([]rune(s)) < 2 || strings.ToUpper(s) != s || unicode.IsUpper(r) {
			t.Errorf("%+q: %+q", r, s)
		}
	}
}

func TestCaseOfASCIIMakesNothing(t *testing.T) {
	s := strings.Repeat("a1", 500)
	if n := testing.AllocsPerRun(10, func() { toLower(s) }); n > 0 {
		t.Errorf("toLower allocates %v times", n)
	}
	s = strings.ToUpper(s)
	if n := testing.AllocsPerRun(10, func() { toUpper(s) }); n > 0 {
		t.Errorf("toUpper allocates %v times", n)
	}
}
