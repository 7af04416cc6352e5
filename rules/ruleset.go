package rules

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
)

// A Ruleset is a parsed rules document. It never changes. The zero Ruleset
// denies everything.
type Ruleset struct {
	source   string
	strict   string
	enforced bool
	root     *node
	indexes  []IndexDef // in document order
	limits   []*Limit   // in document order
	rules    []*rule    // in document order
	refused  error      // of a stored document; nil: it is accepted
}

// Refuse returns the ruleset of a stored document that this version of Dogwood refuses, for a reason. It
// denies everything, and keeps the indexes that were declared.
func Refuse(source string, reason error, indexes []IndexDef) *Ruleset {
	return &Ruleset{source: source, strict: source, refused: reason, indexes: indexes}
}

// Refused returns the reason of Refuse, nil for other rulesets.
func (r *Ruleset) Refused() error { return r.refused }

// Source returns the document as it was given to Parse, comments and layout
// included.
func (r *Ruleset) Source() string { return r.source }

// Strict returns the document as compact strict JSON, without comments and with
// its properties in the order of the source. Parse makes an equal ruleset of it.
func (r *Ruleset) Strict() string { return r.strict }

// Enforced reports whether a document was given or the rules are locked. Only
// then are one-shot queries without a matching .indexOn refused (REST §5.3).
func (r *Ruleset) Enforced() bool { return r.enforced }

// An IndexDef declares an index over the children of every node that a pattern
// matches.
type IndexDef struct {
	Pattern string // "/rooms/$room": captures as the document names them, "/" for the root
	Order   string // tree.ByValue or a child path "a/b"
}

// MaxLimit is the greatest number that a .limit may be.
const MaxLimit = 1_000_000

// A Limit is one .limit of a document: how many children of a node may be read at
// once.
type Limit struct {
	Path string // "/messages/$room/.limit"
	Max  int
	Pos  Pos // of the property's value in the document
}

// Indexes returns the indexes over the children of the node at p. They are the
// ones that the node matching p declares itself: indexes do not cascade. The
// caller must not modify the result.
func (r *Ruleset) Indexes(p tree.Path) []IndexDef {
	n := r.root
	for key, rest, ok := p.Cut(); ok && n != nil; key, rest, ok = rest.Cut() {
		n = n.child(key)
	}
	if n == nil {
		return nil
	}
	return n.indexes
}

// Pattern returns the keys of the nodes that match p, from the root down. Captures
// have their names. Below the last node of the document the keys are those of p.
func (r *Ruleset) Pattern(p tree.Path) []string {
	keys := make([]string, 0, p.Len())
	n := r.root
	for key, rest, ok := p.Cut(); ok; key, rest, ok = rest.Cut() {
		name := key
		if n != nil {
			child := n.child(key)
			if child != nil && child == n.capture {
				name = n.captureName
			}
			n = child
		}
		keys = append(keys, name)
	}
	return keys
}

// MayWrite reports whether there is a write at p or below it that some caller
// may make. It knows neither the write nor the caller, so a condition that is
// not always false counts: false means that nothing can be allowed there.
func (r *Ruleset) MayWrite(p tree.Path) bool {
	n := r.root
	for key, rest, ok := p.Cut(); ok && n != nil; key, rest, ok = rest.Cut() {
		if g := n.grants[OpWrite]; g != nil && g.mayHold() {
			return true
		}
		n = n.child(key)
	}
	return n.mayGrant(OpWrite)
}

// AllIndexes returns every index of the document, in its order. The caller must
// not modify the result.
func (r *Ruleset) AllIndexes() []IndexDef { return r.indexes }

// Rules yields the rules of the document, in its order.
func (r *Ruleset) Rules() iter.Seq[*Rule] {
	return func(yield func(*Rule) bool) {
		for _, rule := range r.rules {
			if !yield(&rule.Rule) {
				return
			}
		}
	}
}

// A node holds the rules of the locations that match its pattern.
type node struct {
	children    map[string]*node
	capture     *node  // matches the keys that are not in children
	captureName string // "$room"
	grants      [2]*rule
	validate    *rule
	validates   bool // a .validate here or below may refuse something
	validated   bool // there is a .validate here or below
	visits      bool // its .validate rules are for children of any key, here or below
	indexes     []IndexDef
	limit       *Limit // nil: none
	limited     bool   // there is a limit here or below
}

// Visits reports whether deciding an update visits stored nodes, as many as there may be: that of a
// priority does if .validate rules below it are for children of any key.
func (r *Ruleset) Visits(u tree.Update) bool {
	return slices.ContainsFunc(u, func(w tree.Write) bool {
		n := r.root
		for rest := w.Path; w.Priority && n != nil; {
			key, below, more := rest.Cut()
			if !more {
				return n.visits
			}
			n, rest = n.child(key), below
		}
		return false
	})
}

// firstValidate returns a .validate rule of n or below it. There is one.
func (n *node) firstValidate() *rule {
	for ; n.validate == nil; n = n.first() {
	}
	return n.validate
}

// first returns a child below which there is a .validate rule. There is one.
func (n *node) first() *node {
	for _, key := range slices.Sorted(maps.Keys(n.children)) {
		if c := n.children[key]; c.validated {
			return c
		}
	}
	return n.capture
}

// add makes c the child of n that a key of the document names.
func (n *node) add(key string, c *node) {
	if strings.HasPrefix(key, "$") {
		n.capture, n.captureName = c, key
		return
	}
	if n.children == nil {
		n.children = make(map[string]*node)
	}
	n.children[key] = c
}

// child returns the node that matches a key below n, or nil. A literal key wins
// over the capture, even where it has no rule and the capture has one.
func (n *node) child(key string) *node {
	if c, ok := n.children[key]; ok {
		return c
	}
	return n.capture
}

// mayGrant reports whether a rule of n or below it may grant op.
func (n *node) mayGrant(op Op) bool {
	if n == nil {
		return false
	}
	if g := n.grants[op]; g != nil && g.mayHold() {
		return true
	}
	for _, c := range n.children {
		if c.mayGrant(op) {
			return true
		}
	}
	return n.capture.mayGrant(op)
}

// sumUp computes validates, validated, visits and limited from n and its children.
func (n *node) sumUp() {
	n.validated = n.validate != nil
	n.validates = n.validated && !n.validate.alwaysHolds()
	n.limited = n.limit != nil
	for _, c := range n.children {
		n.include(c)
	}
	if n.capture != nil {
		n.include(n.capture)
		n.visits = n.visits || n.capture.validates
	}
}

// include adds what a child sums up to.
func (n *node) include(c *node) {
	n.validated = n.validated || c.validated
	n.validates = n.validates || c.validates
	n.visits = n.visits || c.visits
	n.limited = n.limited || c.limited
}
