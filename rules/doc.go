// Package rules decides who may read and write, and which data is valid. It
// reads a rules document (JSON with comments, as security rules of the Firebase
// Realtime Database are written) and answers questions about it. It does no I/O
// of its own, and a Ruleset never changes, so any number of goroutines may use
// one.
//
// Its nouns: a Ruleset is a parsed document. A Request is one read or write that
// somebody wants to make, a Decision the answer. A Rule is one .read, .write or
// .validate of the document, an IndexDef one .indexOn declaration, a Limit one .limit. A Trace tells
// how a decision came about, a Coverage what many traces have reached, and Reads
// what a decision depends on.
//
// A rule is an expression. Package lang parses and checks it; what is constant
// stays a constant, and everything else becomes a program of a virtual machine
// (github.com/expr-lang/expr): its instructions are the logical operators, and
// calls of a few functions of this package do the rest (lower.go, functions.go).
// Explain evaluates the same expressions node by node instead (explain.go). Both
// see the tree through what is here too: the old tree remembers what it was asked
// (stored.go), and the new one is the writes over it, never a copy (overlay.go).
//
// It does not know administrators: callers that the rules don't apply to are not
// checked at all. Nor does it know /.info and /.settings, which have no rules.
//
// Obligations: Request.Now is the time that server timestamps of the operation
// resolve to, and the targets of Request.Writes are disjoint. A read over REST
// without parameters has Query.OrderBy tree.ByKey; over the realtime protocol it
// has the zero Query, which is ordered by priority.
package rules
