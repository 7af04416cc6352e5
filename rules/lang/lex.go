package lang

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// A token is a word of an expression.
type token struct {
	kind     kind
	from, to int    // where it is in the source
	text     string // as written; of a string, its value
	num      float64
}

type kind int

const (
	endToken  kind = iota // the end of the source
	nameToken             // a variable, a member or a word such as true
	numberToken
	stringToken
	punctToken   // an operator or a bracket
	foreignToken // an operator of JavaScript alone
	assignToken  // an assignment
)

// The tokens of kinds punctToken, foreignToken and assignToken, longer ones before those that
// they begin with.
var (
	punctuation = []string{
		"===", "!==", "==", "!=", "<=", ">=", "&&", "||",
		"<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",", ";", "(", ")", "[", "]",
	}
	foreign = []string{">>>", "<<", ">>", "**", "++", "--", "&", "|", "^", "~"}
	assigns = []string{
		">>>=", "<<=", ">>=", "**=", "&&=", "||=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "=",
	}
)

// foreignWords are operators that are names.
var foreignWords = map[string]bool{
	"typeof": true, "in": true, "instanceof": true, "new": true, "delete": true, "void": true,
}

// A lexer divides a source into tokens. It panics with *Error where it cannot.
//
// It holds no tokens: next reads one at a time, and the parser looks at no more
// than that. The one place where a token depends on the grammar, a slash that
// begins a regular expression, is left to the parser.
type lexer struct {
	src string
	pos int
}

// next returns the next token. A slash is always an operator: only the parser
// knows where an operand has to follow, and then calls regex.
func (x *lexer) next() token {
	x.space()
	t := token{from: x.pos}
	if x.pos == len(x.src) {
		t.to = x.pos
		return t
	}
	rest := x.src[x.pos:]
	switch c, size := utf8.DecodeRuneInString(rest); {
	case isDigit(c), c == '.' && len(rest) > 1 && isDigit(rune(rest[1])):
		t.kind, t.num = numberToken, x.number()
	case c == '\'' || c == '"':
		t.kind, t.text = stringToken, x.str(c)
		t.to = x.pos
		return t
	case isNameStart(c):
		t.kind = nameToken
		x.pos += size
		x.skip(isNamePart)
	default:
		t.kind = x.punct(rest)
	}
	t.to = x.pos
	t.text = x.src[t.from:t.to]
	return t
}

// space skips white space and comments.
func (x *lexer) space() {
	for {
		x.skip(isSpace)
		rest := x.src[x.pos:]
		switch {
		case strings.HasPrefix(rest, "//"):
			x.skip(func(c rune) bool { return !isLineEnd(c) })
		case strings.HasPrefix(rest, "/*"):
			size := strings.Index(rest[2:], "*/")
			if size < 0 {
				panic(errorf(x.pos, msgOpenComment))
			}
			x.pos += 2 + size + 2
		default:
			return
		}
	}
}

// skip skips all characters that f accepts.
func (x *lexer) skip(f func(rune) bool) {
	size := strings.IndexFunc(x.src[x.pos:], func(c rune) bool { return !f(c) })
	if size < 0 {
		size = len(x.src) - x.pos
	}
	x.pos += size
}

// punct reads the longest operator or bracket at the beginning of rest.
func (x *lexer) punct(rest string) kind {
	own, other, assign := prefix(rest, punctuation), prefix(rest, foreign), prefix(rest, assigns)
	size := max(len(own), len(other), len(assign))
	x.pos += size
	switch size {
	case 0:
		panic(errorf(x.pos, msgSyntax))
	case len(own):
		return punctToken
	case len(other):
		return foreignToken
	}
	return assignToken
}

// prefix returns the first of list that s begins with, or "".
func prefix(s string, list []string) string {
	for _, p := range list {
		if strings.HasPrefix(s, p) {
			return p
		}
	}
	return ""
}

// number reads a decimal or hexadecimal number.
func (x *lexer) number() float64 {
	start := x.pos
	if rest := x.src[start:]; strings.HasPrefix(rest, "0x") || strings.HasPrefix(rest, "0X") {
		x.pos += 2
		x.skip(isHex)
		return x.float(start, x.src[start:x.pos]+"p0", x.pos > start+2)
	}
	x.skip(isDigit)
	whole := x.src[start:x.pos]
	if strings.HasPrefix(x.src[x.pos:], ".") {
		x.pos++
		x.skip(isDigit)
	}
	x.exponent()
	octal := len(whole) > 1 && whole[0] == '0'
	return x.float(start, x.src[start:x.pos], !octal)
}

// exponent skips an exponent.
func (x *lexer) exponent() {
	rest := x.src[x.pos:]
	if rest == "" || rest[0]|0x20 != 'e' {
		return
	}
	digits := strings.TrimPrefix(rest[1:], "-")
	if len(digits) == len(rest)-1 {
		digits = strings.TrimPrefix(digits, "+")
	}
	if digits != "" && isDigit(rune(digits[0])) {
		x.pos = len(x.src) - len(digits)
		x.skip(isDigit)
	}
}

// float returns the value of a number that began at start. A name cannot follow
// immediately.
func (x *lexer) float(start int, text string, ok bool) float64 {
	next, _ := utf8.DecodeRuneInString(x.src[x.pos:])
	v, err := strconv.ParseFloat(text, 64)
	if !ok || isNamePart(next) || err != nil || math.IsInf(v, 0) {
		panic(errorf(start, msgBadNumber))
	}
	return v
}

// str reads a string and returns its value.
func (x *lexer) str(quote rune) string {
	start := x.pos
	x.pos++
	var b strings.Builder
	for {
		c, size := utf8.DecodeRuneInString(x.src[x.pos:])
		if size == 0 || c == '\n' || c == '\r' {
			panic(errorf(start, msgOpenString))
		}
		x.pos += size
		switch c {
		case quote:
			return b.String()
		case '\\':
			b.WriteRune(x.escape(start))
		default:
			b.WriteRune(c)
		}
	}
}

var escapes = map[rune]rune{
	'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'f': '\f', 'v': '\v', '0': 0,
}

// escape reads what follows a backslash in the string that began at start. Half
// a surrogate pair is U+FFFD, as it is in stored data.
func (x *lexer) escape(start int) rune {
	c, size := utf8.DecodeRuneInString(x.src[x.pos:])
	if size == 0 {
		panic(errorf(start, msgOpenString))
	}
	x.pos += size
	switch c {
	case 'x':
		return x.hex(2)
	case 'u':
		c = x.hex(4)
		if utf16.IsSurrogate(c) && strings.HasPrefix(x.src[x.pos:], `\u`) {
			low := lexer{x.src, x.pos + 2}
			if pair := utf16.DecodeRune(c, low.hex(4)); pair != unicode.ReplacementChar {
				*x = low
				return pair
			}
		}
		return c
	}
	if v, ok := escapes[c]; ok {
		return v
	}
	return c
}

// hex reads a number of n hexadecimal digits in an escape sequence.
func (x *lexer) hex(n int) rune {
	digits := x.src[x.pos:min(x.pos+n, len(x.src))]
	v, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || len(digits) < n {
		panic(errorf(x.pos-2, msgBadEscape))
	}
	x.pos += n
	return rune(v)
}

// regex reads a regular expression literal whose first slash is at start.
func (x *lexer) regex(start int) (pattern, flags string) {
	rest := x.src[start+1:]
	size := patternSize(rest)
	if !strings.HasPrefix(rest[size:], "/") {
		panic(errorf(start, msgOpenRegex))
	}
	pattern = rest[:size]
	x.pos = start + 1 + size + 1
	from := x.pos
	x.skip(isNamePart)
	flags = x.src[from:x.pos]
	if flags != "" && flags != "i" {
		panic(errorf(from, msgBadFlags))
	}
	return pattern, flags
}

// patternSize returns the number of bytes of s before the slash or the line end
// that ends a regular expression literal. Slashes in sets and escaped ones don't.
func patternSize(s string) int {
	inSet, escaped := false, false
	for i, c := range s {
		switch {
		case isLineEnd(c):
			return i
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case c == '[':
			inSet = true
		case c == ']':
			inSet = false
		case c == '/' && !inSet:
			return i
		}
	}
	return len(s)
}

// enclosable reports whether a literal can be made of pattern by putting it
// between slashes.
func enclosable(pattern string) bool {
	return pattern != "" && pattern[0] != '*' && patternSize(pattern+"/") == len(pattern)
}

func isDigit(c rune) bool { return '0' <= c && c <= '9' }
func isHex(c rune) bool   { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
func isSpace(c rune) bool { return unicode.IsSpace(c) || c == '\ufeff' }

func isLineEnd(c rune) bool { return c == '\n' || c == '\r' || c == '\u2028' || c == '\u2029' }

func isNameStart(c rune) bool {
	return c == '_' || c == '$' || unicode.IsLetter(c)
}

func isNamePart(c rune) bool {
	return isNameStart(c) || unicode.IsDigit(c) || unicode.Is(unicode.Mn, c) || unicode.Is(unicode.Mc, c)
}
