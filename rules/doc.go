// Package rules decides who may read and write, and which data is valid. It
// reads a rules document (JSON with comments, as security rules of the Firebase
// Realtime Database are written) and answers questions about it. It does no I/O
// of its own, and a Ruleset never changes, so any number of goroutines may use
// one.
//
// Its nouns: a Ruleset is a parsed document. A Request is one read or write that
// somebody wants to make, a Decision the answer. An IndexDef is one .indexOn
// declaration.
//
// A rule is true, false, or a string that holds one of these. Parse refuses any
// other expression: what it accepts is enforced.
//
// It does not know administrators: callers that the rules don't apply to are not
// checked at all. Nor does it know /.info and /.settings, which have no rules.
package rules
