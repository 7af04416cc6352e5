package invariant

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
)

// A definition is an invariant as it stands in a file, with its patterns parsed.
//
// All kinds share it. The names of its fields are those in the file, so that a member
// which a kind does not use is found by comparing names, and not by one struct for each
// kind.
type definition struct {
	A, B     pattern
	From     pattern
	To       patterns
	Each     pattern
	Path     pattern
	Var      string
	Fields   []fieldPath
	Field    fieldPath
	Of       pattern
	Counter  pattern
	Over     pattern
	Limit    int
	Where    *where
	IfExists bool
	Lower    bool
	Value    constant
	Is       keyText
	Replace  replacement
}

// A fieldPath is a path below a matched node.
type fieldPath struct{ tree.Path }

// UnmarshalJSON reads the path.
func (p *fieldPath) UnmarshalJSON(text []byte) (err error) {
	var s string
	if err = json.Unmarshal(text, &s); err != nil {
		return errors.New("a field is a text")
	}
	if p.Path, err = tree.ParsePath(s); err != nil || p.IsRoot() {
		return fmt.Errorf("%q is no path", s)
	}
	return nil
}

// Parse reads an invariant: {"id": "C2", "kind": "ref", "from": "members/$r/$u",
// "to": "rooms/$r", "text": "no member list without room"}. What its kind does not
// know or need is an error, since it is most often a misspelt name.
func Parse(text []byte) (*Invariant, error) {
	fields, err := members(text)
	if fields == nil {
		return nil, errors.New("an invariant is an object")
	}
	v := new(Invariant)
	if err == nil {
		err = v.parse(text, fields)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", called(fields), err)
	}
	return v, nil
}

// called returns how a report of a mistake calls an invariant.
func called(fields map[string]json.RawMessage) string {
	var id string
	if err := json.Unmarshal(fields["id"], &id); err != nil || id == "" {
		return "an invariant"
	}
	return "invariant " + id
}

func (v *Invariant) parse(text []byte, fields map[string]json.RawMessage) error {
	if err := written(fields, names); err != nil {
		return err
	}
	if err := v.decode(text); err != nil {
		return err
	}
	if v.ID == "" {
		return errors.New("it has no id")
	}
	return v.validate(fields)
}

// heads are the names that each kind has.
var heads = []string{"id", "kind", "text"}

// decode reads the names first, so that what is wrong with the rest can be told
// of an invariant.
func (v *Invariant) decode(text []byte) error {
	var head struct{ ID, Kind, Text string }
	if err := json.Unmarshal(text, &head); err != nil {
		return errors.New("id, kind and text are texts")
	}
	v.ID, v.Kind, v.Text = head.ID, head.Kind, head.Text
	if _, known := kinds[v.Kind]; !known {
		return fmt.Errorf("unknown kind %q", v.Kind)
	}
	if err := json.Unmarshal(text, &v.definition); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// validate looks whether the invariant has what its kind needs, nothing else, and
// patterns that can be filled.
func (v *Invariant) validate(fields map[string]json.RawMessage) error {
	k := kinds[v.Kind]
	for _, name := range k.needs {
		if _, given := fields[name]; !given {
			return fmt.Errorf("%s needs %q", v.Kind, name)
		}
	}
	for name := range fields {
		if !slices.Contains(heads, name) && !slices.Contains(k.needs, name) && !slices.Contains(k.may, name) {
			return fmt.Errorf("%s has no %q", v.Kind, name)
		}
	}
	return k.valid(&v.definition)
}

// Bounds of a file.
const (
	maxFile       = 64 << 20 // bytes; a file of operations is one, too
	maxInvariants = 1000
)

// Read reads a file of invariants: an object with the list "invariants", whatever
// else there is in it, such as the operations of a model.
func Read(r io.Reader) ([]*Invariant, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("more than %d bytes", maxFile)
	}
	var file struct{ Invariants []json.RawMessage }
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, at(text, err)
	}
	top, err := members(text)
	if err != nil {
		return nil, err
	}
	for name := range top {
		if err := spelled(name, []string{"invariants"}); err != nil {
			return nil, err
		}
	}
	return parseAll(file.Invariants)
}

func parseAll(texts []json.RawMessage) ([]*Invariant, error) {
	switch {
	case len(texts) == 0:
		return nil, errors.New(`no list "invariants", or an empty one`)
	case len(texts) > maxInvariants:
		return nil, fmt.Errorf("more than %d invariants", maxInvariants)
	}
	list := make([]*Invariant, 0, len(texts))
	ids := make(map[string]bool)
	for _, text := range texts {
		v, err := Parse(text)
		if err != nil {
			return nil, err
		}
		if ids[v.ID] {
			return nil, fmt.Errorf("two invariants have the id %s", v.ID)
		}
		ids[v.ID] = true
		list = append(list, v)
	}
	return list, nil
}

// at says in which line of a text an error of encoding/json is.
func at(text []byte, err error) error {
	offset := int64(0)
	if e := (*json.SyntaxError)(nil); errors.As(err, &e) {
		offset = e.Offset
	}
	if e := (*json.UnmarshalTypeError)(nil); errors.As(err, &e) {
		offset = e.Offset
	}
	line := 1 + bytes.Count(text[:min(offset, int64(len(text)))], []byte("\n"))
	return fmt.Errorf("line %d: %s", line, strings.TrimPrefix(err.Error(), "json: "))
}
