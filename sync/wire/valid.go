package wire

import (
	"strings"
	"unicode/utf8"

	"github.com/dogwooddb/dogwood/tree/jsontext"
)

// isJSON reports whether a text is one JSON value (RFC 8259) in UTF-8, in which arrays and
// objects do not nest deeper than maxNesting.
func isJSON(text string) bool {
	return endsAt(text, validValue(text, jsontext.SkipSpace(text, 0), maxNesting))
}

// invalid is what the functions below return in place of the index after what they have
// read, if that is not there. room is how deep arrays and objects may nest in it.
const invalid = -1

func validValue(s string, i, room int) (end int) {
	if i == len(s) {
		return invalid
	}
	switch s[i] {
	case '"':
		return validString(s, i)
	case '{':
		return readObject(s, i, room, nil)
	case '[':
		return validArray(s, i, room)
	case 't':
		return validWord(s, i, "true")
	case 'f':
		return validWord(s, i, "false")
	case 'n':
		return validWord(s, i, "null")
	}
	return validNumber(s, i)
}

// readObject calls value for each member of the object that starts at s[i], with its
// decoded key and where its value starts. value returns the index after it; nil checks
// that it is valid.
func readObject(s string, i, room int, value func(key string, i int) int) (end int) {
	if room == 0 {
		return invalid
	}
	if i = jsontext.SkipSpace(s, i+1); i < len(s) && s[i] == '}' {
		return i + 1
	}
	for more := true; more; {
		if i == len(s) || s[i] != '"' {
			return invalid
		}
		start := i
		if i = validString(s, i); i < 0 {
			return invalid
		}
		raw := s[start:i]
		if i = jsontext.SkipSpace(s, i); i == len(s) || s[i] != ':' {
			return invalid
		}
		if i = jsontext.SkipSpace(s, i+1); value == nil {
			i = validValue(s, i, room-1)
		} else {
			key, _ := jsontext.Unquote(raw)
			i = value(key, i)
		}
		if i < 0 {
			return invalid
		}
		i, more = validEnd(s, i, '}')
	}
	return i
}

func validArray(s string, i, room int) int {
	if room == 0 {
		return invalid
	}
	if i = jsontext.SkipSpace(s, i+1); i < len(s) && s[i] == ']' {
		return i + 1
	}
	for more := true; more; {
		if i = validValue(s, i, room-1); i < 0 {
			return invalid
		}
		i, more = validEnd(s, i, ']')
	}
	return i
}

// validEnd reads what follows a part of an array or object that ends with the byte last:
// that, or a comma, and then there is more.
func validEnd(s string, i int, last byte) (end int, more bool) {
	if i = jsontext.SkipSpace(s, i); i == len(s) {
		return invalid, false
	}
	switch s[i] {
	case ',':
		return jsontext.SkipSpace(s, i+1), true
	case last:
		return i + 1, false
	}
	return invalid, false
}

func validString(s string, i int) int {
	for i++; i < len(s); {
		switch c := s[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			_, n, _ := jsontext.Escape(s[i:])
			if n == 0 {
				return invalid
			}
			i += n
		case c < 0x20:
			return invalid
		default:
			n, ascii := jsontext.PlainPrefix(s[i:])
			if !ascii && !utf8.ValidString(s[i:i+n]) {
				return invalid
			}
			i += n
		}
	}
	return invalid
}

func validWord(s string, i int, word string) int {
	if !strings.HasPrefix(s[i:], word) {
		return invalid
	}
	return i + len(word)
}

func validNumber(s string, i int) int {
	if s[i] == '-' {
		i++
	}
	from := i
	if i = skipDigits(s, i); i == from || i > from+1 && s[from] == '0' {
		return invalid
	}
	if i < len(s) && s[i] == '.' {
		from = i + 1
		if i = skipDigits(s, from); i == from {
			return invalid
		}
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		if i++; i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		from = i
		if i = skipDigits(s, from); i == from {
			return invalid
		}
	}
	return i
}

func skipDigits(s string, i int) int {
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
