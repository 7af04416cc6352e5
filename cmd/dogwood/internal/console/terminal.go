package console

import (
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/dogwooddb/dogwood/rules/explain"
)

// A screen is a terminal that shows foreign text: values, keys, texts of a server. All
// output of a command goes through it, so that no text can move the cursor or change the
// order in which text is shown. It is escaped so that JSON stays JSON. Control sequences of
// the command itself go to the canvas.
type screen struct {
	w io.Writer

	mu   sync.Mutex
	rest []byte // of the last write: the beginning of a character
}

// ScreenOf returns a screen for a terminal, and any other file as it is.
func ScreenOf(f *os.File) io.Writer {
	if IsTerminal(f) {
		return &screen{w: f}
	}
	return f
}

// Canvas returns what to draw on: of a screen, the terminal itself.
func Canvas(w io.Writer) io.Writer {
	if s, ok := w.(*screen); ok {
		return s.w
	}
	return w
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	whole, rest := cutCharacter(append(s.rest, p...))
	s.rest = append([]byte(nil), rest...)
	if _, err := io.WriteString(s.w, Shown(string(whole))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// cutCharacter cuts off a character at the end that is not complete.
func cutCharacter(b []byte) (whole, rest []byte) {
	for i := len(b) - 1; i >= max(0, len(b)-utf8.UTFMax); i-- {
		if !utf8.RuneStart(b[i]) {
			continue
		}
		if !utf8.FullRune(b[i:]) {
			return b[:i], b[i:]
		}
		break
	}
	return b, nil
}

// Shown returns a text as a terminal may show it. Its lines and tabs remain.
func Shown(text string) string {
	return explain.Escape(strings.ReplaceAll(text, "\r\n", "\n"), "\n\t")
}

// Printable returns a foreign text as a part of one line, for terminals and files.
func Printable(text string) string {
	return explain.Escape(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ").Replace(text), "")
}
