package jsontext

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dogwooddb/dogwood/tree/piecewise"
)

// AppendQuoted appends s as a JSON string. Only the quote, the backslash and control
// characters are escaped; all other bytes stay as they are, so equal strings always give
// equal bytes, and a part of a string gives a part of its text.
func AppendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; ; {
		n, _ := PlainPrefix(s[i:])
		dst = piecewise.Append(dst, s[i:i+n])
		if i += n; i == len(s) {
			return append(dst, '"')
		}
		// Behind one that is escaped there are others soon, as in a text that is JSON itself.
		for end := i + 1; i < end; i++ {
			if c := s[i]; c < 0x20 || c == '"' || c == '\\' {
				dst = appendEscape(dst, c)
				end = min(i+escapedNear, len(s))
			} else {
				dst = append(dst, c)
			}
		}
	}
}

// escapedNear is how many bytes behind one that is escaped are looked at one by one.
const escapedNear = 9

func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// escapes maps the letter of a simple escape to what it stands for.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// Cut is what is wrong with a string, or an escape, that the text ends in.
const Cut = "string does not end"

// Escape reads the escape that s begins with: n bytes, both halves of a surrogate pair.
// wrong says what is wrong with it, "" if nothing is. n is 0 then, but for a surrogate
// without its partner: where that does not matter, it stands for U+FFFD.
func Escape(s string) (r rune, n int, wrong string) {
	if len(s) < 2 {
		return 0, 0, Cut
	}
	if s[1] != 'u' {
		if escapes[s[1]] == 0 {
			return 0, 0, "unknown escape"
		}
		return rune(escapes[s[1]]), 2, ""
	}
	const unit = len(`\u0000`)
	r, wrong = hex4(s[2:])
	if wrong != "" {
		return 0, 0, wrong
	}
	if r < 0xD800 || r > 0xDFFF {
		return r, unit, ""
	}
	if r < 0xDC00 && strings.HasPrefix(s[unit:], `\u`) {
		switch low, wrong := hex4(s[unit+2:]); {
		case wrong != "":
			return 0, 0, wrong
		case low >= 0xDC00 && low <= 0xDFFF:
			return (r-0xD800)<<10 + (low - 0xDC00) + 0x10000, 2 * unit, ""
		}
	}
	return utf8.RuneError, unit, "unpaired surrogate"
}

func hex4(s string) (r rune, wrong string) {
	if len(s) < 4 {
		return 0, Cut
	}
	n, err := strconv.ParseUint(s[:4], 16, 16)
	if err != nil {
		return 0, `bad \u escape`
	}
	return rune(n), ""
}

// Unquote returns the text of a JSON string, which must be valid; ok tells whether raw is
// a string at all. Without an escape in it the result is a part of raw. A surrogate
// without its partner becomes U+FFFD.
func Unquote(raw string) (s string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", false
	}
	raw = raw[1 : len(raw)-1]
	i := strings.IndexByte(raw, '\\')
	if i < 0 {
		return raw, true
	}
	return unescape(raw, i)
}

func unescape(raw string, i int) (s string, ok bool) {
	out := make([]byte, 0, len(raw))
	for i >= 0 {
		r, n, _ := Escape(raw[i:])
		if n == 0 {
			return "", false
		}
		out = utf8.AppendRune(piecewise.Append(out, raw[:i]), r)
		raw = raw[i+n:]
		i = strings.IndexByte(raw, '\\')
	}
	return piecewise.String(piecewise.Append(out, raw)), true
}
