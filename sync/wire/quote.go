package wire

import (
	"unicode/utf8"

	"github.com/dogwooddb/dogwood/tree/jsontext"
)

// AppendString appends s as a JSON string. Only the quote, the backslash and
// control characters are escaped, all else is UTF-8 as it is; a byte that is
// not UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	return jsontext.AppendQuoted(dst, s)
}
