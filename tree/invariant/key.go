package invariant

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
)

// A keyText is a key in which values of fields are inserted: "p{a}{b}".
type keyText struct {
	text  string
	parts []segment // literal or field
}

// UnmarshalJSON reads the text.
func (k *keyText) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &k.text); err != nil {
		return errors.New("a key is a text")
	}
	for rest := k.text; rest != ""; {
		before, after, found := strings.Cut(rest, "{")
		if strings.Contains(before, "}") {
			return fmt.Errorf("%q has a } without a {", k.text)
		}
		if before != "" {
			k.parts = append(k.parts, segment{literal, before})
		}
		if !found {
			return nil
		}
		name, next, closed := strings.Cut(after, "}")
		if !closed || name != "" && !tree.ValidKey(name) || strings.Contains(name, "{") {
			return fmt.Errorf("%q has a { without a field", k.text)
		}
		k.parts, rest = append(k.parts, segment{field, name}), next
	}
	return nil
}

// fields returns the parts that are inserted.
func (k keyText) fields() (list []segment) {
	for _, part := range k.parts {
		if part.kind == field {
			list = append(list, part)
		}
	}
	return list
}

// A replacement is what stands for what in inserted values: ["u", ""].
type replacement struct{ old, with string }

// UnmarshalJSON reads the two texts.
func (r *replacement) UnmarshalJSON(text []byte) error {
	var list []string
	if err := json.Unmarshal(text, &list); err != nil || len(list) != 2 || list[0] == "" {
		return errors.New("replace is a list of two texts, the first not empty")
	}
	r.old, r.with = list[0], list[1]
	return nil
}

func (r replacement) in(s string) string {
	if r.old == "" {
		return s
	}
	return strings.ReplaceAll(s, r.old, r.with)
}

func (d *definition) validKey() error {
	last := d.Each.segments[len(d.Each.segments)-1]
	switch {
	case len(d.Is.fields()) == 0:
		return fmt.Errorf("%q has no {field}", d.Is.text)
	case last.kind == literal:
		return fmt.Errorf("%q: its last key is always the same", d.Each.text)
	}
	return errors.Join(d.Each.searched(), d.Where.byConstant())
}

// key reports each node whose key is not what its fields make.
func (d *definition) key(s *scan) error {
	return d.chosen(s, d.Each, func(m match) error {
		named, err := d.named(m)
		if err != nil || named {
			return err
		}
		var are []string
		for _, f := range d.Is.fields() {
			at := m.below(f.name)
			v, err := s.value(at)
			if err != nil {
				return err
			}
			are = append(are, fmt.Sprintf("%s is %s", at, v))
		}
		s.broken(m.path, "%s is not named %s: %s", m.path, d.Is.text, strings.Join(are, ", "))
		return nil
	})
}

// named reports whether the key of a node is what its fields make. It compares one
// after the other, since their values can be long.
func (d *definition) named(m match) (bool, error) {
	_, rest := m.path.Parent()
	for _, part := range d.Is.parts {
		text := part.name
		if part.kind == field {
			value, ok, err := m.field(part.name)
			if err != nil || !ok {
				return false, err
			}
			text = d.Replace.in(value)
		}
		var found bool
		if rest, found = strings.CutPrefix(rest, text); !found {
			return false, nil
		}
	}
	return rest == "", nil
}
