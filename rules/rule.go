package rules

import (
	"strings"
	"sync"

	"github.com/dogwooddb/dogwood/rules/internal/eval"
	"github.com/dogwooddb/dogwood/rules/lang"
)

// maxRuleErrors bounds the errors of one rule.
const maxRuleErrors = 10

// A Kind is one of the three kinds of rules.
type Kind int

// The kinds of rules.
const (
	ReadRule Kind = iota
	WriteRule
	ValidateRule
)

// String returns the property's name: ".read", ".write" or ".validate".
func (k Kind) String() string { return [...]string{".read", ".write", ".validate"}[k] }

// A Rule is one .read, .write or .validate of a document, as tools see it.
type Rule struct {
	Path   string // "/rooms/$room/.read"
	Kind   Kind   //
	Source string // the expression; "true" or "false" for a boolean
	Expr   Expr   // checked
	Pos    Pos    // of the property's value in the document

	pos func(offset int) Pos
}

// At returns the place in the document of a byte of the rule's source.
func (r *Rule) At(offset int) Pos { return r.pos(offset) }

// A rule is one .read, .write or .validate, ready to be asked.
type rule struct {
	Rule
	depths  map[string]int       // of the captures that the rule can see
	program *eval.Program        // nil if the rule is constant
	noting  func() *eval.Program // for Explain; compiled when it is first used, nil if that fails
	always  bool                 // the value of a constant rule
}

// alwaysHolds reports whether there is no request that the rule refuses.
func (r *rule) alwaysHolds() bool { return r.program == nil && r.always }

// mayHold reports whether there may be a request that the rule accepts.
func (r *rule) mayHold() bool { return r.program != nil || r.always }

// ParseOptions say how a document is to be read. The zero value is what the
// Firebase Realtime Database accepts.
type ParseOptions struct {
	Dialect Dialect
	Extensions

	// Accepted says that the document is stored and was accepted by an earlier version.
	// Mistakes that only newer versions refuse are let through, so that rules stay in
	// force after an upgrade.
	Accepted bool
}

// compile makes a rule of its expression. keys are those on the way to it, with
// captures as written. It returns the mistakes, nil if there are none.
func (r *rule) compile(keys []string, o ParseOptions) []*lang.Error {
	x, err := lang.Parse(r.Source, o.Dialect)
	if err != nil {
		return []*lang.Error{err}
	}
	r.depths = make(map[string]int)
	scope := lang.Scope{Dialect: o.Dialect, NewData: r.Kind != ReadRule, Extensions: o.Extensions, Accepted: o.Accepted}
	for depth, key := range keys {
		if strings.HasPrefix(key, "$") {
			scope.Captures = append(scope.Captures, key)
			r.depths[key] = depth
		}
	}
	if errs := lang.CheckAll(x, scope, maxRuleErrors); errs != nil {
		return errs
	}
	r.Expr = x
	r.noting = sync.OnceValue(func() *eval.Program {
		program, _ := eval.CompileNoting(x, r.depths)
		return program
	})
	if value, ok := constant(x); ok {
		r.always = value
		return nil
	}
	program, failed := eval.Compile(x, r.depths)
	if failed != nil { // a fault of ours
		return []*lang.Error{{Msg: "Expression can't be compiled."}}
	}
	r.program = program
	return nil
}

// constant returns the value of a boolean expression that is the same for every
// request and cannot fail. It only knows literals under logical operators.
func constant(x lang.Expr) (value, ok bool) {
	switch x := x.(type) {
	case *lang.Literal:
		value, ok = x.Value.(bool)
	case *lang.Unary:
		if x.Op == lang.Not {
			value, ok = constant(x.X)
			value = !value
		}
	case *lang.Cond:
		test, known := constant(x.Test)
		switch {
		case known && test:
			return constant(x.Then)
		case known:
			return constant(x.Else)
		}
	case *lang.Binary:
		if x.Op != lang.And && x.Op != lang.Or {
			return false, false
		}
		value, ok = constant(x.X)
		if ok && value == (x.Op == lang.And) {
			return constant(x.Y)
		}
	}
	return value, ok
}
