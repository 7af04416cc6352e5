// Package rules decides who may read and write, and which data is valid. It reads
// a rules document (JSON with comments, as security rules of the Firebase Realtime
// Database are written) and answers questions about it. It does no I/O of its own.
// A Ruleset never changes, so any number of goroutines may use one.
//
// Its nouns: a Ruleset is a parsed document. A Request is one read or write that a
// caller wants to make, a Decision the answer. A Rule is one .read, .write or
// .validate of the document, an IndexDef one .indexOn declaration, a Limit one
// .limit. A Trace tells how a decision was made, a Coverage what many traces have
// reached, and Reads what a decision depends on.
//
// A rule is an expression. Package lang parses and checks it. A constant
// expression stays a constant; every other becomes a program of a virtual machine
// (github.com/expr-lang/expr), which internal/eval compiles and runs. Explain runs
// a second program of the same expression, which notes the value of each part.
// Expressions see the tree before and after the operation through
// internal/snapshot: the old tree remembers what it was asked, and the new one is
// the writes over it, never a copy.
//
// The package does not know administrators: callers that the rules do not apply to
// are not checked at all. Nor does it know /.info and /.settings, which have no
// rules.
//
// Obligations: Request.Now is the time that server timestamps of the operation
// resolve to, and the targets of Request.Writes are disjoint. A read over REST
// without parameters has Query.OrderBy tree.ByKey; over the realtime protocol it
// has the zero Query, which is ordered by priority.
package rules
