package tree

import "strings"

// HasMoreValues reports whether a JSON text has more than max values, counting those
// without children of their own. It looks at the text only as far as it must, and takes
// what is no JSON as it comes: the parser refuses that.
func HasMoreValues(src string, max int) bool {
	if len(src) < 2*max || strings.Count(src, ",") < max { // max+1 values have max commas between them
		return false
	}
	return countValues(src, max) > max
}

// CountValues returns how many values a JSON text has, as HasMoreValues counts them.
func CountValues(src string) int { return countValues(src, len(src)) }

// countValues counts up to one more than max.
func countValues(src string, max int) int {
	n := 1
	for i := 0; i < len(src) && n <= max; i++ {
		switch src[i] {
		case '"':
			i = endOfString(src, i)
		case ',':
			n++
		}
	}
	return n
}

// endOfString returns the index of the quote that ends the string which begins at
// src[i], or the length of a text that ends before.
func endOfString(src string, i int) int {
	for i++; i < len(src); i++ {
		j := strings.IndexAny(src[i:], `"\\`)
		if j < 0 {
			break
		}
		if i += j; src[i] == '"' {
			return i
		}
		i++ // what is escaped
	}
	return len(src)
}
