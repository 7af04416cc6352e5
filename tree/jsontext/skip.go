// Package jsontext has what all readers and writers of JSON text need: where strings and
// values end, and how strings are quoted and unquoted. It knows nothing of trees, messages
// or errors with positions. The functions that skip take any text. They check nothing, and
// what does not end, ends with the text.
//
// These functions are the innermost loops of reading and writing: they look at eight bytes
// at a time where they can. Those that skip trust their input, which was checked before.
package jsontext

import (
	"math/bits"
	"strings"
	"unsafe"
)

// View returns b as a string without a copy, for as long as nothing changes b.
func View(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// SkipSpace returns the index of the first byte at or after s[i] that is not white space.
func SkipSpace(s string, i int) int {
	for i < len(s) && IsSpace(s[i]) {
		i++
	}
	return i
}

// IsSpace reports whether c is white space.
func IsSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// SkipString returns the index after the string whose quote is s[i].
func SkipString(s string, i int) int {
	n := strings.IndexByte(s[i+1:], '"')
	if n < 0 {
		return len(s)
	}
	if end := i + 1 + n; s[end-1] != '\\' {
		return end + 1
	}
	return skipLong(s, i+1)
}

// skipLong is SkipString from inside a string. An escape may begin at s[i], but none may
// have begun before.
func skipLong(s string, i int) int {
	for from := i; ; i++ {
		n := strings.IndexByte(s[i:], '"')
		if n < 0 {
			return len(s)
		}
		i += n
		if i == from || s[i-1] != '\\' || !escaped(s, from, i) {
			return i + 1
		}
	}
}

// escaped reports whether an odd number of backslashes is in front of s[i], at or after
// from.
func escaped(s string, from, i int) bool {
	n := i
	for n > from && s[n-1] == '\\' {
		n--
	}
	return (i-n)%2 == 1
}

// SkipValue returns the index after the value that starts at s[i].
func SkipValue(s string, i int) int {
	switch s[i] {
	case '"':
		return SkipString(s, i)
	case '{', '[':
		return skipNested(s, i)
	}
	for i < len(s) && !endsScalar[s[i]] {
		i++
	}
	return i
}

// endsScalar has the bytes that end a number or a word.
var endsScalar = [256]bool{',': true, '}': true, ']': true, ' ': true, '\n': true, '\t': true, '\r': true}

// skipNested returns the index after the object or array that starts at s[i].
func skipNested(s string, i int) int {
	for depth := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			i = SkipString(s, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// IsDeep reports whether arrays and objects nest deeper than limit.
func IsDeep(s string, limit int) bool {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			i = SkipString(s, i) - 1
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

// Count returns how many values without children a text has, counting an empty object or
// array as one. It stops at one more than most.
func Count(s string, most int) int {
	n := 1
	for i := 0; i < len(s) && n <= most; i++ {
		switch s[i] {
		case '"':
			i = SkipString(s, i) - 1
		case ',':
			n++
		}
	}
	return n
}

// PlainPrefix returns how many bytes of s come before the first quote, backslash or
// control character, len(s) if there is none. If ascii is true they are all ASCII; it may
// be false without reason. It looks at 8 bytes at a time.
func PlainPrefix(s string) (n int, ascii bool) {
	const each, highs = 0x0101010101010101, 0x8080808080808080
	high := uint64(0) // the high bits of all bytes
	for ; n+8 <= len(s); n += 8 {
		w := uint64(s[n]) | uint64(s[n+1])<<8 | uint64(s[n+2])<<16 | uint64(s[n+3])<<24 |
			uint64(s[n+4])<<32 | uint64(s[n+5])<<40 | uint64(s[n+6])<<48 | uint64(s[n+7])<<56
		high |= w & highs
		quote, backslash := w^each*'"', w^each*'\\'
		// x-each &^ x has the high bit of the lowest byte of x that is 0, and none below.
		stop := ((w-each*0x20)&^w | (quote-each)&^quote | (backslash-each)&^backslash) & highs
		if stop != 0 {
			return n + bits.TrailingZeros64(stop)/8, high == 0
		}
	}
	for ; n < len(s) && s[n] >= 0x20 && s[n] != '"' && s[n] != '\\'; n++ {
		high |= uint64(s[n]) & highs
	}
	return n, high == 0
}
