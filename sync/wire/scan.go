package wire

import (
	"encoding/json"
	"iter"
	"math/bits"
	"strings"
)

// The functions in this file trust their text: isJSON has accepted it. Only
// tooDeep and what it calls may see any text.

// tooDeep reports whether arrays and objects nest deeper than limit. It comes
// before the check for validity, which recurses.
func tooDeep(text string, limit int) bool {
	if strings.Count(text, "{")+strings.Count(text, "[") <= limit {
		return false // nearly every message, at the speed of memchr
	}
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = skipString(text, i) - 1
		case '{', '[':
			if depth++; depth > limit {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// membersOf yields the decoded key and the raw value of each member of the object
// that starts at text[0].
func membersOf(text string) iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		for i := skipSpace(text, 1); i < len(text) && text[i] == '"'; {
			end := skipString(text, i)
			key, _ := unquote(text[i:end])
			start := skipSpace(text, skipSpace(text, end)+1)
			end = skipValue(text, start)
			if !yield(key, text[start:end]) {
				return
			}
			i = skipSpace(text, skipSpace(text, end)+1)
		}
	}
}

// skipSpace returns the index of the first byte at or after s[i] that is not
// white space.
func skipSpace[T ~string | ~[]byte](s T, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string whose quote is s[i], len(s) if
// it does not end. Keys are short; the rest of what is long takes as long as memchr.
func skipString(s string, i int) int {
	short := min(i+1+shortString, len(s))
	for at := i + 1; at < short; at++ {
		switch s[at] {
		case '\\':
			return skipEscaped(s, i)
		case '"':
			return at + 1
		}
	}
	n := strings.IndexByte(s[short:], '"')
	if n < 0 {
		return len(s)
	}
	if end := short + n; s[end-1] != '\\' {
		return end + 1
	}
	return skipEscaped(s, i)
}

// shortString is how long a string is that takes no longer byte by byte.
const shortString = 12

// skipEscaped is skipString for strings with escapes.
func skipEscaped[T ~string | ~[]byte](s T, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// plainPrefix returns how many bytes of s come before the first quote, backslash or
// control character, len(s) if there is none.
func plainPrefix(s string) int {
	n := 0
	for n < min(len(s), shortString) && isPlain(s[n]) {
		n++
	}
	if n < shortString {
		return n
	}
	return n + plainWords(s[n:])
}

func isPlain(c byte) bool { return c >= 0x20 && c != '"' && c != '\\' }

// plainWords is plainPrefix for long strings. It looks at 8 bytes at a time.
func plainWords(s string) int {
	const each, highs = 0x0101010101010101, 0x8080808080808080
	rest := s
	for ; len(rest) >= 8; rest = rest[8:] {
		w := uint64(rest[0]) | uint64(rest[1])<<8 | uint64(rest[2])<<16 | uint64(rest[3])<<24 |
			uint64(rest[4])<<32 | uint64(rest[5])<<40 | uint64(rest[6])<<48 | uint64(rest[7])<<56
		quote, backslash := w^each*'"', w^each*'\\'
		// x-each &^ x has the high bit of the lowest byte of x that is 0, and none below.
		stop := ((w-each*0x20)&^w | (quote-each)&^quote | (backslash-each)&^backslash) & highs
		if stop != 0 {
			return len(s) - len(rest) + bits.TrailingZeros64(stop)/8
		}
	}
	n := len(s) - len(rest)
	for n < len(s) && isPlain(s[n]) {
		n++
	}
	return n
}

// skipValue returns the index after the value that starts at text[i].
func skipValue(text string, i int) int {
	switch text[i] {
	case '"':
		return skipString(text, i)
	case '{', '[':
		return skipNested(text, i)
	}
	for i < len(text) {
		switch text[i] {
		case ',', '}', ']', ' ', '\n', '\t', '\r':
			return i
		}
		i++
	}
	return i
}

// skipNested returns the index after the object or array that starts at
// text[i].
func skipNested(text string, i int) int {
	for depth := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = skipString(text, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

// unquote decodes a raw JSON string; ok tells whether raw is one. Without an
// escape in it the result is a part of raw. An escaped surrogate without its
// partner becomes U+FFFD (gjson would take the next escape with it).
func unquote(raw string) (s string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if strings.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], true
	}
	return unescape(raw)
}

// unescape is apart because its variable lives on the heap.
func unescape(raw string) (s string, ok bool) {
	err := json.Unmarshal([]byte(raw), &s)
	return s, err == nil
}
