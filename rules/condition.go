package rules

import "strings"

// A condition is the compiled form of a rule's value. So far every condition is
// a constant.
type condition bool

// holds reports whether the condition is true of the request.
func (c condition) holds(*Request) bool { return bool(c) }

// alwaysHolds reports whether there is no request that the condition refuses.
func (c condition) alwaysHolds() bool { return bool(c) }

// mayHold reports whether there may be a request that the condition accepts.
func (c condition) mayHold() bool { return bool(c) }

// An exprError is a fault in one expression. Its offset counts bytes of the
// expression, that is, of the text that the JSON string stands for.
type exprError struct {
	offset int
	msg    string
}

const (
	msgUnsupported = "Expressions are not supported by this version; use true or false."
	msgExprEnds    = "Unexpected end of expression."
)

// compileExpr compiles the expression in a rule's string. It is the one place
// that knows which expressions there are: true and false, in any number of
// parentheses. All others are errors, since a rule that was accepted and not
// enforced would be a hole.
func compileExpr(src string) (condition, *exprError) {
	const space = " \t\r\n"
	x := strings.Trim(src, space)
	if x == "" {
		return false, &exprError{len(src), msgExprEnds}
	}
	for len(x) > 1 && x[0] == '(' && x[len(x)-1] == ')' {
		x = strings.Trim(x[1:len(x)-1], space)
	}
	switch x {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	start := len(src) - len(strings.TrimLeft(src, space))
	return false, &exprError{start, msgUnsupported}
}
