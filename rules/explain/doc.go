// Package explain tells people and programs how rules decided: Text draws the
// rules that were asked with the values of their sub-expressions under the
// source, Brief says it in one line, and NewReport gives it a JSON form. Errors
// draws what is wrong in a document that was refused.
//
// It only formats what package rules found out. What it writes is bounded,
// however large the request was.
package explain
