package jsonc

import (
	"strings"

	"github.com/dogwooddb/dogwood/tree/jsontext"
)

// reasons are what hujson expected, by the words of its error.
var reasons = []struct{ words, expected string }{
	{"object name", "':'"}, // after it, or after what would be one
	{"object after name", "':'"},
	{"object value", "',' or '}'"},
	{"object after value", "',' or '}'"},
	{"array value", "',' or ']'"},
	{"array after value", "',' or ']'"},
}

// reasonFor says why hujson stopped at an offset, in the words of errors about data (see
// tree.Parse).
func (x *lexer) reasonFor(msg string, offset int) string {
	rest := x.text[offset:]
	switch {
	case strings.HasPrefix(msg, "parsing string"):
		return "string does not end"
	case strings.HasPrefix(msg, "parsing comment"):
		return "comment does not end"
	case strings.HasSuffix(msg, "after top-level value"):
		return "unexpected text after the value"
	case strings.HasPrefix(rest, `"`) && strings.HasPrefix(msg, "invalid literal"):
		return "invalid escape or control character in string"
	case strings.HasSuffix(msg, "comment"):
		return "invalid character in comment"
	}
	for _, r := range reasons {
		if strings.Contains(msg, r.words) {
			return "expected " + r.expected + ", found " + jsontext.Found(rest)
		}
	}
	return "expected " + x.wanted(offset) + ", found " + jsontext.Found(rest)
}

// wanted says what a text lacks at an offset where a key or a value begins.
func (x *lexer) wanted(offset int) string {
	before := lexer{text: x.text[:offset], out: x.out[:offset], depth: x.depth}
	before.run()
	if n := len(before.open); n > 0 && strings.IndexByte("{[,", before.last) >= 0 {
		if before.open[n-1] == '{' {
			return "a key in double quotes or '}'"
		}
		return "a value or ']'"
	}
	return "a value"
}
