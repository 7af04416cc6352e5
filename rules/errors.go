package rules

import (
	"fmt"
	"strings"
)

// A Pos is a place in a rules text. Lines and columns count from 1; a column is
// a character. A byte order mark does not count.
type Pos struct{ Line, Col int }

// String returns the position as error messages begin: "3:15".
func (p Pos) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Col) }

// A SyntaxError says what is wrong in a rules document and where. Its texts are
// those that clients and tools know from the hosted service.
type SyntaxError struct {
	Pos  Pos
	Rule string // the property: "/rooms/$room/.read"; "" if it is the document
	Msg  string

	// Detail is what Msg leaves out: of a parse error, what was expected and what is there;
	// "" if there is nothing more. It is for people: Error leaves it out.
	Detail string

	// Meant is the known name that an unknown one resembles, "" if there is none. It is
	// for people: Error leaves it out.
	Meant string

	// More are the other mistakes in the same rule that do not follow from this one.
	// They are for people: uploads of rules answer one error for each rule.
	More Errors
}

// Error returns the position and the message: "3:15: Unknown variable 'tr'."
func (e *SyntaxError) Error() string { return e.Pos.String() + ": " + e.Msg }

// Errors are what is wrong in one document, at least one, in the order of the
// text. A rule has at most one.
type Errors []*SyntaxError

// All returns the errors with what else is wrong with their rules.
func (e Errors) All() (all Errors) {
	for _, err := range e {
		all = append(append(all, err), err.More...)
	}
	return all
}

// Text returns the error as Error does, with what is for people.
func (e *SyntaxError) Text() string {
	text := e.Error()
	if e.Detail != "" {
		text = strings.TrimSuffix(text, ".") + ": " + e.Detail
	}
	if e.Meant != "" {
		text += " Did you mean " + e.Meant + "?"
	}
	return text
}

// Text returns one line for each mistake, those that Error leaves out, too, with what is
// for people.
func (e Errors) Text() string {
	var b strings.Builder
	for _, err := range e.All() {
		b.WriteString(err.Text())
		b.WriteByte('\n')
	}
	return b.String()
}

// Error returns one line for each error, as an upload of rules answers them:
// each ends in a line feed.
func (e Errors) Error() string {
	var b strings.Builder
	for _, err := range e {
		b.WriteString(err.Error())
		b.WriteByte('\n')
	}
	return b.String()
}

// Texts of errors (rules §1.4). Those from msgDuplicate on are our own, because no
// text of the hosted service is known for these mistakes.
const (
	msgNoRules      = "Expected 'rules' property."
	msgNoObject     = "Expected '{'."
	msgBadKey       = `String can't contain ".", "#", "$", "/", "[", or "]"`
	msgTwoCaptures  = "Cannot have multiple default rules ('%s' and '%s')."
	msgBadRule      = "Invalid rule expression.  Expected 'true', 'false', or an expression string."
	msgBadIndex     = "Invalid indexOn expression. Must be either a string or an array of strings"
	msgDuplicate    = "Duplicate key '%s'."
	msgCaptureTwice = "Variable '%s' is already defined."
	msgKeyLength    = "Keys must have 1 to %d bytes."
	msgIndexPath    = "Invalid indexOn path '%s'. Must be a child path or '.value'"
	msgBadLimit     = "Invalid limit. Must be a whole number from 1 to %d"
	msgPathsTooLong = "The paths of all rules together are too long."

	msgRegexesTooLong = "The regular expressions of all rules together are too long."
)
