package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// PrintTo calls emit with a writer to w and ends what it wrote with a newline.
func PrintTo(w io.Writer, emit func(io.Writer) error) error {
	l := &lines{w: w}
	err := emit(l)
	if l.open {
		_, e := io.WriteString(w, "\n")
		err = errors.Join(err, e)
	}
	return err
}

// lines remembers whether the last line that was written is open.
type lines struct {
	w    io.Writer
	open bool
}

func (l *lines) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.open = p[len(p)-1] != '\n'
	}
	return l.w.Write(p)
}

// PrintJSON prints a value as indented JSON.
func PrintJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// FormatBytes writes a size as people read it.
func FormatBytes(n int64) string {
	const unit = 1000
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	f, suffix := float64(n), ""
	for _, suffix = range []string{"kB", "MB", "GB", "TB"} {
		if f /= unit; f < unit {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", f, suffix)
}

// JSONText returns a text as JSON.
func JSONText(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always has a form
	}
	return string(b)
}

// Count returns "1 warning" or "2 warnings".
func Count(n int, noun string) string {
	if n != 1 && !strings.HasSuffix(noun, "s") {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// List joins at most so many names, and says how many more there are.
func List(names []string, most int, separator string) string {
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], separator), more)
	}
	return strings.Join(names, separator)
}
