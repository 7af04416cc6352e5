package jsonc

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// OffsetInQuoted returns the offset in a JSON string, as written, of byte n of
// its decoded text.
func OffsetInQuoted(quoted string, n int) int {
	raw := quoted[:len(quoted)-1]
	i := 1
	for n > 0 && i < len(raw) {
		size, decoded := stringElement(raw[i:])
		i += size
		n -= decoded
	}
	return i
}

// stringElement returns the sizes of the first byte or escape of a valid JSON
// string: as written, and decoded.
func stringElement(s string) (size, decoded int) {
	switch {
	case s[0] != '\\':
		return 1, 1
	case s[1] != 'u':
		return 2, 1
	}
	r := hexRune(s)
	if utf16.IsSurrogate(r) {
		if strings.HasPrefix(s[6:], `\u`) && utf16.DecodeRune(r, hexRune(s[6:])) != utf8.RuneError {
			return 12, 4
		}
		r = utf8.RuneError // what encoding/json makes of half a pair
	}
	return 6, utf8.RuneLen(r)
}

// hexRune returns the code unit of an escape \uXXXX.
func hexRune(s string) rune {
	u, _ := strconv.ParseUint(s[2:6], 16, 16)
	return rune(u)
}
