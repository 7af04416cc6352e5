package tree

import (
	"strings"
	"unicode/utf8"
)

// The functions in this file walk canonical JSON text, which is trusted: it
// was written by the parser of this package. They do not check anything.

// skipString returns the index after the string that starts at s[i].
func skipString(s string, i int) int {
	for i++; ; i++ {
		j := strings.IndexByte(s[i:], '"')
		if j < 0 {
			panic("tree: text is not canonical: a string does not end")
		}
		i += j
		if s[i-1] != '\\' || !escapedAt(s, i) {
			return i + 1
		}
	}
}

// escapedAt reports whether the quote at s[i] is preceded by an odd number of
// backslashes.
func escapedAt(s string, i int) bool {
	n := 0
	for i--; s[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}

// skipValue returns the index after the value that starts at s[i].
func skipValue(s string, i int) int {
	switch s[i] {
	case '"':
		return skipString(s, i)
	case '{':
		depth := 0
		for {
			switch s[i] {
			case '"':
				i = skipString(s, i)
				continue
			case '{':
				depth++
			case '}':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
	}
	for i < len(s) && s[i] != ',' && s[i] != '}' {
		i++
	}
	return i
}

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
	k := skipString(s, i)
	return member{i, k, skipValue(s, k+1)}
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

// appendQuoted appends s as a JSON string. Only what must be escaped is; all
// other text stays raw UTF-8, so equal strings always give equal bytes.
func appendQuoted(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(dst, s[start:]...), '"')
}

// unquote returns the text of a canonical JSON string.
func unquote(q string) string {
	q = q[1 : len(q)-1]
	if strings.IndexByte(q, '\\') < 0 {
		return q
	}
	out := make([]byte, 0, len(q))
	for i := 0; i < len(q); i++ {
		if q[i] != '\\' {
			out = append(out, q[i])
			continue
		}
		i++
		switch q[i] {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u': // canonical text only escapes control characters this way
			out = append(out, unhex(q[i+3])<<4|unhex(q[i+4]))
			i += 4
		default:
			out = append(out, q[i])
		}
	}
	return string(out)
}

func unhex(c byte) byte {
	if c >= 'a' {
		return c - 'a' + 10
	}
	return c - '0'
}

// quoteKey returns a key as it stands in canonical text.
func quoteKey(key string) string {
	var buf [utf8.UTFMax * 64]byte
	return string(appendQuoted(buf[:0], key))
}
