package rules

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// Bounds of a document (rules §5.9).
const (
	maxDocument = 1 << 20 // bytes
	maxDepth    = 64      // nodes inside each other; deeper than any path goes
)

const msgParse = "Parse error."

// A document is a rules text read as relaxed JSON: comments, trailing commas,
// and raw line breaks and tabs inside strings (rules §1.1). The offsets in
// the values of root are offsets in text.
type document struct {
	text string // without a byte order mark
	root hujson.Value
}

// readDocument reads a text into its JSON values. hujson does the parsing except
// for three things: it refuses raw line breaks and tabs in strings, it doesn't
// bound the nesting, and it has its own words for errors. So a lexer goes over
// the text first.
func readDocument(src string) (*document, *SyntaxError) {
	d := &document{text: strings.TrimPrefix(src, "\uFEFF")}
	if len(src) > maxDocument {
		return nil, d.errorAt(0, "Rules are larger than 1 MiB.")
	}
	if i := invalidUTF8(d.text); i >= 0 {
		return nil, d.errorAt(i, msgParse)
	}
	x := lexer{text: d.text, out: []byte(d.text)}
	if tooDeep := x.run(); tooDeep >= 0 {
		return nil, d.errorAt(tooDeep, fmt.Sprintf("Rules are nested more than %d levels deep.", maxDepth))
	}
	x.out = append(x.out, '\n') // hujson wants an end for a comment on the last line
	var err error
	if d.root, err = hujson.Parse(x.out); err != nil {
		return nil, d.parseError(&x, err)
	}
	d.restoreStrings()
	return d, nil
}

// parseError turns an error of hujson into one of ours.
func (d *document) parseError(x *lexer, err error) *SyntaxError {
	stop := min(hujsonOffset(x.out, err), len(d.text))
	if f := x.first; f != nil && f.stop == stop {
		return d.errorAt(f.offset, f.msg)
	}
	return d.errorAt(stop, msgParse)
}

// hujsonOffset returns the offset in the text at which hujson stopped. The text
// of its errors is the only place that says it.
func hujsonOffset(text []byte, err error) int {
	var line, col int
	if _, e := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &col); e != nil {
		return 0
	}
	start := 0
	for ; line > 1; line-- {
		start += bytes.IndexByte(text[start:], '\n') + 1
	}
	return start + col - 1
}

var escapeRaw = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`)

// restoreStrings replaces the strings that hujson saw, in which the lexer had
// blanked raw line breaks and tabs, by strict ones that mean the original.
func (d *document) restoreStrings() {
	for v := range d.root.All() {
		if v.Value.Kind() == '"' {
			v.Value = hujson.Literal(escapeRaw.Replace(d.text[v.StartOffset:v.EndOffset]))
		}
	}
}

// strict returns the document as compact strict JSON.
func (d *document) strict() string {
	v := d.root.Clone()
	v.Minimize()
	return v.String()
}

// errorAt returns an error at an offset of the text.
func (d *document) errorAt(offset int, msg string) *SyntaxError {
	return &SyntaxError{Pos: Pos{1, 1}.after(d.text[:offset]), Msg: msg}
}

// after returns the place behind a text that begins at p.
func (p Pos) after(text string) Pos {
	if lines := strings.Count(text, "\n"); lines > 0 {
		p = Pos{p.Line + lines, 1}
		text = text[strings.LastIndexByte(text, '\n')+1:]
	}
	p.Col += utf8.RuneCountInString(text)
	return p
}

// offsetInString returns the offset in the text of byte n of a string value.
func (d *document) offsetInString(v *hujson.Value, n int) int {
	return v.StartOffset + offsetInQuoted(d.text[v.StartOffset:v.EndOffset], n)
}

// offsetInQuoted returns the offset in a JSON string, as written, of byte n of
// what it stands for.
func offsetInQuoted(quoted string, n int) int {
	raw := quoted[:len(quoted)-1]
	i := 1
	for n > 0 && i < len(raw) {
		size, decoded := stringElement(raw[i:])
		i += size
		n -= decoded
	}
	return i
}

// stringElement returns the sizes of the first byte or escape of a valid JSON
// string: as written, and of what it stands for.
func stringElement(s string) (size, decoded int) {
	switch {
	case s[0] != '\\':
		return 1, 1
	case s[1] != 'u':
		return 2, 1
	}
	r := hexRune(s)
	if utf16.IsSurrogate(r) {
		if strings.HasPrefix(s[6:], `\u`) && utf16.DecodeRune(r, hexRune(s[6:])) != utf8.RuneError {
			return 12, 4
		}
		r = utf8.RuneError // what encoding/json makes of half a pair
	}
	return 6, utf8.RuneLen(r)
}

// hexRune returns the code unit of an escape \uXXXX.
func hexRune(s string) rune {
	u, _ := strconv.ParseUint(s[2:6], 16, 16)
	return rune(u)
}

func invalidUTF8(s string) int {
	if utf8.ValidString(s) {
		return -1
	}
	for i, r := range s {
		if _, size := utf8.DecodeRuneInString(s[i:]); r == utf8.RuneError && size == 1 {
			return i
		}
	}
	return -1
}

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
