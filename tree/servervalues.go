package tree

import "iter"

// A ServerValue is a place in a draft at which the server puts a value of its own.
type ServerValue struct {
	At        Target // relative to the place of the draft
	Increment bool   // of what is there; else it is a timestamp
}

// ServerValues yields the server values of the draft, in the order of its text.
func (d Draft) ServerValues() iter.Seq[ServerValue] {
	return func(yield func(ServerValue) bool) {
		if d.deferred {
			serverValues(d.text, Root, yield)
		}
	}
}

// serverValues reports whether yield wants more.
func serverValues(s string, at Path, yield func(ServerValue) bool) bool {
	if isServerValue(s) {
		return yield(ServerValue{Target{Path: at}, isIncrement(s)})
	}
	if s[0] != '{' || !hasServerValue(s) {
		return true
	}
	for i := 1; s[i] != '}'; {
		m := memberAt(s, i)
		if i = m.valueEnd; s[i] == ',' {
			i++
		}
		if !serverValuesOf(m.key(s), m.value(s), at, yield) {
			return false
		}
	}
	return true
}

// serverValuesOf is serverValues for a member of the object at a path.
func serverValuesOf(quoted, v string, at Path, yield func(ServerValue) bool) bool {
	switch quoted {
	case `".priority"`:
		return !isServerValue(v) || yield(ServerValue{Target{Path: at, Priority: true}, isIncrement(v)})
	case `".value"`:
		return serverValues(v, at, yield)
	}
	return serverValues(v, at.Child(unquote(quoted)), yield)
}

func isIncrement(s string) bool { return s != `{".sv":"timestamp"}` }
