package lang

import (
	"strings"
	"unicode/utf8"
)

// Parse parses an expression. One semicolon may follow it.
//
// In the Wilddog dialect the call s.length() becomes the Member s.length, and the
// string in s.matches("re") a Regex.
//
// It reports the first mistake alone, in the words of the hosted service. Tools that want
// all of them use CheckAll on what could be parsed.
func Parse(src string, d Dialect) (Expr, *Error) { return ParseWithin(src, d, regexBounds) }

// ParseWithin is Parse with other bounds of regular expressions.
func ParseWithin(src string, d Dialect, most RegexBounds) (Expr, *Error) {
	if len(src) > MaxBytes {
		return nil, errorf(MaxBytes, msgTooLong, MaxBytes)
	}
	if valid := validPrefix(src); valid < len(src) {
		return nil, errorf(valid, msgUTF8)
	}
	var x Expr
	p := &parser{lex: lexer{src: src}, dialect: d, regexes: most}
	if err := recovered(func() { x = p.whole() }); err != nil {
		return nil, err
	}
	return x, nil
}

// whole = expr [ ";" ]
func (p *parser) whole() Expr {
	p.next()
	x := p.expr()
	if p.is(";") {
		p.next()
	}
	if p.tok.kind != endToken {
		p.unexpected("")
	}
	return x
}

// validPrefix returns the number of bytes of s before the first that isn't UTF-8.
func validPrefix(s string) int {
	for i, c := range s {
		if c == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return i
		}
	}
	return len(s)
}

// A parser is a recursive descent parser with one method per rule of the grammar
// (rules §5.2). It panics with *Error.
//
// Panics stay inside of the package: recovered turns a panic of *Error into a result, and
// lets any other pass, which is a bug. The depth is counted by enter and leave, because
// rules come from strangers and a recursive parser needs a bound before its stack does.
type parser struct {
	lex     lexer
	dialect Dialect
	tok     token // the next one
	last    int   // the end of the token before it
	depth   int   // how many expr and unary are active
	nodes   int   // how many nodes were made

	regexes RegexBounds // that are left
}

func (p *parser) next() {
	p.last = p.tok.to
	p.tok = p.lex.next()
}

// is reports whether the next token is the operator or bracket text.
func (p *parser) is(text string) bool { return p.tok.kind == punctToken && p.tok.text == text }

func (p *parser) expect(text string) {
	if !p.is(text) {
		p.unexpected(text)
	}
	p.next()
}

// unexpected fails at the next token. want is the only token that could be
// there, or "".
func (p *parser) unexpected(want string) {
	t := p.tok
	switch {
	case t.kind == endToken:
		panic(errorf(t.from, msgEnd))
	case t.kind == assignToken:
		e := errorf(t.from, msgAssignment)
		e.Meant = "=="
		panic(e)
	case t.kind == foreignToken, t.kind == nameToken && foreignWords[t.text]:
		panic(errorf(t.from, msgForeign, t.text))
	case want != "":
		panic(errorf(t.from, msgExpected, want))
	}
	panic(errorf(t.from, msgSyntax))
}

// enter begins a level of nesting, which leave ends.
func (p *parser) enter() {
	if p.depth++; p.depth > MaxNesting {
		panic(errorf(p.tok.from, msgTooDeep, MaxNesting))
	}
}

func (p *parser) leave() { p.depth-- }

// node makes the node of what was read since from.
func (p *parser) node(from int) node {
	if p.nodes++; p.nodes > MaxNodes {
		panic(errorf(from, msgTooManyNodes, MaxNodes))
	}
	return node{from: from, to: p.last}
}

// expr = binary [ "?" expr ":" expr ]
func (p *parser) expr() Expr {
	p.enter()
	defer p.leave()
	from := p.tok.from
	x := p.binary(Or.Precedence())
	if !p.is("?") {
		return x
	}
	p.next()
	then := p.expr()
	p.expect(":")
	other := p.expr()
	return &Cond{p.node(from), x, then, other}
}

// binaryOps are the binary operators as they may be written.
var binaryOps = map[string]Op{
	"||": Or, "&&": And, "==": Eq, "===": Eq, "!=": Ne, "!==": Ne,
	"<": Lt, "<=": Le, ">": Gt, ">=": Ge, "+": Add, "-": Sub, "*": Mul, "/": Div, "%": Rem,
}

// binary parses a chain of operators that bind at least as tightly as min.
func (p *parser) binary(min int) Expr {
	from := p.tok.from
	x := p.unary()
	for p.tok.kind == punctToken {
		op, ok := binaryOps[p.tok.text]
		if !ok || op.Precedence() < min {
			break
		}
		p.next()
		y := p.binary(op.Precedence() + 1)
		x = &Binary{p.node(from), op, x, y}
	}
	return x
}

// unary = ( "!" | "-" ) unary | postfix
func (p *parser) unary() Expr {
	op := Not
	switch {
	case p.is("-"):
		op = Neg
	case !p.is("!"):
		return p.postfix()
	}
	p.enter()
	defer p.leave()
	from := p.tok.from
	p.next()
	x := p.unary()
	return &Unary{p.node(from), op, x}
}

// postfix = primary { "." name | "[" expr "]" | "(" [ expr { "," expr } ] ")" }
func (p *parser) postfix() Expr {
	from := p.tok.from
	x := p.primary()
	for {
		switch {
		case p.is("."):
			p.next()
			if p.tok.kind != nameToken {
				p.unexpected("")
			}
			t := p.tok
			p.next()
			x = &Member{node: p.node(from), X: x, Name: t.text, at: t.from}
		case p.is("["):
			x = p.subscript(from, x)
		case p.is("("):
			x = p.call(from, x, p.list("(", ")"))
		default:
			return x
		}
	}
}

// subscript parses what is in brackets behind x.
func (p *parser) subscript(from int, x Expr) Expr {
	p.next()
	key := p.expr()
	p.expect("]")
	if lit, ok := key.(*Literal); ok {
		if s, ok := lit.Value.(string); ok {
			return &Member{node: p.node(from), X: x, Name: s, Bracket: true, at: lit.from}
		}
	}
	return &Index{p.node(from), x, key}
}

// call makes the node of a call. Wilddog's spellings are turned into Firebase's.
func (p *parser) call(from int, fun Expr, args []Expr) Expr {
	if m, ok := fun.(*Member); ok && p.dialect == Wilddog {
		if m.Name == "length" && len(args) == 0 {
			if m.called {
				panic(errorf(m.at, msgNoFunction))
			}
			m.to, m.called = p.last, true
			return m
		}
		if m.Name == "matches" && len(args) == 1 {
			if lit, ok := args[0].(*Literal); ok {
				args[0] = p.stringRegex(lit)
			}
		}
	}
	return &Call{p.node(from), fun, args}
}

// stringRegex makes a Regex of a string literal.
func (p *parser) stringRegex(lit *Literal) Expr {
	pattern, ok := lit.Value.(string)
	if !ok {
		return lit
	}
	x, err := compileRegex(pattern, false, p.regexes)
	if err != nil {
		panic(errorf(lit.from, "%s", err.Msg)) // escapes may have moved the place
	}
	return p.compiled(x, lit.node)
}

// compiled gives a compiled regular expression its place.
func (p *parser) compiled(x *Regex, place node) Expr {
	p.regexes.Steps -= x.Steps
	p.regexes.Size -= x.size
	x.node = place
	return x
}

// list parses expressions with commas between them, and the brackets around them.
func (p *parser) list(open, end string) []Expr {
	p.expect(open)
	var items []Expr
	if !p.is(end) {
		items = append(items, p.expr())
		for p.is(",") {
			p.next()
			items = append(items, p.expr())
		}
	}
	p.expect(end)
	return items
}

// primary = literal | name | "(" expr ")" | "[" [ expr { "," expr } ] "]"
func (p *parser) primary() Expr {
	t := p.tok
	switch t.kind {
	case numberToken:
		return p.literal(t.num)
	case stringToken:
		return p.literal(t.text)
	case nameToken:
		return p.name()
	}
	switch t.text {
	case "(":
		p.next()
		x := p.expr()
		p.expect(")")
		return x
	case "[":
		items := p.list("[", "]")
		return &Array{p.node(t.from), items}
	case "/", "/=":
		return p.regex()
	}
	p.unexpected("")
	return nil
}

func (p *parser) literal(v any) Expr {
	from := p.tok.from
	p.next()
	return &Literal{p.node(from), v}
}

// name parses a variable or one of the literals that are words.
func (p *parser) name() Expr {
	switch t := p.tok; {
	case t.text == "null":
		return p.literal(nil)
	case t.text == "true", t.text == "false":
		return p.literal(t.text == "true")
	case foreignWords[t.text]:
		p.unexpected("")
	}
	from, text := p.tok.from, p.tok.text
	p.next()
	return &Variable{p.node(from), text}
}

// regex parses a regular expression literal; its first slash was read as an
// operator.
func (p *parser) regex() Expr {
	from := p.tok.from
	pattern, flags := p.lex.regex(from)
	x, err := compileRegex(pattern, flags != "", p.regexes)
	if err != nil {
		panic(errorf(from+1+err.Offset, "%s", err.Msg))
	}
	p.tok.to = p.lex.pos
	p.next()
	return p.compiled(x, p.node(from))
}
