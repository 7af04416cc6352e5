package jsontext

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestSkipString finds the end of strings of all lengths, whatever is in them.
func TestSkipString(t *testing.T) {
	for n := range 40 {
		for _, inside := range []string{"", `\"`, `\\`, `\\\"`, `\\\\`, "\x01", "\xff"} {
			text := `"` + strings.Repeat(" ", n) + inside + strings.Repeat("x", n%3) + `"`
			if got := SkipString(text+` "`, 0); got != len(text) {
				t.Errorf("SkipString(%q) = %d, want %d", text, got, len(text))
			}
			open := text[:len(text)-1]
			if got := SkipString(open, 0); got != len(open) {
				t.Errorf("SkipString(%q) = %d, want %d", open, got, len(open))
			}
		}
	}
}

func TestSkipValue(t *testing.T) {
	for _, value := range []string{
		`1`, `-1.5e3`, `true`, `"a"`, `"}]"`, `{}`, `[]`, `{"a":[1,{"b":"}\"]"}]}`, `[[["]"]]]`, `[1 , {"x" : 2}]`,
	} {
		for _, behind := range []string{"", " ", ",1", "}", "]", "\n\"x\""} {
			if got := SkipValue(value+behind, 0); got != len(value) {
				t.Errorf("SkipValue(%s) = %d, want %d", value+behind, got, len(value))
			}
		}
	}
}

// slow reads a string byte by byte: the end of it, and whether it has one.
func slow(s string) (end int, ok bool) {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1, true
		}
	}
	return len(s), false
}

func FuzzSkipString(f *testing.F) {
	for _, s := range []string{`"`, `"a"b`, `"\\\"x" "`, `"0123456789ab\"cdef\\" x`, `"\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = `"` + s
		want, _ := slow(s)
		if got := SkipString(s, 0); got != want {
			t.Errorf("SkipString(%q) = %d, want %d", s, got, want)
		}
		n, ascii := PlainPrefix(s[1:])
		plain := 0
		for plain < len(s)-1 && s[1+plain] >= 0x20 && s[1+plain] != '"' && s[1+plain] != '\\' {
			plain++
		}
		if n != plain || ascii && strings.ContainsFunc(s[1:1+n], func(r rune) bool { return r >= utf8.RuneSelf }) {
			t.Errorf("PlainPrefix(%q) = %d, %t, want %d", s[1:], n, ascii, plain)
		}
	})
}

// FuzzQuote quotes any text, and unquotes any string, as the standard library does.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "a\"\\\n\x00\b\f\x1f", "é😀\u2028", `\ud83d\ude00`, `\ud800\u0041\udc00x`, `\u12`, `\x`, `\/\t`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		quoted := string(AppendQuoted([]byte("x"), s)[1:])
		if back, ok := Unquote(quoted); !ok || back != s {
			t.Errorf("Unquote(%q) = %q, %t, want %q", quoted, back, ok, s)
		}
		if n, most := len(quoted), 6*len(s)+2; n > most {
			t.Errorf("%q is quoted as %d bytes, more than %d", s, n, most)
		}
		if utf8.ValidString(s) && !json.Valid([]byte(quoted)) {
			t.Errorf("%q is quoted as %s", s, quoted)
		}
		raw := `"` + s + `"`
		var want string
		if !utf8.ValidString(s) || json.Unmarshal([]byte(raw), &want) != nil {
			return
		}
		if got, ok := Unquote(raw); !ok || got != want {
			t.Errorf("Unquote(%q) = %q, %t, want %q", raw, got, ok, want)
		}
	})
}

func TestEscape(t *testing.T) {
	for _, c := range []struct {
		text  string
		r     rune
		n     int
		wrong string
	}{
		{`\n`, '\n', 2, ""}, {`\/x`, '/', 2, ""}, {`\u00e4x`, 'ä', 6, ""}, {`\ud83d\ude00`, '😀', 12, ""},
		{`\`, 0, 0, Cut}, {`\u12`, 0, 0, Cut}, {`\x`, 0, 0, "unknown escape"}, {`\u12g4`, 0, 0, `bad \u escape`},
		{`\ud83d`, utf8.RuneError, 6, "unpaired surrogate"}, {`\ude00`, utf8.RuneError, 6, "unpaired surrogate"},
		{`\ud83d\u0041`, utf8.RuneError, 6, "unpaired surrogate"}, {`\ud83d\u00`, 0, 0, Cut}, {`\ud83d\u00x0`, 0, 0, `bad \u escape`},
	} {
		if r, n, wrong := Escape(c.text); r != c.r || n != c.n || wrong != c.wrong {
			t.Errorf("Escape(%s) = %q, %d, %q, want %q, %d, %q", c.text, r, n, wrong, c.r, c.n, c.wrong)
		}
	}
}

func TestCount(t *testing.T) {
	for text, want := range map[string]int{
		``: 1, `1`: 1, `[1,2]`: 2, `{"a":1,"b":{"c":2,"d":3}}`: 3, `{"a,b":"c,d"}`: 1, `["\\\",,",1]`: 2, `["\\\\",1,2]`: 3, `"no end,,\`: 1,
	} {
		if got := Count(text, 5); got != want {
			t.Errorf("Count(%s) = %d, want %d", text, got, want)
		}
	}
	if got := Count(`[1,2,3,4,5,6]`, 3); got != 4 {
		t.Errorf("Count of more than 3 = %d, want 4", got)
	}
}

func TestIsDeep(t *testing.T) {
	for text, want := range map[string]bool{`[[1]]`: false, `[[[1]]]`: true, `{"a":{"b":{}}}`: true, `[[],[],[]]`: false, `"[[[["`: false, `["[[",1]`: false} {
		if got := IsDeep(text, 2); got != want {
			t.Errorf("IsDeep(%s) = %t", text, got)
		}
	}
}

func ExampleAppendQuoted() {
	fmt.Printf("%s\n", AppendQuoted(nil, "a \"b\"\tä"))
	// Output: "a \"b\"\tä"
}

func ExampleSkipValue() {
	text := `{"a":[1,2],"b":3}`
	end := SkipValue(text, len(`{"a":`))
	fmt.Println(text[end:])
	// Output: ,"b":3}
}
