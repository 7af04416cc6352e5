package invariant

import (
	"context"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
)

// A scan is one check of one invariant.
//
// It has no state of the walk itself, so walks can be nested: a count walks
// below each match of another walk.
type scan struct {
	ctx    context.Context
	r      tree.Reader
	tally  int // how many counters are counted in one walk
	broken func(p tree.Path, format string, args ...any)
}

// A match is a node that fits a pattern. It is valid only in the call that it is given
// to. vars grows in place from one child to the next, so a match that is kept needs a
// copy of it.
type match struct {
	*scan
	path tree.Path
	vars []binding
}

// A binding is a variable with the key that it stands for.
type binding struct{ name, key string }

// key returns what a variable stands for.
func (m match) key(name string) (key string, bound bool) { return lookUp(m.vars, name) }

func lookUp(vars []binding, name string) (key string, bound bool) {
	for _, b := range vars {
		if b.name == name {
			return b.key, true
		}
	}
	return "", false
}

// each calls f for each node that fits a pattern. vars are bound already.
func (s *scan) each(p pattern, vars []binding, f func(match) error) error {
	return s.walk(tree.Root, p.segments, vars, f)
}

// walk goes down from a node that fits all before rest. Only what is named without
// being listed is looked up, at the end; nothing is below what does not exist.
func (s *scan) walk(at tree.Path, rest []segment, vars []binding, f func(match) error) error {
	for i, seg := range rest {
		key, known := seg.key(vars)
		if !known {
			return s.list(at, rest[i:], vars, f)
		}
		at = at.Child(key)
	}
	if exists, err := s.r.Has(at); err != nil || !exists {
		return err
	}
	return f(match{s, at, vars})
}

// list goes on with each child of a node, for which the first of rest stands.
func (s *scan) list(at tree.Path, rest []segment, vars []binding, f func(match) error) error {
	for key, err := range s.r.Keys(at) {
		if err == nil {
			err = s.ctx.Err()
		}
		if err != nil {
			return err
		}
		bound := vars
		if rest[0].kind == variable {
			bound = append(vars, binding{rest[0].name, key})
		}
		child := at.Child(key)
		if len(rest) == 1 {
			err = f(match{s, child, bound})
		} else {
			err = s.walk(child, rest[1:], bound, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// key returns the key that a segment stands for, unless it stands for any.
func (g segment) key(vars []binding) (key string, known bool) {
	switch g.kind {
	case literal:
		return g.name, true
	case variable:
		return lookUp(vars, g.name)
	}
	return "", false
}

// fill returns the path that a pattern stands for. Where a field is missing or is
// no key, there is no such path: ok is false, and text has the pattern's place.
//
// A field that is missing is no error: whether there has to be one is for another
// invariant to say. Here the path is then nowhere, and the report shows the pattern where
// the key would be.
func (m match) fill(p pattern, change func(string) string) (path tree.Path, text string, ok bool, err error) {
	keys := make([]string, len(p.segments))
	ok = true
	for i, seg := range p.segments {
		known := false
		if seg.kind == field {
			keys[i], known, err = m.field(seg.name)
			keys[i] = change(keys[i])
		} else {
			keys[i], known = seg.key(m.vars)
		}
		if err != nil {
			return tree.Root, "", false, err
		}
		if !known || !tree.ValidKey(keys[i]) {
			keys[i], ok = seg.String(), false
		}
	}
	text = "/" + strings.Join(keys, "/")
	if ok {
		path, err = tree.ParsePath(text)
	}
	return path, text, ok, err
}

// field returns the value of a field of the node as the key that it would be, of
// the node itself if the name is empty.
func (m match) field(name string) (key string, ok bool, err error) {
	v, err := m.value(m.below(name))
	key, ok = v.key()
	return key, ok, err
}

// below returns where a field of the node is, the node itself if the name is empty.
func (m match) below(name string) tree.Path {
	if name == "" {
		return m.path
	}
	return m.path.Child(name)
}

// there reports whether there is a node where a pattern points, with the inserted values
// changed, and where that is.
func (m match) there(p pattern, change func(string) string) (exists bool, text string, err error) {
	path, text, ok, err := m.fill(p, change)
	if err != nil || !ok {
		return false, text, err
	}
	exists, err = m.r.Has(path)
	return exists, text, err
}

// valueAt returns the value where a pattern points, absent if that is nowhere.
func (m match) valueAt(p pattern) (v value, text string, err error) {
	path, text, ok, err := m.fill(p, asIs)
	if err == nil && ok {
		v, err = m.value(path)
	}
	return v, text, err
}

func asIs(s string) string { return s }
