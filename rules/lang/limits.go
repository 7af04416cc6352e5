package lang

import "math"

// The limits of an expression (rules §5.9).
const (
	MaxBytes      = 64 << 10 // of an expression
	MaxNesting    = 200      // of parentheses, brackets, arguments, ternaries and unary operators
	MaxNodes      = 5000     // of the syntax tree
	MaxRegexChars = 1000     // of the source of a regular expression
	MaxRegexSteps = 10_000   // of all regular expressions of an expression, the sum of Regex.Steps
	maxRepeat     = 1000     // in {n,m}: what RE2 allows
)

// RegexBounds are those of all regular expressions of an expression together.
type RegexBounds struct {
	Steps int // the sum of Regex.Steps
	// Size is how long they may be in RE2's syntax, where sets of characters are spelled out, and
	// how many letters may be looked at for their other cases. Time and memory to compile them
	// are in proportion to both bounds.
	Size int
	Text string // of the error
}

// regexBounds are those of rules, which administrators write.
var regexBounds = RegexBounds{MaxRegexSteps, math.MaxInt, msgRegexTooLarge}
