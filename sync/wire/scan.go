package wire

import (
	"encoding/json"
	"iter"
	"strings"
)

// The functions in this file trust their text: gjson.Valid has accepted it. Only
// tooDeep and what it calls may see any text.
//
// gjson.Result.ForEach would do most of this, but it decodes every string and
// number it passes, which for a message means copying the data once more.

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

// members yields the decoded key and the raw value of each member of the object
// that starts at text[0].
func members(text string) iter.Seq2[string, string] {
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
// it does not end.
func skipString[T ~string | ~[]byte](s T, i int) int {
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
// text[i]. It sees every byte of the data three times per message: as part of
// the outer d, of b and of the inner d.
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
