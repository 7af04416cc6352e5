package wire

import "strings"

// isJSON reports whether a text is one JSON value (RFC 8259), but for the encoding of
// strings. It recurses, so the depth has to be bounded before.
func isJSON(text string) bool {
	end := validValue(text, skipSpace(text, 0))
	return end >= 0 && skipSpace(text, end) == len(text)
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
		return validList(s, i, '}', validMember)
	case '[':
		return validList(s, i, ']', validValue)
	case 't':
		return validWord(s, i, "true")
	case 'f':
		return validWord(s, i, "false")
	case 'n':
		return validWord(s, i, "null")
	}
	return validNumber(s, i)
}

// validList reads what is between s[i] and the byte that ends it: parts with commas
// between them.
func validList(s string, i int, end byte, part func(s string, i int) int) int {
	if i = skipSpace(s, i+1); i < len(s) && s[i] == end {
		return i + 1
	}
	for {
		if i = part(s, i); i < 0 {
			return invalid
		}
		if i = skipSpace(s, i); i == len(s) {
			return invalid
		}
		switch s[i] {
		case end:
			return i + 1
		case ',':
			i = skipSpace(s, i+1)
		default:
			return invalid
		}
	}
}

func validMember(s string, i int) int {
	if i == len(s) || s[i] != '"' {
		return invalid
	}
	if i = validString(s, i); i < 0 {
		return invalid
	}
	if i = skipSpace(s, i); i == len(s) || s[i] != ':' {
		return invalid
	}
	return validValue(s, skipSpace(s, i+1))
}

func validString(s string, i int) int {
	for i = skipPlain(s, i+1); i < len(s); i = skipPlain(s, i) {
		switch s[i] {
		case '"':
			return i + 1
		case '\\':
			if i = validEscape(s, i+1); i < 0 {
				return invalid
			}
		default:
			return invalid
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
