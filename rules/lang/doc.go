// Package lang is the front end of the security rules' expression language:
// tokens, syntax trees, static types and regular expressions (rules §5). It
// knows nothing of rules documents, data or evaluation.
//
// Parse makes an Expr of a text, Check (or CheckAny) proves its types and
// annotates it. Both report the first Error only, with the text that clients and
// tools know from the hosted service. What Check has passed needs no more static
// checks: operands of ! && || and the test of a ternary are booleans, methods are
// called with the right number of arguments on receivers that have them, and
// Member.Name is one of the names in the table of members.go unless the receiver
// may be a claim.
//
// What remains for run time are the operands that may have a right type and a
// wrong one, such as data.val() + 1. The branches of a ternary are free, so a
// snapshot, an uncalled method or a regular expression can still be an operand of
// == behind a ternary: (auth == null ? data : 1) == 1.
//
// Everything is bounded: the constants in limits.go say by how much. So the tree
// may be walked recursively. A tree that is checked doesn't change and may be
// shared between goroutines; Parse and Check keep no state.
//
// The text of an expression is parsed once, when rules are loaded. From then on only the
// tree is used: by the compiler of package eval, which decides, by the explanations, and
// by the tools behind "dogwood rules".
package lang
