package console

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode"
)

// Foreign text reaches a terminal escaped, however it is cut into pieces, and JSON stays the
// same JSON.
func TestScreen(t *testing.T) {
	value := map[string]string{"k\u009b2J": "a\u0085b\u007fc\u202e\u2066d\u200fe\u2028f\u061c", "plain": "é € 😀 \u200d ok"}
	src, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(`\u2028`, "\u2028").Replace(string(src)) + "\n\tnext\x1b[31m\r\nlast\rover\b\xff\x9b\n"
	want := `{"k\u009b2J":"a\u0085b\u007fc\u202e\u2066d\u200fe\u2028f\u061c","plain":"é € 😀 ` + "\u200d" + ` ok"}` +
		"\n\tnext" + `\u001b[31m` + "\nlast" + `\u000dover\u0008` + "\ufffd\ufffd\n"
	for _, size := range []int{1, 2, 3, 5, 1000} {
		var b strings.Builder
		s := &screen{w: &b}
		for rest := strings.Replace(text, "\r\n", "\n", 1); rest != ""; {
			n := min(size, len(rest))
			if written, err := s.Write([]byte(rest[:n])); written != n || err != nil {
				t.Fatalf("wrote %d of %d, %v", written, n, err)
			}
			rest = rest[n:]
		}
		if b.String() != want {
			t.Errorf("in pieces of %d:\n%q, want\n%q", size, b.String(), want)
		}
		var again map[string]string
		line, _, _ := strings.Cut(b.String(), "\n")
		if err := json.Unmarshal([]byte(line), &again); err != nil || again["k\u009b2J"] != value["k\u009b2J"] || again["plain"] != value["plain"] {
			t.Errorf("the JSON became %q, %v", again, err)
		}
	}
	if got := Shown("a\r\nb"); got != "a\nb" {
		t.Errorf("a line of Windows ends as %q", got)
	}
}

// Files and pipes get every byte as it is; a screen is a terminal to draw on.
func TestScreenIsForTerminals(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if ScreenOf(w) != w {
		t.Error("a pipe is a screen")
	}
	var b strings.Builder
	s := &screen{w: &b}
	if !IsTerminal(s) || Canvas(s) != &b || Canvas(&b) != &b {
		t.Error("a screen is no terminal, or not to draw on")
	}
}

// A foreign text in a line has no line ends either.
func TestPrintable(t *testing.T) {
	got := Printable("a\r\nb\tc\u2029\u009b\u202e\x00é")
	if want := `a b c\u2029\u009b\u202e\u0000é`; got != want || strings.ContainsFunc(got, unicode.IsControl) {
		t.Errorf("%q, want %q", got, want)
	}
}
