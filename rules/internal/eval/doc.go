// Package eval evaluates the expressions of rules. Compile translates a checked
// expression into a program of a virtual machine (github.com/expr-lang/expr), and
// an Evaluation runs programs for one operation: it has the variables, the trees
// before and after it, and the bounds of what it may read.
//
// There is one evaluator. CompileNoting makes a program of the same functions that
// also tells what each part of the expression was, for explanations and coverage.
package eval
