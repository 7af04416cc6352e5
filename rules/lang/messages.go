package lang

import "fmt"

// The texts of errors. Those of the table in rules §1.4 are known to clients
// and tools and are reproduced to the letter; the others are in the same style.
const (
	msgEnd           = "Unexpected end of expression."
	msgExpected      = "Expected '%s'."
	msgSyntax        = "syntax error"
	msgAssignment    = "Rule expressions may not contain assignments."
	msgForeign       = "Rule expressions may not contain operator '%s'."
	msgOpenString    = "unterminated string literal"
	msgOpenComment   = "unterminated comment"
	msgOpenRegex     = "unterminated regular expression literal"
	msgBadFlags      = "regular expressions do not support flags other than i"
	msgBadEscape     = "Invalid escape sequence in a string."
	msgBadNumber     = "Invalid number."
	msgUTF8          = "Expression is not valid UTF-8."
	msgTooLong       = "Expression is too long. At most %d bytes are allowed."
	msgTooDeep       = "Expression is nested too deeply. At most %d levels are allowed."
	msgTooManyNodes  = "Expression is too complex. At most %d operators and operands are allowed."
	msgRegexTooLong  = "Regular expression is too long. At most %d characters are allowed."
	msgRegexTooLarge = "Regular expressions repeat too much."
	msgRegex         = "Invalid regular expression: %s."

	msgUnknown      = "Unknown variable '%s'."
	msgNewData      = "newData is invalid in .read expressions."
	msgNoMember     = "No such method/property '%s'."
	msgNoObject     = "Invalid property access: target is not an object."
	msgComputed     = "Invalid property access."
	msgNoFunction   = "Type error: Function call on target that is not a function."
	msgArray        = "Unexpected array literal."
	msgNotBoolean   = "Expression must evaluate to a boolean."
	msgTest         = "condition of ? must be boolean."
	msgNot          = "! only operates on booleans."
	msgNeg          = "- only operates on numbers."
	msgLogical      = "%s operand of %s must be boolean."
	msgEqLeft       = "Invalid == expression: left operand is not a number, boolean, string, null."
	msgEquality     = "Invalid %s expression: %s operand is not a number, boolean, string, or null."
	msgOrdering     = "Invalid %s expression: %s operand must be an ordering or string literal when comparing against an ordering."
	msgOrder        = "Invalid %s expression: %s operand must be a number or string."
	msgAdd          = "Invalid + expression: %s operand is not a number or string."
	msgArithmetic   = "Invalid %s expression: %s operand is not a number."
	msgNoArgs       = "%s() expects no arguments."
	msgOneArg       = "%s() expects 1 argument."
	msgStringArg    = "%s() expects a string argument."
	msgTwoArgs      = "%s() expects two arguments."
	msgStringArgN   = "Argument %d of %s() must be a string."
	msgNumberArgN   = "Argument %d of %s() must be a number."
	msgOneRegex     = "%s() expects 1 regular expression literal argument."
	msgRegexArg     = "%s() expects a regular expression literal argument."
	msgOneList      = "%s() expects only a single argument (containing an array of child names)."
	msgListArg      = "%s() expects an array of child names."
	msgListOfString = "%s() expects an array of strings."
)

// errorf makes an Error at an offset. Texts without arguments may contain a %.
// Offsets count bytes of the expression; package rules turns them into lines
// and columns of the document.
func errorf(offset int, format string, args ...any) *Error {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	return &Error{Offset: offset, Msg: format}
}
