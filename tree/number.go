package tree

import (
	"math"
	"strconv"
)

// appendNumber appends a finite double in its canonical form, which is the one
// of JavaScript: shortest digits that round-trip, no exponent from 1e-6 up to
// 1e21, and no negative zero. Canonical text is compared byte by byte, so each
// number needs exactly one form, and it has to be the one that hashes of
// JavaScript clients are made of.
func appendNumber(dst []byte, f float64) []byte {
	abs := math.Abs(f)
	if abs == 0 {
		return append(dst, '0')
	}
	if abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); dst[n-4] == 'e' && dst[n-2] == '0' { // e-07 is e-7
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// canonicalNumber appends the canonical form of a JSON number. Integers of 64
// bits keep their digits, even those that a double can't hold or would print
// otherwise, so that clients with such integers read back what they wrote. ok is
// false if the number is beyond the range of a double.
func canonicalNumber(dst []byte, s string) (out []byte, ok bool) {
	if isInteger(s) && s != "-0" {
		if len(s) <= 18 {
			return append(dst, s...), true
		}
		if _, err := strconv.ParseInt(s, 10, 64); err == nil {
			return append(dst, s...), true
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return dst, false
	}
	return appendNumber(dst, f), true
}

// isInteger reports whether s, a valid JSON number, has digits only.
func isInteger(s string) bool {
	for i := 0; i < len(s); i++ {
		if (s[i] < '0' || s[i] > '9') && (i > 0 || s[i] != '-') {
			return false
		}
	}
	return true
}
