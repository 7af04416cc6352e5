package lang

// An Expr is a node of an expression's syntax tree. Parse makes trees and Check
// annotates them; after that they don't change.
//
// The set of nodes is closed. A new kind of node needs a case in check.go,
// print.go, the compiler of package eval, the interpreter of the tests, and the
// tools that walk trees.
type Expr interface {
	// Span returns where the node stands in the source: bytes from to to, the
	// parentheses around it left out.
	Span() (from, to int)

	// Type returns the set of types that the node's value can have. It is 0
	// before Check.
	Type() Type

	// String returns the expression in canonical form: one space around binary
	// operators, strings in single quotes, no parentheses that precedence makes
	// needless. Parse makes an equal tree of it.
	String() string
}

// node is what all nodes have.
type node struct {
	from, to int
	typ      Type
}

func (n *node) Span() (from, to int) { return n.from, n.to }
func (n *node) Type() Type           { return n.typ }

type (
	// A Literal is null, true, false, a number or a string.
	Literal struct {
		node
		Value any // nil, bool, float64 or string
	}

	// A Regex is a regular expression literal, /pattern/ or /pattern/i. After
	// Check it is only found as the argument of matches, where the Wilddog dialect
	// also has a string, and as the branch of a ternary that is compared.
	Regex struct {
		node
		Pattern    string // as written between the slashes
		IgnoreCase bool
		Machine    *Machine // set by Parse
		Steps      int      // set by Parse: how many characters Pattern has with its repeats written out
		size       int      // what counts for RegexBounds.Size
		re2        string   // what Machine was made of
	}

	// An Array is a list literal. It is only found as the argument of
	// hasChildren.
	Array struct {
		node
		Items []Expr
	}

	// A Variable is auth, now, root, data, newData, query or a capture, whose
	// name begins with a dollar sign.
	Variable struct {
		node
		Name string
	}

	// A Unary is !x or -x.
	Unary struct {
		node
		Op Op
		X  Expr
	}

	// A Binary is x op y. Both && and || evaluate y only if they have to.
	Binary struct {
		node
		Op   Op
		X, Y Expr
	}

	// A Cond is test ? then : else.
	Cond struct {
		node
		Test, Then, Else Expr
	}

	// A Member is x.name or x["name"].
	Member struct {
		node
		X       Expr
		Name    string
		Bracket bool // written in brackets
		at      int  // where the name is written
		called  bool // written as a call, length()
	}

	// An Index is x[key] with a key that is not a string literal. Only claims
	// have it.
	Index struct {
		node
		X, Key Expr
	}

	// A Call is a call of a method. After Check, Fun is a *Member.
	Call struct {
		node
		Fun  Expr
		Args []Expr
	}
)

// An Op is an operator.
type Op int

// The operators. === is read as Eq and !== as Ne.
const (
	Or Op = iota
	And
	Eq
	Ne
	Lt
	Le
	Gt
	Ge
	Add
	Sub
	Mul
	Div
	Rem
	Not
	Neg
)

// A Type is a set of types that a value can have. A set, because most
// expressions have one of several types until the request is known. Check
// refuses what cannot be right for any of them, and leaves the rest to run
// time.
type Type uint16

// The types. What auth can be, and every member of it, is any of the first six.
const (
	Null Type = 1 << iota
	Boolean
	Number
	String
	Object // a node with children, or a JSON array or object inside claims
	Claims // auth and the objects inside it
	Snapshot
	Query
	Regexp
	List
	Method // a method that is not called
	Words  // of a text, an extension

	Any = Null | Boolean | Number | String | Object | Claims
)

// A Dialect says which product's rules language an expression is written in.
type Dialect int

// The dialects. Wilddog's has all of Firebase's and a few spellings more.
const (
	Firebase Dialect = iota
	Wilddog
)

// A Scope is what an expression may refer to.
//
// It depends on the path of the rule and on its kind. Checking does not change
// it, so it may be shared.
type Scope struct {
	Captures []string // "$room", from the root downwards
	NewData  bool     // whether there is newData, and newRoot if that is allowed: in .write and .validate
	Dialect  Dialect
	Extensions

	// Accepted says that an earlier version accepted the expression. Checks that were
	// added since then are left out.
	Accepted bool
}

// An Error is a fault in an expression.
type Error struct {
	Offset int // of the first byte of the offending token
	Msg    string
	Meant  string // of an unknown name the known one that it resembles; "" if there is none
}

// Error returns the message.
func (e *Error) Error() string { return e.Msg }
