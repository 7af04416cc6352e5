package dogwood_test

import (
	"errors"
	"testing"
	"time"
	"unicode/utf8"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/tree"
)

func TestEscapeKey(t *testing.T) {
	for text, key := range map[string]string{
		"": "", "plain": "plain", "a.b": "a%2Eb", "ana@example.org": "ana@example%2Eorg", "100%": "100%25", "a/b#c$d[e]": "a%2Fb%23c%24d%5Be%5D",
		"tab\t\x7f": "tab%09%7F", "ü😀": "ü😀",
	} {
		if got := dogwood.EscapeKey(text); got != key {
			t.Errorf("EscapeKey(%q) = %q, want %q", text, got, key)
		}
	}
	for _, key := range []string{"%", "%2", "a%zz", "%2x"} {
		if got, err := dogwood.UnescapeKey(key); !errors.Is(err, dogwood.ErrValue) {
			t.Errorf("UnescapeKey(%q) = %q, %v", key, got, err)
		}
	}
	if got, err := dogwood.UnescapeKey("%2e%2E"); err != nil || got != ".." {
		t.Errorf("%q, %v", got, err)
	}
}

// Every text has a key of its own.
func FuzzEscapeKey(f *testing.F) {
	for _, text := range []string{"a.b", "%2E", "\x00", "ü", "2014-03-06T02:05:13.223556Z"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		key := dogwood.EscapeKey(text)
		if valid := len(key) > 0 && len(key) <= tree.MaxKeyBytes && utf8.ValidString(text); valid != tree.ValidKey(key) {
			t.Errorf("EscapeKey(%q) = %q, valid: %v", text, key, !valid)
		}
		if back, err := dogwood.UnescapeKey(key); err != nil || back != text {
			t.Errorf("UnescapeKey(%q) = %q, %v, want %q", key, back, err, text)
		}
	})
}

func TestTimeKey(t *testing.T) {
	at := time.Date(2014, 3, 6, 3, 5, 13, 223556789, time.FixedZone("CET", 3600))
	const key = "2014-03-06T02:05:13,223556Z"
	if got := dogwood.TimeKey(at); got != key || !tree.ValidKey(got) {
		t.Errorf("TimeKey = %q", got)
	}
	for key, want := range map[string]time.Time{
		key:                      at.Truncate(time.Microsecond),
		"2014-03-06T02:05:13Z":   at.Truncate(time.Second),
		"2014-03-06T02:05:13,2Z": at.Truncate(100 * time.Millisecond),
	} {
		if got, err := dogwood.ParseTimeKey(key); err != nil || !got.Equal(want) {
			t.Errorf("ParseTimeKey(%q) = %v, %v", key, got, err)
		}
	}
	if _, err := dogwood.ParseTimeKey("yesterday"); !errors.Is(err, dogwood.ErrValue) {
		t.Errorf("err = %v", err)
	}
	// They sort by time.
	last := ""
	for i := range 100 {
		key := dogwood.TimeKey(at.Add(time.Duration(i*i) * 777 * time.Millisecond))
		if key <= last {
			t.Errorf("%q after %q", key, last)
		}
		last = key
	}
}
