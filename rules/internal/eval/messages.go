package eval

// Reasons why an expression fails, as traces and test reports show them. Those of
// wrong types get what the value was instead: "a key must be a string or a number,
// not null".
const (
	msgPanic     = "evaluating it failed unexpectedly"
	msgTooMany   = "more than 100,000 rules were evaluated for one operation"
	msgTooMuch   = "the rules read more than 64 MiB of text for one operation, or matched regular expressions for more than 12 million steps"
	msgBadAuth   = "the auth variable is no JSON"
	msgNoParent  = "the root has no parent"
	msgTooLong   = "the string would be longer than 1 MiB"
	msgPathArg   = "a child's path must be a string"
	msgNoString  = "it must be a string"
	msgArgument  = "an argument must be a string"
	msgNumberArg = "an argument must be a number"
	msgNoNumber  = "it must be the text of a number"
	msgNoTime    = "it must be a time, in milliseconds from 1970 to the year 9999"
	msgNoDate    = "it must be the text of a time in UTC, such as 2014-03-06T02:05:13.223Z"
	msgKey       = "a key must be a string or a number"
	msgLeftAdd   = "the left operand of + must be a number or a string"
	msgRightAdd  = "the right operand of + must be a number or a string"
	msgOperand   = "an operand of + must be a number or a string"
	msgLeft      = "the left operand must be a number"
	msgRight     = "the right operand must be a number"
	msgNegative  = "the operand must be a number"
	msgOrder     = "the operands must be two numbers or two strings"
	msgLeftSide  = "the left operand must be a number or a string"
	msgRightSide = "the right operand must be a number or a string"
)
