package rules

import "github.com/dogwooddb/dogwood/rules/lang"

// Parts of the language of rules that documents, traces and tests have in them.
type (
	// An Expr is an expression. String returns it as text, and Span where it stands in
	// the source.
	Expr = lang.Expr

	// A Type is the set of types that the value of an expression can have.
	Type = lang.Type

	// A Dialect says which product's rules language a document is in.
	Dialect = lang.Dialect

	// Extensions are the parts of the language that Firebase does not have (rules §2).
	Extensions = lang.Extensions
)

// The dialects.
const (
	Firebase = lang.Firebase
	Wilddog  = lang.Wilddog
)

// ParseExtensions reads names of extensions.
func ParseExtensions(names ...string) (Extensions, error) { return lang.ParseExtensions(names...) }
