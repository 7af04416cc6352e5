package lang

// The limits of an expression (rules §5.9).
const (
	MaxBytes      = 64 << 10 // of an expression
	MaxNesting    = 200      // of parentheses, brackets, arguments, ternaries and unary operators
	MaxNodes      = 5000     // of the syntax tree
	MaxRegexChars = 1000     // of the source of a regular expression
	MaxRegexSteps = 10_000   // of all regular expressions of an expression, the sum of Regex.Steps
	maxRepeat     = 1000     // in {n,m}: what RE2 allows
)
