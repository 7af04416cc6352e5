package lang

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// compileRegex compiles the pattern of a regular expression (rules §5.8) into
// a node without a place. The offset of an error counts from the beginning of the
// pattern.
//
// The syntax is smaller than JavaScript's and in places another one, so the
// pattern is parsed here and RE2 gets an equal one in which every character is
// spelled out. RE2 takes linear time, whatever the pattern.
func compileRegex(pattern string, ignoreCase bool, most RegexBounds) (*Regex, *Error) {
	if utf8.RuneCountInString(pattern) > MaxRegexChars {
		return nil, errorf(0, msgRegexTooLong, MaxRegexChars)
	}
	var re re2
	p := &regexParser{src: pattern, ignoreCase: ignoreCase, most: most}
	if err := recovered(func() { re = p.pattern() }); err != nil {
		return nil, err
	}
	machine, bad := newMachine(re.text)
	if bad != nil { // more than 1000 repeats of repeats
		return nil, errorf(0, msgRegexTooLarge)
	}
	return &Regex{Pattern: pattern, IgnoreCase: ignoreCase, Machine: machine, Steps: re.steps, size: p.size, re2: re.text}, nil
}

// A re2 is a part of a pattern in RE2's syntax.
type re2 struct {
	text  string
	steps int // how many characters it has with its repeats written out
}

// A regexParser translates a pattern. It panics with *Error.
//
// Each method returns the part in RE2's syntax with what it costs RE2 to write
// it out: repetitions are copied there, so a pattern of a few bytes could
// become one of megabytes. bounded refuses that while it is being built.
type regexParser struct {
	src        string
	pos        int
	ignoreCase bool
	most       RegexBounds
	size       int // so far
}

func (p *regexParser) more() bool { return p.pos < len(p.src) }

// is reports whether the next character is c.
func (p *regexParser) is(c byte) bool { return p.more() && p.src[p.pos] == c }

// accept skips the next character if it is c.
func (p *regexParser) accept(c byte) bool {
	ok := p.is(c)
	if ok {
		p.pos++
	}
	return ok
}

func (p *regexParser) fail(offset int, what string) {
	panic(errorf(offset, msgRegex, what))
}

// next returns the next character.
func (p *regexParser) next() rune {
	c, size := utf8.DecodeRuneInString(p.src[p.pos:])
	p.pos += size
	return c
}

// pattern = union. The circumflex and the dollar sign are found by sequence.
func (p *regexParser) pattern() re2 {
	re := p.union()
	if p.more() {
		p.fail(p.pos, "unmatched ')'")
	}
	return re
}

// union = sequence { "|" sequence }
func (p *regexParser) union() re2 {
	re := p.sequence(true)
	if !p.is('|') {
		return re
	}
	var b strings.Builder
	b.WriteString(re.text)
	for p.accept('|') {
		y := p.sequence(false)
		b.WriteString("|" + y.text)
		re = p.bounded(re2{"", re.steps + y.steps})
	}
	re.text = b.String()
	return re
}

// sequence = repeat { repeat }. A quantifier that comes first in a group, or in
// the pattern, is a plain character.
func (p *regexParser) sequence(first bool) re2 {
	var b strings.Builder
	re := re2{}
	start := p.pos
	if p.pos == 0 && p.accept('^') {
		b.WriteString(`\A`)
		first = false
	}
	for p.more() && !p.is('|') && !p.is(')') {
		if p.is('$') && p.pos == len(p.src)-1 {
			p.pos++
			b.WriteString(`\z`)
			break
		}
		item := p.repeat(first)
		b.WriteString(item.text)
		re.steps += item.steps
		first = false
	}
	if p.pos == start {
		p.fail(start, "empty alternative")
	}
	re.text = b.String()
	return p.bounded(re)
}

// bounded fails if re is too large.
func (p *regexParser) bounded(re re2) re2 {
	if re.steps > p.most.Steps {
		panic(errorf(0, p.most.Text))
	}
	return re
}

// grow counts a part of the size.
func (p *regexParser) grow(by int) {
	if p.size += by; p.size > p.most.Size {
		panic(errorf(0, p.most.Text))
	}
}

// one returns the part that matches a character of a set.
func (p *regexParser) one(s charset) re2 {
	text := s.re2()
	p.grow(len(text))
	return re2{text, 1}
}

// repeat = atom { "*" | "+" | "?" | "{" n "}" | "{" n "," [ m ] "}" }
func (p *regexParser) repeat(first bool) re2 {
	re := p.atom(first)
	for n := 0; ; n++ {
		text, times := p.quantifier()
		if text == "" {
			return re
		}
		if n > 0 { // RE2 refuses a** and reads a*? as lazy
			re.text = "(?:" + re.text + ")"
		}
		re = p.bounded(re2{re.text + text, re.steps * times})
	}
}

// quantifier reads a quantifier, if there is one. It returns it and how often it
// makes RE2 write out what it repeats.
func (p *regexParser) quantifier() (text string, times int) {
	start := p.pos
	switch {
	case p.accept('*'), p.accept('+'), p.accept('?'):
		return p.src[start:p.pos], 1
	case !p.accept('{'):
		return "", 0
	}
	low, ok := p.count()
	high, text := low, fmt.Sprintf("{%d}", low)
	if ok && p.accept(',') {
		text = fmt.Sprintf("{%d,}", low)
		if !p.is('}') {
			high, ok = p.count()
			text = fmt.Sprintf("{%d,%d}", low, high)
		}
	}
	switch {
	case !ok || !p.accept('}'):
		p.fail(start, "'{' begins no repeat count")
	case high < low:
		p.fail(start, "repeat counts out of order")
	}
	return text, max(high, 1)
}

// count reads a repeat count.
func (p *regexParser) count() (n int, ok bool) {
	start := p.pos
	for p.more() && isDigit(rune(p.src[p.pos])) {
		if n = 10*n + int(p.src[p.pos]-'0'); n > maxRepeat {
			p.fail(start, "repeat count too large")
		}
		p.pos++
	}
	return n, p.pos > start
}

// atom = "(" union ")" | set | "." | "\" character | character
func (p *regexParser) atom(first bool) re2 {
	start := p.pos
	switch c := p.next(); c {
	case '(':
		re := p.union()
		if !p.accept(')') {
			p.fail(start, "missing ')'")
		}
		return re2{"(?:" + re.text + ")", re.steps}
	case '[':
		return p.set(start)
	case '.':
		return p.one(lineEnds.complement())
	case '\\':
		return p.one(p.foldedEscape(start))
	case '*', '+', '?', '{':
		if !first {
			p.fail(start, "nothing to repeat")
		}
		return p.one(single(c))
	case '^':
		p.fail(start, "'^' is only allowed at the beginning")
	case '$':
		p.fail(start, "'$' is only allowed at the end")
	default:
		return p.one(p.fold(single(c)))
	}
	return re2{}
}

// escape reads what follows a backslash at start: a class of characters, or any
// other character, which stands for itself.
func (p *regexParser) escape(start int) charset {
	if !p.more() {
		p.fail(start, "nothing follows '\\'")
	}
	c := p.next()
	if class, ok := classes[c]; ok {
		return class
	}
	return single(c)
}

// set = "[" [ "^" ] item { item } "]". Its first bracket is at start.
func (p *regexParser) set(start int) re2 {
	negated := p.accept('^')
	if p.is(']') {
		p.fail(start, "empty set")
	}
	var set charset
	for !p.accept(']') {
		if !p.more() {
			p.fail(start, "missing ']'")
		}
		set = append(set, p.setItem()...)
	}
	set = p.fold(set)
	if negated {
		set = set.complement()
	}
	return p.one(set)
}

// setItem = char [ "-" char ]. A hyphen that is first or last or beside a class
// stands for itself.
func (p *regexParser) setItem() charset {
	start := p.pos
	low := p.setChar()
	if !p.is('-') || strings.HasPrefix(p.src[p.pos:], "-]") || p.pos == len(p.src)-1 {
		return low
	}
	p.pos++
	high := p.setChar()
	if !low.isSingle() || !high.isSingle() {
		return append(append(single('-'), low...), high...)
	}
	if low[0].lo > high[0].lo {
		p.fail(start, "range out of order")
	}
	return charset{{low[0].lo, high[0].lo}}
}

// setChar reads one character or class in a set.
func (p *regexParser) setChar() charset {
	start := p.pos
	c := p.next()
	if c == '\\' {
		return p.escape(start)
	}
	return single(c)
}

// fold adds the other case of all characters if the case is to be ignored.
func (p *regexParser) fold(s charset) charset {
	if !p.ignoreCase {
		return s
	}
	folded, looked := s.fold()
	p.grow(looked)
	return folded
}

// foldedEscape is escape with the other cases. Those of classes are known.
func (p *regexParser) foldedEscape(start int) charset {
	s := p.escape(start)
	if folded, ok := foldedClasses()[rune(p.src[start+1])]; ok && p.ignoreCase {
		return folded
	}
	return p.fold(s)
}
