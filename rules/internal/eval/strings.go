package eval

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/dogwooddb/dogwood/tree"
)

// maxString bounds the strings that an evaluation makes (rules §5.9). Otherwise the
// method replace could square the size of a stored text.
const maxString = 1 << 20

// lengthUTF16 returns the length of s in UTF-16 code units.
func lengthUTF16(s string) int {
	n := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 0xF0: // the lead byte of a surrogate pair
			n += 2
		case c < utf8.RuneSelf || c >= 0xC0:
			n++
		}
	}
	return n
}

// numberText returns a number as JavaScript prints it.
func numberText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return tree.Number(f).Text()
}

// replaceAll replaces all occurrences of old. An empty old replaces nothing. ok is
// false if the result would be too long.
func replaceAll(s, old, by string) (result string, ok bool) {
	if old == "" {
		return s, true
	}
	n := strings.Count(s, old)
	if n == 0 {
		return s, true
	}
	if len(s)+n*(len(by)-len(old)) > maxString {
		return "", false
	}
	return strings.ReplaceAll(s, old, by), true
}
