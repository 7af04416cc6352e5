package rulesfmt

import (
	"strings"
	"unicode/utf8"

	"github.com/dogwooddb/dogwood/rules/lang"
)

// formatExpr returns an expression in canonical form, over several lines if it
// was. depth is that of the property it belongs to.
func formatExpr(src string, d lang.Dialect, depth int) string {
	if strings.Contains(src, "//") || strings.Contains(src, "/*") {
		return src // a comment, or what looks like one
	}
	x, err := lang.Parse(src, d)
	if err != nil {
		return src
	}
	if !strings.Contains(strings.Trim(src, " \t\r\n"), "\n") {
		return x.String()
	}
	b := breaker{indent: strings.Repeat("  ", depth+1)}
	b.expr(x, 0, true)
	return b.out.String()
}

// A breaker prints an expression over lines.
type breaker struct {
	out    strings.Builder
	indent string // of the lines after the first
}

// expr prints x, in parentheses if it binds less tightly than min. Its outermost
// operator is broken over lines if force is set or it does not fit on one.
func (b *breaker) expr(x lang.Expr, min int, force bool) {
	text := x.String()
	if !force && len(b.indent)+utf8.RuneCountInString(text) < width {
		if lang.Precedence(x) < min {
			text = "(" + text + ")"
		}
		b.out.WriteString(text)
		return
	}
	inner := b.indent
	if lang.Precedence(x) < min {
		b.out.WriteByte('(')
		b.indent += "  "
		defer func() {
			b.indent = inner
			b.out.WriteByte(')')
		}()
	}
	switch x := x.(type) {
	case *lang.Binary:
		if x.Op == lang.And || x.Op == lang.Or {
			b.chain(x)
			return
		}
	case *lang.Cond:
		b.cond(x)
		return
	}
	b.out.WriteString(text)
}

// chain prints the operands of a chain of one operator, each on a line.
func (b *breaker) chain(x *lang.Binary) {
	var operands []lang.Expr
	first := lang.Expr(x)
	for {
		y, ok := first.(*lang.Binary)
		if !ok || y.Op != x.Op {
			break
		}
		operands = append(operands, y.Y)
		first = y.X
	}
	prec := x.Op.Precedence()
	b.expr(first, prec, false)
	for i := len(operands) - 1; i >= 0; i-- {
		b.out.WriteString(" " + x.Op.String() + "\n" + b.indent)
		b.expr(operands[i], prec+1, false)
	}
}

// cond prints a ternary with its branches on lines of their own.
func (b *breaker) cond(x *lang.Cond) {
	b.expr(x.Test, precCond+1, false)
	b.out.WriteString("\n" + b.indent + "? ")
	b.expr(x.Then, precCond, false)
	b.out.WriteString("\n" + b.indent + ": ")
	b.expr(x.Else, precCond, false)
}

const precCond = 1
