// Package rulesfmt gives a rules document its standard layout. Comments stay
// where they are, and the order of the properties; what the document means does
// not change. Formatting a second time changes nothing.
//
// Two spaces indent a level. What was written on one line stays there if there
// is room. Expressions are printed in canonical form; one that was spread over
// lines has one operand of its outermost operator on each. An expression with a
// comment in it, or that cannot be parsed, stays as it is.
package rulesfmt

import (
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/dogwooddb/dogwood/rules/jsonc"
	"github.com/dogwooddb/dogwood/rules/lang"
)

// width is how long a line may get that could be broken.
const width = 100

// Format returns the document in standard layout. Errors are *jsonc.Error: it
// formats every text that is relaxed JSON.
func Format(src string, d lang.Dialect) (string, error) {
	doc, err := jsonc.Parse(src)
	if err != nil {
		return "", err
	}
	p := &printer{doc: doc, dialect: d}
	p.own(parseExtra(doc.Root.BeforeExtra).all(), 0)
	p.value(&doc.Root, "", 0)
	p.behind(parseExtra(doc.Root.AfterExtra), 0)
	return strings.TrimRight(p.out.String(), "\n") + "\n", nil
}

type printer struct {
	doc     *jsonc.Doc
	dialect lang.Dialect
	out     strings.Builder
}

// newline begins a line at a depth.
func (p *printer) newline(depth int) {
	p.out.WriteByte('\n')
	p.indent(depth)
}

func (p *printer) indent(depth int) {
	for range depth {
		p.out.WriteString("  ")
	}
}

// column returns how many characters the current line has.
func (p *printer) column() int {
	s := p.out.String()
	return utf8.RuneCountInString(s[strings.LastIndexByte(s, '\n')+1:])
}

// value prints the value of a property, or of a list if key is "".
func (p *printer) value(v *hujson.Value, key string, depth int) {
	if flat, ok := p.flat(v, key); ok && p.column()+utf8.RuneCountInString(flat) < width {
		p.out.WriteString(flat)
		return
	}
	switch x := v.Value.(type) {
	case *hujson.Object:
		p.object(x, depth)
	case *hujson.Array:
		p.array(x, depth)
	default:
		p.out.WriteString(p.leaf(v, key, depth))
	}
}

// leaf prints a value without children.
func (p *printer) leaf(v *hujson.Value, key string, depth int) string {
	s, isText := jsonc.Str(v)
	if !isText {
		return string(v.Value.(hujson.Literal))
	}
	if isRule(key) {
		s = formatExpr(s, p.dialect, depth)
	}
	return quote(s)
}

// quote returns a text as a JSON string in which line breaks stand for themselves.
func quote(s string) string { return lineBreaks.Replace(jsonc.Quote(s)) }

// An escaped backslash stays what it is, also before an n, as in /^a\\nb$/.
var lineBreaks = strings.NewReplacer(`\\`, `\\`, `\n`, "\n")

func isRule(key string) bool { return key == ".read" || key == ".write" || key == ".validate" }

// flat returns a value on one line, if it may stand on one: a list, or an object
// that stood on one, both without comments. It gives up when there is too much,
// so that nesting does not multiply the work.
func (p *printer) flat(v *hujson.Value, key string) (string, bool) {
	switch x := v.Value.(type) {
	case *hujson.Object:
		if strings.Contains(p.doc.Text[v.StartOffset:v.EndOffset], "\n") || hasComments(x.AfterExtra) {
			return "", false
		}
		if len(x.Members) == 0 {
			return "{}", true
		}
		text := "{ "
		for i := range x.Members {
			m := &x.Members[i]
			part, ok := p.flat(&m.Value, str(&m.Name))
			if !ok || hasComments(m.Name.BeforeExtra, m.Name.AfterExtra, m.Value.BeforeExtra, m.Value.AfterExtra) || len(text) > maxFlat {
				return "", false
			}
			if i > 0 {
				text += ", "
			}
			text += jsonc.Quote(str(&m.Name)) + ": " + part
		}
		return text + " }", true
	case *hujson.Array:
		text := "["
		for i := range x.Elements {
			e := &x.Elements[i]
			part, ok := p.flat(e, "")
			if !ok || hasComments(e.BeforeExtra, e.AfterExtra) || len(text) > maxFlat {
				return "", false
			}
			if i > 0 {
				text += ", "
			}
			text += part
		}
		return text + "]", !hasComments(x.AfterExtra)
	}
	text := p.leaf(v, key, 0)
	return text, !strings.Contains(text, "\n")
}

// maxFlat is more bytes than a line can have.
const maxFlat = utf8.UTFMax * width

func str(v *hujson.Value) string {
	s, _ := jsonc.Str(v)
	return s
}

// object prints an object with a line for each property.
func (p *printer) object(obj *hujson.Object, depth int) {
	items := make([]item, len(obj.Members))
	for i := range obj.Members {
		m := &obj.Members[i]
		inner := parseExtra(m.Name.AfterExtra).all()
		inner = append(inner, parseExtra(m.Value.BeforeExtra).all()...)
		items[i] = item{
			before: parseExtra(m.Name.BeforeExtra),
			inner:  inner,
			after:  parseExtra(m.Value.AfterExtra),
			print: func() {
				p.out.WriteString(jsonc.Quote(str(&m.Name)) + ": ")
				p.value(&m.Value, str(&m.Name), depth+1)
			},
		}
	}
	p.items('{', items, parseExtra(obj.AfterExtra), '}', depth)
}

// array prints a list with a line for each element.
func (p *printer) array(list *hujson.Array, depth int) {
	items := make([]item, len(list.Elements))
	for i := range list.Elements {
		e := &list.Elements[i]
		items[i] = item{
			before: parseExtra(e.BeforeExtra),
			after:  parseExtra(e.AfterExtra),
			print:  func() { p.value(e, "", depth+1) },
		}
	}
	p.items('[', items, parseExtra(list.AfterExtra), ']', depth)
}

// An item is a property or an element with the comments around it.
type item struct {
	before extra    // in front of it: begins on the line of what precedes
	inner  []string // inside it, which move in front of it
	after  extra    // between it and the comma
	print  func()
}

// items prints what stands between two brackets.
func (p *printer) items(open byte, items []item, last extra, end byte, depth int) {
	p.out.WriteByte(open)
	var behind extra // the item before
	for i, it := range items {
		gap := behind.then(it.before)
		p.sameLine(gap.same)
		if i > 0 && gap.blank {
			p.out.WriteByte('\n')
		}
		p.newline(depth + 1)
		p.own(append(gap.lines, it.inner...), depth+1)
		it.print()
		if i < len(items)-1 {
			p.out.WriteByte(',')
		}
		behind = it.after
	}
	p.behind(behind.then(last), depth+1)
	p.newline(depth)
	p.out.WriteByte(end)
}
