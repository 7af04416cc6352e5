package ruleslint

import (
	"strings"

	"github.com/dogwooddb/dogwood/rules/lang"
)

// Keys of nodes begin with the tree that they are in: the one before the operation or
// the one after it. Behind that come the keys on the way, a 0 byte before each. In a rule of
// /rooms/$room, data.child('owner').val() and root.child('rooms').child($room).child('owner')
// .val() both have the key "old\x00rooms\x00$room\x00owner".
const (
	oldTree      = "old"
	newTree      = "new"
	priorityMark = "\x00.priority"
)

// names give the parts of one rule names that mean the same in all rules: of a
// snapshot its path from the root, however it is spelt. That is what lets a .validate use the
// facts of a .write at another node.
type names struct {
	node *node
	rule string // path of the rule
}

// A keyPath is a path whose keys may be captures ("$room") or computed. Two
// paths with computed keys are never taken for the same, unless their
// expressions are.
type keyPath struct {
	tree string
	keys []string
}

// String returns the key of the node.
func (p keyPath) String() string {
	return strings.Join(append([]string{p.tree}, p.keys...), "\x00")
}

// newPath returns the path of a node in the tree after the operation.
func newPath(n *node) keyPath { return nodePath(newTree, n) }

func nodePath(tree string, n *node) keyPath {
	p := keyPath{tree: tree}
	for ; n.parent != nil; n = n.parent {
		p.keys = append([]string{n.key}, p.keys...)
	}
	return p
}

// computed begins a key that is known only at run time, and may be several: a text with a
// slash is a path. parent() of such a key is not followed, since it may be any node between.
// The bytes 1 to 4 are safe as marks because no key of a database has control characters.
const computed = "\x01"

// capture stands on both sides of a capture inside a key.
const capture = "\x04"

// key returns the name of a value that may be null: a claim, a query's property, or
// the value or priority of a node.
func (s names) key(x lang.Expr) (key string, ok bool) {
	switch x := x.(type) {
	case *lang.Variable:
		return x.Name, x.Name == "auth"
	case *lang.Member:
		if x.X.Type() == lang.Query {
			return "query\x00" + x.Name, true
		}
		key, ok = s.key(x.X)
		return key + "\x00" + x.Name, ok && x.X.Type()&lang.Claims != 0
	case *lang.Index:
		key, ok = s.key(x.X)
		return key + "\x00" + computed + s.name(x.Key), ok
	case *lang.Call:
		fun := x.Fun.(*lang.Member)
		if fun.Name != "val" && fun.Name != "getPriority" || fun.X.Type() != lang.Snapshot {
			return "", false
		}
		p, ok := s.path(fun.X)
		if fun.Name == "val" {
			return p.String(), ok
		}
		return p.String() + priorityMark, ok
	}
	return "", false
}

// name returns a name for any expression. Values and captures have the same name everywhere;
// all else is named by the rule and its text, so it equals itself in this rule only. The
// separator is another byte than in keys, so that a name can be part of one.
func (s names) name(x lang.Expr) string {
	if key, ok := s.key(x); ok {
		return strings.ReplaceAll(key, "\x00", "\x02")
	}
	if v, ok := x.(*lang.Variable); ok {
		return v.Name
	}
	return s.rule + " " + x.String()
}

// path returns the path of a snapshot.
func (s names) path(x lang.Expr) (p keyPath, ok bool) {
	switch x := x.(type) {
	case *lang.Variable:
		switch x.Name {
		case "root":
			return keyPath{tree: oldTree}, true
		case "newRoot":
			return keyPath{tree: newTree}, true
		case "data":
			return nodePath(oldTree, s.node), true
		case "newData":
			return nodePath(newTree, s.node), true
		}
	case *lang.Call:
		fun := x.Fun.(*lang.Member)
		p, ok = s.path(fun.X)
		if !ok {
			return p, false
		}
		if fun.Name == "child" {
			return s.child(p, x.Args[0]), true
		}
		last := len(p.keys) - 1
		if fun.Name != "parent" || last < 0 || strings.Contains(p.keys[last], computed) {
			return p, false
		}
		return keyPath{p.tree, p.keys[:last:last]}, true
	}
	return p, false
}

// child returns the path below p that an argument of child names.
func (s names) child(p keyPath, arg lang.Expr) keyPath {
	var path strings.Builder
	for _, part := range operands(arg, lang.Add, nil) {
		v, isVariable := part.(*lang.Variable)
		literal, isText := text(part)
		switch {
		case isText:
			path.WriteString(literal)
		case isVariable && strings.HasPrefix(v.Name, "$"):
			path.WriteString(capture + v.Name + capture)
		default:
			path.WriteString(computed + strings.ReplaceAll(s.name(part), "/", "\x03"))
		}
	}
	keys := p.keys[:len(p.keys):len(p.keys)]
	for key := range strings.SplitSeq(path.String(), "/") {
		if name, ok := strings.CutPrefix(key, capture); ok && strings.HasSuffix(name, capture) && strings.Count(name, capture) == 1 {
			key = name[:len(name)-len(capture)]
		}
		if key != "" {
			keys = append(keys, key)
		}
	}
	return keyPath{p.tree, keys}
}
