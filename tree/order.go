package tree

import (
	"cmp"
	"strconv"
	"strings"
)

// The classes of values in ascending order (protocol §7.2).
const (
	classNull = iota
	classFalse
	classTrue
	classNumber
	classString
	classObject
	classList // of an order by several child paths
)

func class(v string) int {
	if v == "" {
		return classNull
	}
	switch v[0] {
	case 'f':
		return classFalse
	case 't':
		return classTrue
	case '"':
		return classString
	case '{':
		return classObject
	case '[':
		return classList
	}
	return classNumber
}

// CompareValues orders values as orderByChild and orderByValue do: null, false,
// true, numbers, strings by UTF-16 code unit, objects. All objects are equal. Lists of values
// are compared value by value.
// The nodes' own priorities are ignored. Priorities are compared by the same
// scale.
//
// The same order exists three times: here, as bytes in the index entries of the
// store (appendValue), and in the SDKs. Model tests compare the first two, and
// recorded vectors the third.
func CompareValues(a, b Node) int {
	x, y := a.Value().text, b.Value().text
	if x == y {
		return 0
	}
	cx, cy := class(x), class(y)
	if cx != cy {
		return cmp.Compare(cx, cy)
	}
	switch cx {
	case classNumber:
		return compareNumbers(x, y)
	case classString:
		return CompareUTF16(unquote(x), unquote(y))
	case classList:
		return CompareRanked(a, AtKey, b, AtKey)
	}
	return 0
}

// compareNumbers orders canonical numbers. Integers are compared by their digits,
// which is exact beyond 2^53. Canonical text has digits only for every number
// from there up to 1e21, so other numbers can be compared as doubles.
func compareNumbers(x, y string) int {
	if isInteger(x) && isInteger(y) {
		return compareIntegers(x, y)
	}
	f, _ := strconv.ParseFloat(x, 64)
	g, _ := strconv.ParseFloat(y, 64)
	return cmp.Compare(f, g)
}

func compareIntegers(x, y string) int {
	neg := x[0] == '-'
	switch {
	case neg && y[0] != '-':
		return -1
	case !neg && y[0] == '-':
		return 1
	}
	c := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
	if neg {
		return -c
	}
	return c
}
