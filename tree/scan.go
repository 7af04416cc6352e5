package tree

import (
	"strings"
	"unicode/utf8"

	"github.com/dogwooddb/dogwood/tree/jsontext"
)

// The functions in this file walk canonical JSON text, which is trusted: it
// was written by the parser of this package. They do not check anything.

// A member is one "key":value pair of an object's text, by offsets.
type member struct {
	start    int // of the key's opening quote
	keyEnd   int // after the key's closing quote
	valueEnd int
}

func (m member) key(s string) string   { return s[m.start:m.keyEnd] } // quoted
func (m member) value(s string) string { return s[m.keyEnd+1 : m.valueEnd] }

// memberAt reads the member that starts at s[i].
func memberAt(s string, i int) member {
	k := jsontext.SkipString(s, i)
	return member{i, k, jsontext.SkipValue(s, k+1)}
}

// firstChild returns the offset of the first child's key in an object's text,
// behind the priority, or -1 for a leaf (even one with a priority).
func firstChild(s string) int {
	if s == "" || s[0] != '{' {
		return -1
	}
	i := 1
	if hasPriority(s) {
		i = memberAt(s, 1).valueEnd + 1
	}
	if strings.HasPrefix(s[i:], `".value":`) {
		return -1
	}
	return i
}

func hasPriority(s string) bool { return strings.HasPrefix(s, `{".p`) }

// unquote returns the text of a canonical JSON string.
func unquote(q string) string {
	if strings.IndexByte(q, '\\') < 0 {
		return q[1 : len(q)-1]
	}
	s, _ := jsontext.Unquote(q)
	return s
}

// quoteKey returns a key as it stands in canonical text.
func quoteKey(key string) string {
	var buf [utf8.UTFMax * 64]byte
	return string(jsontext.AppendQuoted(buf[:0], key))
}
