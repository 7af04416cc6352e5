package jsonc

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// A Fault is why a text cannot be read.
type Fault struct {
	Offset  int
	Msg     string
	TooDeep bool

	// Known is what the hosted service says of the mistake, and KnownAt where it
	// says that; "" if it is not known.
	Known   string
	KnownAt int
}

// Read reads the JSON of a text whose brackets are at most depth inside each
// other. It is for readers with bounds and error texts of their own; others use
// Parse, which explains what the offsets and the strings of values are.
//
// hujson does the parsing except for three things: it refuses raw line breaks and
// tabs in strings, it does not bound the nesting, and it has its own words for
// errors. So a lexer goes over the text first.
func Read(text string, depth int) (hujson.Value, *Fault) {
	if !utf8.ValidString(text) {
		return hujson.Value{}, &Fault{Offset: invalidUTF8(text), Msg: "invalid UTF-8"}
	}
	x := lexer{text: text, out: []byte(text), depth: depth}
	if tooDeep := x.run(); tooDeep >= 0 {
		return hujson.Value{}, &Fault{Offset: tooDeep, Msg: fmt.Sprintf("more than %d levels of brackets", depth), TooDeep: true}
	}
	x.out = append(x.out, '\n') // hujson wants an end for a comment on the last line
	root, err := hujson.Parse(x.out)
	if err != nil {
		return root, x.faultOf(err)
	}
	for v := range root.All() {
		if v.Value.Kind() == '"' {
			v.Value = hujson.Literal(escapeRaw.Replace(text[v.StartOffset:v.EndOffset]))
		}
	}
	return root, nil
}

// escapeRaw makes a string strict in which only line breaks and tabs are raw.
var escapeRaw = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`)

// invalidUTF8 returns the offset of the first byte that is no UTF-8.
func invalidUTF8(s string) int {
	for i, r := range s {
		if _, size := utf8.DecodeRuneInString(s[i:]); r == utf8.RuneError && size == 1 {
			return i
		}
	}
	return 0
}

// A lexer divides a text exactly as hujson will, up to the first mistake.
type lexer struct {
	text  string
	out   []byte // the text for hujson, with blanks where it is too strict
	open  []byte // the brackets that are open
	depth int    // how many may be
	last  byte   // the first byte of the last token
	first *known
}

// A known is a mistake whose text in the hosted service is known. hujson will stop
// at it, unless it stops earlier.
type known struct {
	stop   int // where hujson will stop
	offset int // where the mistake is
	msg    string
}

// faultOf returns the fault of an error of hujson. Only its text says where it is.
func (x *lexer) faultOf(err error) *Fault {
	var line, col int
	f := &Fault{Msg: strings.TrimPrefix(err.Error(), "hujson: ")}
	if _, e := fmt.Sscanf(f.Msg, "line %d, column %d:", &line, &col); e != nil {
		return f
	}
	_, msg, _ := strings.Cut(f.Msg, ": ")
	for ; line > 1; line-- {
		f.Offset += bytes.IndexByte(x.out[f.Offset:], '\n') + 1
	}
	f.Offset = min(f.Offset+col-1, len(x.text))
	f.Msg = x.reasonFor(msg, f.Offset)
	if k := x.first; k != nil && k.stop == f.Offset {
		f.Known, f.KnownAt = k.msg, k.offset
	}
	return f
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
			if len(x.open) > x.depth {
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

// escape looks for escapes that JSON does not have.
func (x *lexer) escape(start, i int) {
	_, size := utf8.DecodeRuneInString(x.text[i+1:])
	if c := x.text[i+1 : i+1+size]; !strings.Contains(`"\/bfnrtu`, c) {
		x.mistake(start, i, `Invalid escape: '\`+c+`'`)
	}
}

// comma looks for commas without a value before them.
func (x *lexer) comma(i int) {
	switch {
	case x.last == ',' && len(x.open) > 0 && x.open[len(x.open)-1] == '{':
		x.mistake(i, i, `Expected '"'.`)
	case x.last == ',', x.last == '{', x.last == '[':
		x.mistake(i, i, "Unexpected ','.")
	}
}

// mistake notes the first mistake. Later ones may only follow from it.
func (x *lexer) mistake(stop, offset int, msg string) {
	if x.first == nil {
		x.first = &known{stop, offset, msg}
	}
}
