package invariant

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dogwooddb/dogwood/tree"
)

// A kind is one sort of invariant.
//
// needs and may are checked before valid, so valid and check can rely on what
// they need being there. A new kind is an entry of this table, a line in the
// package comment, and a section of docs/invariants.md.
type kind struct {
	needs, may []string // names in the definition
	valid      func(*definition) error
	check      func(*definition, *scan) error
}

// kinds has all of them; the package comment says what they mean.
var kinds = map[string]kind{
	"inverse": {
		needs: []string{"a", "b"},
		valid: func(d *definition) error {
			return errors.Join(looksUp(d.A, d.B), looksUp(d.B, d.A))
		},
		check: func(d *definition, s *scan) error {
			if err := s.implies(d.A, d.B); err != nil {
				return err
			}
			return s.implies(d.B, d.A)
		},
	},
	"ref": {
		needs: []string{"from", "to"},
		valid: onePath,
		check: func(d *definition, s *scan) error { return s.implies(d.From, d.To...) },
	},
	"refValue": {
		needs: []string{"from", "to"}, may: []string{"lower"},
		valid: onePath,
		check: (*definition).refValue,
	},
	"equal": {
		needs: []string{"a", "b"}, may: []string{"ifExists"},
		valid: func(d *definition) error { return looksUp(d.A, d.B) },
		check: (*definition).equal,
	},
	"copy": {
		needs: []string{"each", "field", "of"},
		valid: func(d *definition) error { return looksUp(d.Each, d.Of) },
		check: (*definition).copy,
	},
	"excludes": {
		needs: []string{"a", "b"},
		valid: func(d *definition) error { return looksUp(d.A, d.B) },
		check: (*definition).excludes,
	},
	"count": {
		needs: []string{"counter", "over"}, may: []string{"where"},
		valid: (*definition).validCount,
		check: (*definition).count,
	},
	"atLeast": {
		needs: []string{"counter", "each"},
		valid: func(d *definition) error { return looksUp(d.Each, d.Counter) },
		check: (*definition).atLeast,
	},
	"max": {
		needs: []string{"over", "limit"},
		valid: func(d *definition) error {
			if d.Limit < 0 {
				return fmt.Errorf("the limit is %d; it is 0 or more", d.Limit)
			}
			return d.Over.searched()
		},
		check: (*definition).max,
	},
	"required": {
		needs: []string{"each", "fields"},
		valid: func(d *definition) error {
			if len(d.Fields) == 0 {
				return errors.New("no fields")
			}
			return d.Each.searched()
		},
		check: (*definition).required,
	},
	"fan": {
		needs: []string{"each", "to"},
		valid: func(d *definition) error {
			if len(d.To) == 0 {
				return errors.New("no path in to")
			}
			return looksUp(d.Each, d.To...)
		},
		check: func(d *definition, s *scan) error { return s.implies(d.Each, d.To...) },
	},
	"varEquals": {
		needs: []string{"from", "path", "var"}, may: []string{"where"},
		valid: func(d *definition) error {
			if !d.From.binds(d.Var) {
				return fmt.Errorf("%s is not in %q", d.Var, d.From.text)
			}
			return errors.Join(looksUp(d.From, d.Path), d.Where.byConstant())
		},
		check: (*definition).varEquals,
	},
	"valueEquals": {
		needs: []string{"from", "path", "value"},
		valid: func(d *definition) error { return looksUp(d.From, d.Path) },
		check: (*definition).valueEquals,
	},
	"inverseValue": {
		needs: []string{"a", "b"}, may: []string{"lower"},
		valid: (*definition).validMutual,
		check: (*definition).inverseValue,
	},
	"key": {
		needs: []string{"each", "is"}, may: []string{"replace", "where"},
		valid: (*definition).validKey,
		check: (*definition).key,
	},
}

// names has all names that are known in a definition.
var names = func() []string {
	list := slices.Clone(heads)
	for _, k := range kinds {
		list = append(append(list, k.needs...), k.may...)
	}
	return list
}()

// looksUp returns what is wrong with a pattern that is searched, and others that
// are filled by what it finds.
//
// The two sides of an invariant differ: one is searched, which walks the tree, and the
// other is filled with what was found and looked up. That is why a wildcard or a new
// variable is no use in the second, and {} none in the first: there is no node yet whose
// field it could be.
func looksUp(from pattern, to ...pattern) error {
	if err := from.searched(); err != nil {
		return err
	}
	for _, p := range to {
		if err := p.filledBy(from); err != nil {
			return err
		}
	}
	return nil
}

func onePath(d *definition) error {
	if len(d.To) != 1 {
		return errors.New("one path in to is expected")
	}
	return looksUp(d.From, d.To...)
}

// implies reports each node that fits from without one at each of to.
func (s *scan) implies(from pattern, to ...pattern) error {
	return s.each(from, nil, func(m match) error {
		for _, p := range to {
			exists, text, err := m.there(p, asIs)
			if err != nil {
				return err
			}
			if !exists {
				s.broken(m.path, "%s exists and %s does not", m.path, text)
			}
		}
		return nil
	})
}

func (d *definition) refValue(s *scan) error {
	return s.each(d.From, nil, func(m match) error {
		exists, text, err := m.there(d.To[0], lower(d.Lower))
		if err != nil || exists {
			return err
		}
		return s.brokenValue(m.path, "there is no "+text)
	})
}

func (d *definition) equal(s *scan) error {
	return s.each(d.A, nil, func(m match) error {
		exists, text, err := m.there(d.B, asIs)
		if err != nil || !exists && d.IfExists {
			return err
		}
		if exists {
			return s.same(m.path, tree.MustParsePath(text))
		}
		return s.brokenValue(m.path, text+" is null")
	})
}

// copy compares a field of each record with what it was copied from. A place that is
// not there has no value to be equal to.
func (d *definition) copy(s *scan) error {
	return s.each(d.Each, nil, func(m match) error {
		at := m.path.Join(d.Field.Path)
		exists, err := s.r.Has(at)
		if err != nil || !exists {
			return err
		}
		of, text, ok, err := m.fill(d.Of, asIs)
		if err != nil {
			return err
		}
		if ok {
			return s.same(at, of)
		}
		return s.brokenValue(at, text+" is null")
	})
}

// brokenValue reports what a node is, and what is wrong with it.
func (s *scan) brokenValue(at tree.Path, wrong string) error {
	v, err := s.value(at)
	if err == nil {
		s.broken(at, "%s is %s and %s", at, v, wrong)
	}
	return err
}

// same reports two nodes that are not equal, by the first place where they differ. Large
// values are compared child by child and not read as a whole.
func (s *scan) same(a, b tree.Path) error {
	d, err := s.compare(a, b)
	if d != nil {
		s.broken(d.a, "%s is %s and %s is %s", d.a, d.av, d.b, d.bv)
	}
	return err
}

func (d *definition) excludes(s *scan) error {
	return s.each(d.A, nil, func(m match) error {
		exists, text, err := m.there(d.B, asIs)
		if exists {
			s.broken(m.path, "%s and %s both exist", m.path, text)
		}
		return err
	})
}

func (d *definition) atLeast(s *scan) error {
	return s.each(d.Each, nil, func(m match) error {
		is, text, err := m.valueAt(d.Counter)
		if err != nil {
			return err
		}
		v, err := s.value(m.path)
		if err == nil && !v.atMost(is) {
			s.broken(m.path, "%s is %s and %s is %s", text, is, m.path, v)
		}
		return err
	})
}

func (d *definition) max(s *scan) error {
	return s.each(d.Over, nil, func(m match) error {
		n := 0
		for _, err := range s.r.Keys(m.path) {
			if err == nil {
				err = s.ctx.Err()
			}
			if err != nil {
				return err
			}
			n++
		}
		if n > d.Limit {
			s.broken(m.path, "%s has %d children, %d are allowed", m.path, n, d.Limit)
		}
		return nil
	})
}

func (d *definition) required(s *scan) error {
	return s.each(d.Each, nil, func(m match) error {
		for _, f := range d.Fields {
			exists, err := s.r.Has(m.path.Join(f.Path))
			if err != nil {
				return err
			}
			if !exists {
				s.broken(m.path, "%s has no %s", m.path, f.Clean())
			}
		}
		return nil
	})
}

func (d *definition) varEquals(s *scan) error {
	return d.chosen(s, d.From, func(m match) error {
		is, text, err := m.valueAt(d.Path)
		if key, _ := m.key(d.Var); err == nil && is.leaf != tree.String(key) {
			s.broken(m.path, "%s and %s is %s, not %s", d.Where.because(m), text, is, tree.String(key).JSON())
		}
		return err
	})
}

func (d *definition) valueEquals(s *scan) error {
	return s.each(d.From, nil, func(m match) error {
		is, text, err := m.valueAt(d.Path)
		if err == nil && is.leaf != d.Value.Node {
			s.broken(m.path, "%s exists and %s is %s, not %s", m.path, text, is, d.Value.JSON())
		}
		return err
	})
}
