package tree

import (
	"cmp"
	"strings"
	"unicode/utf8"
)

// ValidKey reports whether s may name a child: 1 to MaxKeyBytes bytes of valid
// UTF-8 without control characters and without . $ # [ ] /
// (protocol §6.1).
func ValidKey(s string) bool {
	if s == "" || len(s) > MaxKeyBytes {
		return false
	}
	high := byte(0)
	for i := 0; i < len(s); i++ {
		if notInKeys[s[i]] {
			return false
		}
		high |= s[i]
	}
	return high < utf8.RuneSelf || utf8.ValidString(s)
}

// notInKeys has the bytes that no key has.
var notInKeys = func() (set [256]bool) {
	for c := range 0x20 {
		set[c] = true
	}
	for _, c := range []byte(".$#[]/\x7f") {
		set[c] = true
	}
	return set
}()

// CompareKeys orders sibling keys: 32-bit integers first, by number, then all
// other keys by UTF-16 code unit (protocol §7.1). Keys such as "7" and
// "07" tie as numbers; the shorter one comes first. "-0" and "00" tie in the
// JS SDK too; bytes decide.
//
// It is a total order although keys can tie as numbers: without one, rows could
// not be kept in a sorted file.
func CompareKeys(a, b string) int {
	// Most keys are no integers, and many of siblings differ at once.
	if a != "" && b != "" && a[0] != b[0] && a[0] > '9' && b[0] > '9' && a[0] < utf8.RuneSelf && b[0] < utf8.RuneSelf {
		return cmp.Compare(a[0], b[0])
	}
	if a == b {
		return 0
	}
	if a != "" && b != "" && a[0] > '9' && b[0] > '9' { // as most keys: no integer
		return CompareUTF16(a, b)
	}
	x, aInt := IntegerKey(a)
	y, bInt := IntegerKey(b)
	switch {
	case aInt && bInt:
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	case aInt:
		return -1
	case bInt:
		return 1
	}
	return CompareUTF16(a, b)
}

// IntegerKey returns the number that a key sorts by if it is integer-like: an
// optional minus, any number of zeros, then up to ten digits, in the range of
// a 32-bit integer.
func IntegerKey(s string) (int32, bool) {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" {
		return 0, false
	}
	var n int64
	for i := 0; i < len(digits); i++ {
		c := digits[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		if n = n*10 + int64(c-'0'); n > 1<<31 {
			return 0, false
		}
	}
	if len(digits) < len(s) {
		n = -n
	}
	if n > 1<<31-1 {
		return 0, false
	}
	return int32(n), true
}

// CompareUTF16 compares two UTF-8 strings by UTF-16 code units, as JavaScript
// does. That differs from byte order only where a supplementary character
// meets one of U+E000 to U+FFFF.
func CompareUTF16(a, b string) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	if i == n {
		return cmp.Compare(len(a), len(b))
	}
	return cmp.Compare(UTF16Lead(a[i]), UTF16Lead(b[i]))
}

// UTF16Lead permutes the lead bytes of UTF-8 so that comparing bytes compares
// UTF-16 code units: the surrogates that F0..F4 stand for sort below U+E000,
// whose lead bytes are EE and EF. All other bytes stay as they are.
func UTF16Lead(c byte) byte {
	switch {
	case c >= 0xF0 && c <= 0xF4:
		return c - 2 // EE..F2
	case c == 0xEE || c == 0xEF:
		return c + 5 // F3, F4
	}
	return c
}
