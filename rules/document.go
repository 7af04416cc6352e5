package rules

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/dogwooddb/dogwood/rules/jsonc"
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

// readDocument reads a text into its JSON values. Its errors have the texts of the
// hosted service where they are known.
func readDocument(src string) (*document, *SyntaxError) {
	d := &document{text: strings.TrimPrefix(src, "\uFEFF")}
	if len(src) > maxDocument {
		return nil, d.errorAt(0, "Rules are larger than 1 MiB.")
	}
	root, fault := jsonc.Read(d.text, maxDepth+2) // the document, the nodes and a list
	switch {
	case fault == nil:
		d.root = root
		return d, nil
	case fault.TooDeep:
		return nil, d.errorAt(fault.Offset, fmt.Sprintf("Rules are nested more than %d levels deep.", maxDepth))
	case fault.Known != "":
		return nil, d.errorAt(fault.KnownAt, fault.Known)
	}
	err := d.errorAt(fault.Offset, msgParse)
	err.Detail = fault.Msg
	return nil, err
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
// its decoded text.
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
// string: as written, and decoded.
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
