package rules

import (
	"strings"
	"unicode/utf8"
)

// A lexer goes over a rules text before hujson does. It divides the text exactly
// as hujson will, up to the first mistake.
type lexer struct {
	text  string
	out   []byte // the text for hujson, blanked where it is too strict
	open  []byte // the brackets that are open
	last  byte   // the first byte of the last token
	first *fault
}

// A fault is a mistake that has a message of its own. hujson will stop at it,
// unless it stops earlier.
type fault struct {
	stop   int // where hujson will stop
	offset int // where the mistake is
	msg    string
}

// run goes over the whole text. It returns the offset of the bracket that nests
// too deeply, or -1.
func (x *lexer) run() int {
	for i := 0; i < len(x.text); {
		c := x.text[i]
		next := i + 1
		switch c {
		case ' ', '\t', '\r', '\n':
			i = next
			continue
		case '/':
			if end := commentEnd(x.text, i); end > 0 {
				i = end
				continue
			}
		case '"':
			next = x.str(i)
		case ',':
			x.comma(i)
		case '{', '[':
			x.open = append(x.open, c)
			if len(x.open) > maxDepth+2 { // the document, the nodes and a list
				return i
			}
		case '}', ']':
			x.open = x.open[:max(len(x.open)-1, 0)]
		}
		x.last = c
		i = next
	}
	return -1
}

// commentEnd returns the end of the comment at i, or 0 if there is none.
func commentEnd(s string, i int) int {
	end, size := -1, 0
	switch {
	case strings.HasPrefix(s[i:], "//"):
		end, size = strings.Index(s[i+2:], "\n"), 1
	case strings.HasPrefix(s[i:], "/*"):
		end, size = strings.Index(s[i+2:], "*/"), 2
	default:
		return 0
	}
	if end < 0 {
		return len(s)
	}
	return i + 2 + end + size
}

// str goes over the string that starts at start and returns its end.
func (x *lexer) str(start int) int {
	s := x.text
	for i := start + 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			x.escape(start, i)
			i++
		case c == '\n', c == '\t', c == '\r' && strings.HasPrefix(s[i:], "\r\n"):
			x.out[i] = ' '
		}
	}
	return len(s)
}

func (x *lexer) escape(start, i int) {
	_, size := utf8.DecodeRuneInString(x.text[i+1:])
	if c := x.text[i+1 : i+1+size]; !strings.Contains(`"\/bfnrtu`, c) {
		x.fault(start, i, `Invalid escape: '\`+c+`'`)
	}
}

// comma looks for commas without a value before them.
func (x *lexer) comma(i int) {
	switch {
	case x.last == ',' && len(x.open) > 0 && x.open[len(x.open)-1] == '{':
		x.fault(i, i, `Expected '"'.`)
	case x.last == ',', x.last == '{', x.last == '[':
		x.fault(i, i, "Unexpected ','.")
	}
}

func (x *lexer) fault(stop, offset int, msg string) {
	if x.first == nil {
		x.first = &fault{stop, offset, msg}
	}
}
