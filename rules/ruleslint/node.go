package ruleslint

import (
	"iter"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/jsonc"
	"github.com/dogwooddb/dogwood/rules/lang"
)

// A node is one object of the document with its rules.
//
// Lint needs the tree of the document, with nodes that have no rules at all,
// while a Ruleset has rules by path. So the tree is built once more from the
// document, with the compiled rules put into it.
type node struct {
	path     string         // "" for the root, else "/rooms/$room"
	key      string         // "" for the root; a capture as written, "$room"
	pos      rules.Pos      // of the key in the document; zero for the root
	parent   *node          // nil for the root
	children []*node        // in the order of the document, the capture among them
	rules    [3]*rules.Rule // by rules.Kind; nil where the node has no such rule
	indexes  []string       // what .indexOn names: paths of children, or ".value"
	limit    rules.Pos      // of the value of .limit, zero without one
}

// build makes the nodes of a document that was accepted: doc must be r's source. The type
// assertions rely on that, since a Ruleset has no source whose top is not an object with the
// one member "rules", or whose nodes are not objects.
func build(doc *jsonc.Doc, r *rules.Ruleset) *node {
	byPath := make(map[string]*rules.Rule)
	for rule := range r.Rules() {
		byPath[rule.Path] = rule
	}
	b := builder{doc, byPath, make(map[string][]string)}
	for _, def := range r.AllIndexes() {
		path := strings.TrimSuffix(def.Pattern, "/") // that of the root is "/"
		b.indexes[path] = append(b.indexes[path], def.Order)
	}
	top := doc.Root.Value.(*hujson.Object)
	return b.node(&top.Members[0].Value, nil, "")
}

type builder struct {
	doc     *jsonc.Doc
	byPath  map[string]*rules.Rule
	indexes map[string][]string // by the paths of nodes
}

func (b *builder) node(v *hujson.Value, parent *node, key string) *node {
	n := &node{key: key, parent: parent}
	if parent != nil {
		n.path = parent.path + "/" + key
	}
	n.indexes = b.indexes[n.path]
	obj := v.Value.(*hujson.Object)
	for i := range obj.Members {
		m := &obj.Members[i]
		switch name, _ := jsonc.Str(&m.Name); {
		case name == ".limit":
			n.limit.Line, n.limit.Col = b.doc.Pos(m.Value.StartOffset)
		case strings.HasPrefix(name, "."):
			if rule := b.byPath[n.path+"/"+name]; rule != nil {
				n.rules[rule.Kind] = rule
			}
		default:
			c := b.node(&m.Value, n, name)
			c.pos.Line, c.pos.Col = b.doc.Pos(m.Name.StartOffset)
			n.children = append(n.children, c)
		}
	}
	return n
}

func (n *node) isCapture() bool { return strings.HasPrefix(n.key, "$") }

// capture returns the child that matches the keys that are no literal's.
func (n *node) capture() *node {
	for _, c := range n.children {
		if c.isCapture() {
			return c
		}
	}
	return nil
}

// all yields n and the nodes below it.
func (n *node) all() iter.Seq[*node] {
	return func(yield func(*node) bool) { n.walk(yield) }
}

func (n *node) walk(yield func(*node) bool) bool {
	if !yield(n) {
		return false
	}
	for _, c := range n.children {
		if !c.walk(yield) {
			return false
		}
	}
	return true
}

// mayHold reports whether a rule can be true as far as its constants tell. It errs towards
// true, alwaysHolds towards false; an absent rule grants nothing, so it is false for both.
func mayHold(r *rules.Rule) bool {
	if r == nil {
		return false
	}
	value, known := constant(r.Expr)
	return !known || value
}

// alwaysHolds reports whether a rule is true whatever the request.
func alwaysHolds(r *rules.Rule) bool {
	if r == nil {
		return false
	}
	value, known := constant(r.Expr)
	return known && value
}

// isLiteral reports whether a rule is just true or false, which is meant.
func isLiteral(x lang.Expr) bool {
	_, ok := x.(*lang.Literal)
	return ok
}
