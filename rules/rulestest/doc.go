// Package rulestest tries rules: it reads files of operations with what is
// expected of them, decides each operation by a ruleset, and reports where the
// two differ. It needs no server and no store; the data is a tree in memory.
//
// Its nouns: a Suite is a test file, a Group a series of steps on one tree, a
// Step one operation with what it Wants, a Result what came of it. An Actor is
// who acts. An Invariant is what must hold of the tree after each accepted write.
//
// Three formats are read (Load): test files (*.rules-test.json, rules §11.3),
// lists of single cases (rules §12), and the operations of the data models
// (*.ops.json). What a step can do is the same in all of them, so each reader only
// translates into a Suite, and one runner runs it.
//
// Obligations: a Suite may be run by several goroutines at a time, as rulesmutate
// does, so running one changes nothing in it. The rules are asked by the same
// Requests as in a server; an operation of an administrator asks none.
package rulestest
