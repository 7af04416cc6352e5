// Package jsonc reads and prints the relaxed JSON in which rules and their tests
// are written: JSON with comments, trailing commas, and raw line breaks and tabs
// inside strings (rules §1.1). What it reads keeps its comments and knows
// where it stood, so that tools can point at it and change it.
//
// It knows nothing of rules. Its nouns: a Doc is a text that was read, an Error
// says what is wrong with one.
package jsonc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// Bounds of a text.
const (
	maxText  = 64 << 20 // bytes
	maxDepth = 200      // brackets inside each other
)

// A Doc is a text that was read. Offsets in the values of Root are offsets in
// Text; its strings are strict JSON and mean what was written.
type Doc struct {
	Text string // without a byte order mark
	Root hujson.Value
}

// An Error says what is wrong in a text and where. Lines and columns count from
// 1; a column is a character.
type Error struct {
	Line, Col int
	Msg       string
}

// Error returns the position and the message: "3:15: invalid character".
func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Col, e.Msg) }

// Parse reads a text. Errors are *Error. A key that an object has twice is one.
func Parse(src string) (*Doc, error) {
	d := &Doc{Text: strings.TrimPrefix(src, "\uFEFF")}
	if len(src) > maxText {
		return nil, d.ErrorAt(0, fmt.Sprintf("the text is larger than %d MiB", maxText>>20))
	}
	root, fault := Read(d.Text, maxDepth)
	if fault != nil {
		return nil, d.ErrorAt(fault.Offset, fault.Msg)
	}
	d.Root = root
	if err := d.duplicates(); err != nil {
		return nil, err
	}
	return d, nil
}

// Pos returns the line and column of an offset of the text.
func (d *Doc) Pos(offset int) (line, col int) {
	before := d.Text[:min(offset, len(d.Text))]
	last := before[strings.LastIndexByte(before, '\n')+1:]
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(last)
}

// ErrorAt returns an error at an offset of the text.
func (d *Doc) ErrorAt(offset int, msg string) *Error {
	line, col := d.Pos(offset)
	return &Error{line, col, msg}
}

// Strict returns a value as strict JSON without comments.
func Strict(v hujson.Value) []byte {
	v = v.Clone()
	v.Minimize()
	return v.Pack()
}

// StrictIndent is Strict over lines: those after the first begin with prefix, and
// indent once for each level.
func StrictIndent(v hujson.Value, prefix, indent string) string {
	var b bytes.Buffer
	if err := json.Indent(&b, Strict(v), prefix, indent); err != nil {
		panic(err) // it was parsed
	}
	return b.String()
}

// Str returns the text that a string value stands for; ok is false if it is none.
func Str(v *hujson.Value) (s string, ok bool) {
	l, ok := v.Value.(hujson.Literal)
	if !ok || l.Kind() != '"' {
		return "", false
	}
	return l.String(), true
}

// Member returns the value of an object's property, nil if it has none of that name.
func Member(obj *hujson.Object, name string) *hujson.Value {
	for i := range obj.Members {
		if key, _ := Str(&obj.Members[i].Name); key == name {
			return &obj.Members[i].Value
		}
	}
	return nil
}

// duplicates returns an error at the first key that its object already has.
func (d *Doc) duplicates() error {
	for v := range d.Root.All() {
		obj, ok := v.Value.(*hujson.Object)
		if !ok {
			continue
		}
		seen := make(map[string]bool, len(obj.Members))
		for i := range obj.Members {
			name := &obj.Members[i].Name
			key, _ := Str(name)
			if seen[key] {
				return d.ErrorAt(name.StartOffset, fmt.Sprintf("duplicate key %q", key))
			}
			seen[key] = true
		}
	}
	return nil
}

// Quote returns a text as a strict JSON string, with no more escapes than needed.
func Quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string always has a form
	}
	return strings.TrimSuffix(b.String(), "\n")
}
