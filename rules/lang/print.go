package lang

import (
	"strconv"
	"strings"
)

func (x *Literal) String() string  { return text(x) }
func (x *Regex) String() string    { return text(x) }
func (x *Array) String() string    { return text(x) }
func (x *Variable) String() string { return text(x) }
func (x *Unary) String() string    { return text(x) }
func (x *Binary) String() string   { return text(x) }
func (x *Cond) String() string     { return text(x) }
func (x *Member) String() string   { return text(x) }
func (x *Index) String() string    { return text(x) }
func (x *Call) String() string     { return text(x) }

func text(x Expr) string {
	var p printer
	p.expr(x, 0)
	return p.String()
}

// Its output is canonical: Parse of it gives an equal tree. Formatting of rules
// documents, explanations and tests depend on that.
type printer struct{ strings.Builder }

// expr prints x, in parentheses if it binds less tightly than min.
func (p *printer) expr(x Expr, min int) {
	if Precedence(x) < min {
		p.WriteByte('(')
		defer p.WriteByte(')')
	}
	switch x := x.(type) {
	case *Literal:
		p.literal(x.Value)
	case *Regex:
		p.regex(x)
	case *Array:
		p.list('[', x.Items, ']')
	case *Variable:
		p.WriteString(x.Name)
	case *Unary:
		p.unary(x)
	case *Binary:
		prec := x.Op.Precedence()
		p.expr(x.X, prec)
		p.WriteString(" " + x.Op.String() + " ")
		p.expr(x.Y, prec+1)
	case *Cond:
		p.expr(x.Test, precCond+1)
		p.WriteString(" ? ")
		p.expr(x.Then, precCond)
		p.WriteString(" : ")
		p.expr(x.Else, precCond)
	case *Member:
		p.member(x)
	case *Index:
		p.expr(x.X, precPostfix)
		p.WriteByte('[')
		p.expr(x.Key, precCond)
		p.WriteByte(']')
	case *Call:
		p.expr(x.Fun, precPostfix)
		p.list('(', x.Args, ')')
	}
}

// Precedence returns how tightly the outermost operator of x binds, in the numbers of
// [Op.Precedence]. An expression without an operator binds the tightest.
func Precedence(x Expr) int {
	switch x := x.(type) {
	case *Cond:
		return precCond
	case *Binary:
		return x.Op.Precedence()
	case *Unary:
		return precUnary
	}
	return precPostfix
}

func (p *printer) list(open byte, items []Expr, end byte) {
	p.WriteByte(open)
	for i, x := range items {
		if i > 0 {
			p.WriteString(", ")
		}
		p.expr(x, precCond)
	}
	p.WriteByte(end)
}

// unary prints -x and !x. Two signs are kept apart: -- would be another operator.
func (p *printer) unary(x *Unary) {
	p.WriteString(x.Op.String())
	if y, ok := x.X.(*Unary); ok && x.Op == Neg && y.Op == Neg {
		p.WriteByte(' ')
	}
	p.expr(x.X, precUnary)
}

func (p *printer) member(x *Member) {
	min := precPostfix
	if n, ok := x.X.(*Literal); ok && !x.Bracket {
		if _, ok := n.Value.(float64); ok {
			min++ // (1).x: the dot in 1.x is one of the number
		}
	}
	p.expr(x.X, min)
	if x.Bracket {
		p.WriteByte('[')
		p.str(x.Name)
		p.WriteByte(']')
		return
	}
	p.WriteString("." + x.Name)
}

func (p *printer) literal(v any) {
	switch v := v.(type) {
	case nil:
		p.WriteString("null")
	case bool:
		p.WriteString(strconv.FormatBool(v))
	case float64:
		p.WriteString(formatNumber(v))
	case string:
		p.str(v)
	}
}

// regex prints the pattern between slashes. A pattern that was written as a
// string may be none that slashes can enclose, and stays a string.
func (p *printer) regex(x *Regex) {
	if !x.IgnoreCase && !enclosable(x.Pattern) {
		p.str(x.Pattern)
		return
	}
	p.WriteString("/" + x.Pattern + "/")
	if x.IgnoreCase {
		p.WriteByte('i')
	}
}

// str prints a string in single quotes.
func (p *printer) str(s string) {
	const hex = "0123456789abcdef"
	p.WriteByte('\'')
	for _, c := range s {
		switch {
		case c == '\'' || c == '\\':
			p.WriteByte('\\')
			p.WriteRune(c)
		case c == '\n':
			p.WriteString(`\n`)
		case c == '\r':
			p.WriteString(`\r`)
		case c == '\t':
			p.WriteString(`\t`)
		case c < ' ' || c == 0x7f:
			p.WriteString(`\x`)
			p.WriteByte(hex[c>>4])
			p.WriteByte(hex[c&15])
		case isLineEnd(c):
			p.WriteString(`\u` + strconv.FormatInt(int64(c), 16))
		default:
			p.WriteRune(c)
		}
	}
	p.WriteByte('\'')
}

// formatNumber prints a number that is not negative as JavaScript does.
func formatNumber(v float64) string {
	if v != 0 && (v < 1e-6 || v >= 1e21) {
		return strings.Replace(strconv.FormatFloat(v, 'e', -1, 64), "e-0", "e-", 1)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
