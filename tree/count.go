package tree

import (
	"strings"

	"github.com/dogwooddb/dogwood/tree/jsontext"
)

// HasMoreValues reports whether a JSON text has more than max values, counting those
// without children of their own. It looks at the text only as far as it must, and takes
// what is no JSON as it comes: the parser refuses that.
func HasMoreValues(src string, max int) bool {
	if len(src) < 2*max || strings.Count(src, ",") < max { // max+1 values have max commas between them
		return false
	}
	return jsontext.Count(src, max) > max
}

// CountValues returns how many values a JSON text has, as HasMoreValues counts them.
func CountValues(src string) int { return jsontext.Count(src, len(src)) }
