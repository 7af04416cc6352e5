package invariant

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dogwooddb/dogwood/tree"
)

// A where chooses among the nodes that match: by a child that is the key of a
// variable, for count, or that is a constant.
type where struct {
	Child     fieldPath
	EqualsVar string
	Equals    constant
}

// UnmarshalJSON reads what is chosen. A misspelt name would choose everything.
func (w *where) UnmarshalJSON(text []byte) error {
	type plain where // without this method
	if err := decodeMembers(text, (*plain)(w), "child", "equalsVar", "equals"); err != nil {
		return errors.New("where: " + err.Error())
	}
	if w.Child.IsRoot() {
		return errors.New(`where needs "child"`)
	}
	return nil
}

// byConstant returns what keeps a where from choosing by a constant.
func (w *where) byConstant() error {
	if w != nil && (w.Equals.IsEmpty() || w.EqualsVar != "") {
		return errors.New(`where needs "equals", and has no "equalsVar"`)
	}
	return nil
}

// chosen calls f for each node that fits a pattern and that where chooses.
func (d *definition) chosen(s *scan, p pattern, f func(match) error) error {
	return s.each(p, nil, func(m match) error {
		if d.Where != nil {
			v, err := s.value(m.path.Join(d.Where.Child.Path))
			if err != nil || v.leaf != d.Where.Equals.Node {
				return err
			}
		}
		return f(m)
	})
}

// because says for a report why a match was looked at.
func (w *where) because(m match) string {
	if w == nil {
		return m.path.String() + " exists"
	}
	return fmt.Sprintf("%s is %s", m.path.Join(w.Child.Path), w.Equals.JSON())
}

// A constant is a text, a number, true or false.
type constant struct{ tree.Node }

// UnmarshalJSON reads the constant.
func (c *constant) UnmarshalJSON(text []byte) error {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	switch v := v.(type) {
	case string:
		c.Node = tree.String(v)
	case float64:
		c.Node = tree.Number(v)
	case bool:
		c.Node = tree.Bool(v)
	default:
		return errors.New("a constant is a text, a number, true or false")
	}
	return nil
}
