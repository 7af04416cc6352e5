package invariant

import (
	"fmt"
	"slices"
)

// validMutual looks whether each side can be filled from the other: with the
// variables that both have, and one that is the value there.
func (d *definition) validMutual() error {
	for _, p := range []pattern{d.A, d.B} {
		if p.has(field) || p.has(wildcard) {
			return fmt.Errorf("%q: inverseValue has no {} and no * in its patterns", p.text)
		}
	}
	if len(d.A.own(d.B)) != 1 || len(d.B.own(d.A)) != 1 {
		return fmt.Errorf("%q and %q: each has one variable that the other one has not", d.A.text, d.B.text)
	}
	return nil
}

// own returns the variables of a pattern that another one has not.
func (p pattern) own(other pattern) (names []string) {
	for _, s := range p.segments {
		if s.kind == variable && !other.binds(s.name) && !slices.Contains(names, s.name) {
			names = append(names, s.name)
		}
	}
	return names
}

// A side is one of two that name each other. Only one side may change the case
// of values, since both together could not be undone.
type side struct {
	pattern
	variable string              // its own
	change   func(string) string // from its values to keys of the other side
}

// inverseValue looks at both sides, since each can have what the other one has not.
func (d *definition) inverseValue(s *scan) error {
	a := side{d.A, d.A.own(d.B)[0], lower(d.Lower)}
	b := side{d.B, d.B.own(d.A)[0], asIs}
	if err := s.namedBack(a, b); err != nil {
		return err
	}
	return s.namedBack(b, a)
}

// namedBack reports each node of a side whose value is not a key of the other side
// at which its own key is.
func (s *scan) namedBack(from, to side) error {
	return s.each(from.pattern, nil, func(m match) error {
		v, err := s.value(m.path)
		if err != nil {
			return err
		}
		key, _ := v.key()
		m.vars = append(slices.Clip(m.vars), binding{to.variable, from.change(key)})
		other, text, err := m.valueAt(to.pattern)
		if err != nil {
			return err
		}
		own, _ := m.key(from.variable)
		if back, ok := other.key(); !ok || to.change(back) != own {
			s.broken(m.path, "%s is %s and %s is %s", m.path, v, text, other)
		}
		return nil
	})
}
