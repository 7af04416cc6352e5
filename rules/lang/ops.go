package lang

// operators says how each operator is written and how tightly it binds.
var operators = [...]struct {
	text string
	prec int
}{
	Or: {"||", 2}, And: {"&&", 3},
	Eq: {"==", 4}, Ne: {"!=", 4},
	Lt: {"<", 5}, Le: {"<=", 5}, Gt: {">", 5}, Ge: {">=", 5},
	Add: {"+", 6}, Sub: {"-", 6},
	Mul: {"*", 7}, Div: {"/", 7}, Rem: {"%", 7},
	Not: {"!", precUnary}, Neg: {"-", precUnary},
}

// Precedences of what is no binary operator. A ternary binds the least and a
// unary operator more than any binary one.
const (
	precCond    = 1
	precUnary   = 8
	precPostfix = 9
)

// String returns the operator as it is written.
func (op Op) String() string { return operators[op].text }

// Precedence returns how tightly the operator binds: a higher number is tighter,
// a ternary is 1. Binary operators of one precedence associate left.
func (op Op) Precedence() int { return operators[op].prec }
