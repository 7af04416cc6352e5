package rules

import (
	"fmt"
	"strings"
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
	return v.StartOffset + jsonc.OffsetInQuoted(d.text[v.StartOffset:v.EndOffset], n)
}
