package tree

import (
	"cmp"
	"strconv"
)

// The classes of values in ascending order (wire protocol §7.2).
const (
	classNull = iota
	classFalse
	classTrue
	classNumber
	classString
	classObject
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
	}
	return classNumber
}

// CompareValues orders values as orderByChild and orderByValue do: null, false,
// true, numbers, strings by UTF-16 code unit, objects. All objects are equal.
// The nodes' own priorities are ignored. Priorities are compared by the same
// scale.
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
	}
	return 0
}

func compareNumbers(x, y string) int {
	f, _ := strconv.ParseFloat(x, 64)
	g, _ := strconv.ParseFloat(y, 64)
	if c := cmp.Compare(f, g); c != 0 {
		return c
	}
	// Two integers that are the same double, at least one beyond 2^53.
	i, errI := strconv.ParseInt(x, 10, 64)
	j, errJ := strconv.ParseInt(y, 10, 64)
	if errI != nil || errJ != nil {
		return 0
	}
	return cmp.Compare(i, j)
}
