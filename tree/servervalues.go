package tree

import (
	"iter"

	"github.com/dogwooddb/dogwood/tree/piecewise"
)

// A ServerValue is a place in a draft at which the server puts a value of its own.
type ServerValue struct {
	At        Target // relative to the place of the draft
	Increment bool   // its result depends on what is there: increment, max, min; else it is a timestamp
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
	if s[0] != '{' {
		return true
	}
	for i := 1; s[i] != '}'; {
		m := memberAt(s, i)
		i = behind(s, m)
		if !hasServerValue(m.value(s)) {
			continue // without a path for each of many
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

// ServerValuesIn yields the server values of the draft with their values in n, which the
// draft was resolved to. It walks both once. To look up each path in n would cost the
// siblings in front of each of them.
func (d Draft) ServerValuesIn(n Node) iter.Seq2[ServerValue, Node] {
	return func(yield func(ServerValue, Node) bool) {
		if d.deferred {
			serverValuesIn(d.text, n.text, Target{Path: Root}, yield)
		}
	}
}

// serverValuesIn reports whether yield wants more.
func serverValuesIn(draft, text string, at Target, yield func(ServerValue, Node) bool) bool {
	if isServerValue(draft) {
		return yield(ServerValue{at, isIncrement(draft)}, Node{text})
	}
	if draft[0] != '{' {
		return true
	}
	for i, j := 1, 1; draft[i] != '}'; {
		from, to := memberAt(draft, i), memberAt(text, j)
		i, j = behind(draft, from), behind(text, to)
		if !hasServerValue(from.value(draft)) {
			continue
		}
		below := at
		switch key := from.key(draft); key {
		case `".priority"`:
			below.Priority = true
		case `".value"`:
		default:
			below.Path = at.Path.Child(unquote(key))
		}
		if !serverValuesIn(from.value(draft), to.value(text), below, yield) {
			return false
		}
	}
	return true
}

// WithoutIncrements returns n, which the draft was resolved to, without the nodes that
// are increments and whose paths hidden reports. Paths are relative to the place of the
// draft. whole is false if hidden reported any, even if it is only that of a priority:
// those stay.
func (d Draft) WithoutIncrements(n Node, hidden func(Path) bool) (shown Node, whole bool) {
	if !d.deferred {
		return n, true
	}
	h := hider{hidden: hidden}
	text := h.node(d.text, n.text, Root)
	return Node{text}, !h.found
}

// A hider walks a draft and what it was resolved to. They differ in server values only.
// So it walks both texts side by side.
type hider struct {
	hidden func(Path) bool
	found  bool
}

// hides reports whether a text is an increment that is not shown.
func (h *hider) hides(draft string, at Path) bool {
	hide := isServerValue(draft) && isIncrement(draft) && h.hidden(at)
	h.found = h.found || hide
	return hide
}

// node returns the text of a node that is shown, "" if that is nothing.
func (h *hider) node(draft, text string, at Path) string {
	switch {
	case h.hides(draft, at):
		return ""
	case isServerValue(draft) || draft[0] != '{':
		return text
	}
	out := []byte{'{'}
	shows := false // more than a priority
	for i, j := 1, 1; draft[i] != '}'; {
		from, to := memberAt(draft, i), memberAt(text, j)
		i, j = behind(draft, from), behind(text, to)
		key, sent, v := from.key(draft), from.value(draft), to.value(text)
		switch {
		case key == `".priority"`:
			h.hides(sent, at)
		case !hasServerValue(sent):
			shows = true
		case key == `".value"`:
			v = h.node(sent, v, at)
			shows = v != ""
		default:
			v = h.node(sent, v, at.Child(unquote(key)))
			shows = shows || v != ""
		}
		if v == "" {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = piecewise.Append(append(append(out, key...), ':'), v)
	}
	if !shows {
		return ""
	}
	return piecewise.String(append(out, '}'))
}

// behind returns where the member behind m begins, or the object ends.
func behind(s string, m member) int {
	if s[m.valueEnd] == ',' {
		return m.valueEnd + 1
	}
	return m.valueEnd
}
