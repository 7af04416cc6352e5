package rulestest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
)

// An Invariant is something that must hold of the tree after each accepted
// write. Its patterns are paths in which $x binds a key, * fits any key, {f}
// stands for the field f of the record that was matched, and {} for its value.
//
//	inverse    A exists exactly if B does
//	ref        From exists only if To does
//	refValue   the value of From names a To that exists
//	equal      the values at A and B are equal
//	excludes   of A and B at most one exists
//	count      the number at Counter is how many nodes match Over
//	atLeast    the number at Counter is not below any value of Each
//	max        a node that matches Over has at most Limit children
//	required   a record that matches Each has all the Fields
//	fan        for a record that matches Each all of To exist
//	varEquals  where From exists, the value at Path is the key bound to Var
type Invariant struct {
	ID       string   `json:"id"`
	Kind     string   `json:"kind"`
	Text     string   `json:"text"`
	A        string   `json:"a"`
	B        string   `json:"b"`
	From     string   `json:"from"`
	To       toPaths  `json:"to"`
	Each     string   `json:"each"`
	Path     string   `json:"path"`
	Var      string   `json:"var"`
	Fields   []string `json:"fields"`
	Counter  string   `json:"counter"`
	Over     string   `json:"over"`
	Limit    int      `json:"limit"`
	IfExists bool     `json:"ifExists"` // equal: only where B exists
	Lower    bool     `json:"lower"`    // refValue: the value in lower case
	Where    *struct {
		Child     string `json:"child"`
		EqualsVar string `json:"equalsVar"`
	} `json:"where"` // count: only nodes whose child is the key bound to the variable
}

// toPaths is one pattern or a list of them.
type toPaths []string

func (p *toPaths) UnmarshalJSON(text []byte) error {
	var n names
	if err := n.UnmarshalJSON(text); err != nil {
		return errors.New("to is a path or a list of paths")
	}
	*p = toPaths(n)
	return nil
}

// ParseInvariant reads an invariant.
func ParseInvariant(text []byte) (*Invariant, error) {
	v := new(Invariant)
	if err := decode(text, v); err != nil {
		return nil, fmt.Errorf("invariant: %w", err)
	}
	if _, ok := invariants[v.Kind]; !ok {
		return nil, fmt.Errorf("invariant %s: unknown kind %q", v.ID, v.Kind)
	}
	if (v.Kind == "ref" || v.Kind == "refValue") && len(v.To) != 1 {
		return nil, fmt.Errorf("invariant %s: one path in to is expected", v.ID)
	}
	for _, pattern := range append([]string{v.A, v.B, v.From, v.Each, v.Path, v.Counter, v.Over}, append(v.To, v.Fields...)...) {
		if !validPattern(pattern) {
			return nil, fmt.Errorf("invariant %s: %q is no path", v.ID, pattern)
		}
	}
	return v, nil
}

// validPattern reports whether the keys of a pattern that are no variables can
// name children.
func validPattern(pattern string) bool {
	for _, key := range strings.Split(pattern, "/") {
		if key != "" && key != "*" && key[0] != '$' && key[0] != '{' && !tree.ValidKey(key) {
			return false
		}
	}
	return true
}

// invariants has a function for each kind, which reports what breaks it.
var invariants = map[string]func(*Invariant, tree.Node, func(string, ...any)){
	"inverse": func(v *Invariant, root tree.Node, broken func(string, ...any)) {
		v.exists(root, v.A, v.B, broken)
		v.exists(root, v.B, v.A, broken)
	},
	"ref": func(v *Invariant, root tree.Node, broken func(string, ...any)) {
		v.exists(root, v.From, v.To[0], broken)
	},
	"refValue":  (*Invariant).refValue,
	"equal":     (*Invariant).equal,
	"excludes":  (*Invariant).excludes,
	"count":     (*Invariant).count,
	"atLeast":   (*Invariant).atLeast,
	"max":       (*Invariant).max,
	"required":  (*Invariant).required,
	"fan":       (*Invariant).fan,
	"varEquals": (*Invariant).varEquals,
}

// maxBroken bounds what one check reports of an invariant.
const maxBroken = 20

// Check returns what breaks the invariant, in words, with paths.
func (v *Invariant) Check(root tree.Node) []string {
	var list []string
	invariants[v.Kind](v, root, func(format string, args ...any) {
		if len(list) < maxBroken {
			list = append(list, fmt.Sprintf(format, args...))
		}
	})
	return list
}

func (v *Invariant) exists(root tree.Node, from, to string, broken func(string, ...any)) {
	match(root, from, nil, func(m found) {
		if p := m.fill(to); m.get(root, p).IsEmpty() {
			broken("/%s exists and /%s does not", m.path, p)
		}
	})
}

func (v *Invariant) refValue(root tree.Node, broken func(string, ...any)) {
	match(root, v.From, nil, func(m found) {
		is := m.node.JSON()
		if v.Lower {
			s, _ := m.node.StringValue()
			m.node = tree.String(strings.ToLower(s))
		}
		if p := m.fill(v.To[0]); m.get(root, p).IsEmpty() {
			broken("/%s is %s and there is no /%s", m.path, is, p)
		}
	})
}

func (v *Invariant) equal(root tree.Node, broken func(string, ...any)) {
	match(root, v.A, nil, func(m found) {
		p := m.fill(v.B)
		other := m.get(root, p)
		if other != m.node && !(v.IfExists && other.IsEmpty()) {
			broken("/%s is %s and /%s is %s", m.path, m.node.JSON(), p, other.JSON())
		}
	})
}

func (v *Invariant) excludes(root tree.Node, broken func(string, ...any)) {
	match(root, v.A, nil, func(m found) {
		if p := m.fill(v.B); !m.get(root, p).IsEmpty() {
			broken("/%s and /%s both exist", m.path, p)
		}
	})
}

func (v *Invariant) count(root tree.Node, broken func(string, ...any)) {
	match(root, v.Counter, nil, func(m found) {
		n := 0
		match(root, v.Over, m.vars, func(o found) {
			if v.Where == nil || o.node.Get(clean(v.Where.Child)) == tree.String(m.vars[v.Where.EqualsVar]) {
				n++
			}
		})
		if m.node != tree.Number(float64(n)) {
			broken("/%s is %s and there are %d of /%s", m.path, m.node.JSON(), n, m.fill(v.Over))
		}
	})
}

func (v *Invariant) atLeast(root tree.Node, broken func(string, ...any)) {
	counter := root.Get(clean(v.Counter))
	match(root, v.Each, nil, func(m found) {
		if tree.CompareValues(counter, m.node) < 0 {
			broken("/%s is %s and /%s is %s", v.Counter, counter.JSON(), m.path, m.node.JSON())
		}
	})
}

func (v *Invariant) max(root tree.Node, broken func(string, ...any)) {
	match(root, v.Over, nil, func(m found) {
		if n := m.node.NumChildren(); n > v.Limit {
			broken("/%s has %d children, %d are allowed", m.path, n, v.Limit)
		}
	})
}

func (v *Invariant) required(root tree.Node, broken func(string, ...any)) {
	match(root, v.Each, nil, func(m found) {
		for _, f := range v.Fields {
			if m.node.Get(clean(f)).IsEmpty() {
				broken("/%s has no %s", m.path, f)
			}
		}
	})
}

func (v *Invariant) fan(root tree.Node, broken func(string, ...any)) {
	match(root, v.Each, nil, func(m found) {
		for _, to := range v.To {
			if p := m.fill(to); m.get(root, p).IsEmpty() {
				broken("/%s exists and /%s does not", m.path, p)
			}
		}
	})
}

func (v *Invariant) varEquals(root tree.Node, broken func(string, ...any)) {
	match(root, v.From, nil, func(m found) {
		p := m.fill(v.Path)
		if other := m.get(root, p); other != tree.String(m.vars[v.Var]) {
			broken("/%s is %s, which is not %s", p, other.JSON(), m.vars[v.Var])
		}
	})
}

// A found is a node that matched a pattern.
type found struct {
	path string            // without slashes at its ends
	vars map[string]string // "$room" → the key
	node tree.Node
}

// get returns the node at a filled pattern, Empty if it is no valid path.
func (m found) get(root tree.Node, path string) tree.Node {
	p, err := tree.ParsePath(path)
	if err != nil || strings.ContainsAny(path, "{}") {
		return tree.Empty
	}
	return root.Get(p)
}

// fill puts the bound keys and the fields of the record into a pattern. A field
// that is no key stays as it is, so that there is no such path.
func (m found) fill(pattern string) string {
	keys := strings.Split(pattern, "/")
	for i, key := range keys {
		switch {
		case strings.HasPrefix(key, "$") && m.vars[key] != "":
			keys[i] = m.vars[key]
		case strings.HasPrefix(key, "{") && strings.HasSuffix(key, "}"):
			if s, ok := m.node.Get(clean(key[1 : len(key)-1])).StringValue(); ok && tree.ValidKey(s) {
				keys[i] = s
			}
		}
	}
	return strings.Join(keys, "/")
}

// match calls f for each node that fits a pattern and exists. vars are keys that
// are bound already.
func match(root tree.Node, pattern string, vars map[string]string, f func(found)) {
	matchAt(root, strings.Split(strings.Trim(pattern, "/"), "/"), nil, vars, f)
}

func matchAt(n tree.Node, pattern, path []string, vars map[string]string, f func(found)) {
	if n.IsEmpty() {
		return
	}
	if len(pattern) == 0 {
		f(found{strings.Join(path, "/"), vars, n})
		return
	}
	key, rest := pattern[0], pattern[1:]
	bound, isBound := vars[key]
	switch {
	case isBound:
		key = bound
	case key == "*" || strings.HasPrefix(key, "$"):
		for k, c := range n.Children() {
			matchAt(c, rest, appended(path, k), with(vars, key, k), f)
		}
		return
	}
	matchAt(n.Child(key), rest, appended(path, key), vars, f)
}

func appended(list []string, s string) []string {
	return append(list[:len(list):len(list)], s)
}

// with returns vars with one more key, unless the key is only matched.
func with(vars map[string]string, name, key string) map[string]string {
	if name == "*" {
		return vars
	}
	out := map[string]string{name: key}
	for k, v := range vars {
		out[k] = v
	}
	return out
}

// clean returns the path that a pattern without variables names.
func clean(s string) tree.Path {
	p, err := tree.ParsePath(s)
	if err != nil {
		return tree.Root
	}
	return p
}
