package wire

import "strings"

// isJSON reports whether a text is one JSON value (RFC 8259), but for the encoding of
// strings. It recurses, so the depth has to be bounded before.
func isJSON(text string) bool {
	return endsAt(text, validValue(text, skipSpace(text, 0)))
}

// invalid is what the functions below return in place of the index after what they have
// read, if that is not there.
const invalid = -1

func validValue(s string, i int) (end int) {
	if i == len(s) {
		return invalid
	}
	switch s[i] {
	case '"':
		return validString(s, i)
	case '{':
		return validObject(s, i)
	case '[':
		return validArray(s, i)
	case 't':
		return validWord(s, i, "true")
	case 'f':
		return validWord(s, i, "false")
	case 'n':
		return validWord(s, i, "null")
	}
	return validNumber(s, i)
}

func validObject(s string, i int) int { return readObject(s, i, nil) }

// readObject calls value for each member of the object that starts at s[i], with its
// decoded key and where its value starts. value returns the index after it; nil checks
// that it is valid.
func readObject(s string, i int, value func(key string, i int) int) (end int) {
	if i = skipSpace(s, i+1); i < len(s) && s[i] == '}' {
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
		if i = skipSpace(s, i); i == len(s) || s[i] != ':' {
			return invalid
		}
		if i = skipSpace(s, i+1); value == nil {
			i = validValue(s, i)
		} else {
			key, _ := unquote(raw)
			i = value(key, i)
		}
		if i < 0 {
			return invalid
		}
		i, more = validEnd(s, i, '}')
	}
	return i
}

func validArray(s string, i int) int {
	if i = skipSpace(s, i+1); i < len(s) && s[i] == ']' {
		return i + 1
	}
	for more := true; more; {
		if i = validValue(s, i); i < 0 {
			return invalid
		}
		i, more = validEnd(s, i, ']')
	}
	return i
}

// validEnd reads what follows a part of an array or object that ends with the byte last:
// that, or a comma, and then there is more.
func validEnd(s string, i int, last byte) (end int, more bool) {
	if i = skipSpace(s, i); i == len(s) {
		return invalid, false
	}
	switch s[i] {
	case ',':
		return skipSpace(s, i+1), true
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
			if i = validEscape(s, i+1); i < 0 {
				return invalid
			}
		case c < 0x20:
			return invalid
		default:
			i += plainPrefix(s[i:])
		}
	}
	return invalid
}

// validEscape reads what follows a backslash.
func validEscape(s string, i int) int {
	if i == len(s) {
		return invalid
	}
	if s[i] != 'u' {
		if strings.IndexByte(`"\/bfnrt`, s[i]) < 0 {
			return invalid
		}
		return i + 1
	}
	if len(s)-i <= 4 {
		return invalid
	}
	for n := 1; n <= 4; n++ {
		if c := s[i+n]; !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
			return invalid
		}
	}
	return i + 5
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
