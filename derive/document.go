package derive

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/rules/expression"
	"github.com/dogwooddb/dogwood/rules/jsonc"
	"github.com/dogwooddb/dogwood/tree"
)

// Format is the value of the member "format" of documents.
const Format = "dogwood-data/1"

// Bounds of a document. MaxAtOnePath and MaxChain bound what a small write may cost: an
// administrator writes the document, but clients choose the writes.
const (
	MaxDocument    = 1 << 20 // bytes
	MaxDefinitions = 256
	MaxAtOnePath   = 16 // definitions whose sources may match one path
	MaxChain       = 4  // definitions that each look at a target of the one before
	MaxFields      = 16 // of a value that is an object
	MaxKept        = 1_000_000
)

// A Document is a parsed data document. It never changes.
type Document struct {
	source      string
	definitions []*Definition
	levels      [][]*Definition // those with targets; a later level looks at targets of earlier ones
	trie        *node
	refused     error // of a stored document; nil: it is accepted

	// If it is refused, there are no definitions. The trie has a source for each path that the text
	// mentions, which is only good for finding out what writes may meet.
}

// Source returns the text, comments and layout included.
func (d *Document) Source() string { return d.source }

// Definitions returns the definitions in the order of the text. The caller must not modify
// the result.
func (d *Document) Definitions() []*Definition {
	if d == nil {
		return nil
	}
	return d.definitions
}

// A Kind says what a definition does.
type Kind string

// The kinds of definitions.
const (
	Map    Kind = "map"    // puts a value at the target of each source node
	Count  Kind = "count"  // counts source nodes
	Sum    Kind = "sum"    // adds up numbers of source nodes
	Keep   Kind = "keep"   // bounds the children of a list
	Expire Kind = "expire" // removes nodes when they are due
	Index  Kind = "index"  // orders children by several values
)

// A Pos is a place in a text. Lines and columns count from 1; a column is a character.
type Pos struct{ Line, Col int }

// A Definition is one line of a document. It never changes, and may be a key of a map: a document
// that is parsed again has other ones.
//
// The last four of its fields are computed once, so that writes need not look at patterns. With the
// source "/rooms/$r/members/$u", a target "/of/$u/$r" is injective, since it has all captures, and
// the map to it is alone. With "/of/$u/$r/{data.val()}" it is injective and not alone: the place
// changes with the node. A count to "/sizes/$r" without "where" is whole.
type Definition struct {
	Name    string
	Kind    Kind
	Pos     Pos  // of its name
	Off     bool // state is "off"
	Replace bool // onConflict is "replace"
	Unique  bool // of a map: a place has one source

	N        int           // of keep: how many children stay
	OrderBy  string        // of keep: tree.ByKey, tree.ByValue or a child path
	DropLast bool          // of keep: the last in the order go, not the first
	After    time.Duration // of expire; 0: at a time that the node has
	By       []string      // of index: child paths
	ByOrder  string        // of index: the same as an order of queries

	text      string  // without comments and layout
	position  int     // in the document
	level     int     // of its target in Document.levels
	source    pattern // of the nodes that it looks at
	target    pattern // nil: none
	where     *expression.Expression
	value     *value // of map: what the target holds; of sum: what is added; of expire: the time
	injective bool   // two nodes never have one target
	alone     bool   // of a map: each node has a place of its own that it always has
	feeding   bool   // what it writes may touch a source
	whole     bool   // of count: the number of children of containers is all that counts
}

// Source returns the pattern of the nodes that the definition looks at, "/rooms/$room". Of a
// list or index it ends in the children: "/home/$user/*".
func (d *Definition) Source() string { return d.source.String() }

// Target returns the pattern of the places that the definition keeps, "" if there are none.
func (d *Definition) Target() string {
	if d.target == nil {
		return ""
	}
	return d.target.String()
}

// Text returns the definition as it is written, without comments and layout. Those of one
// text do the same: if only comments of a document change, nothing has to be built again.
func (d *Definition) Text() string { return d.text }

// List returns the pattern of the nodes whose children are kept or indexed, "" if the
// definition does neither.
func (d *Definition) List() string {
	if d.Kind != Keep && d.Kind != Index {
		return ""
	}
	return d.source[:len(d.source)-1].String()
}

// exclusive reports whether the definition alone says what is at its target. A list that is
// bounded has children that clients write, and what was dropped is theirs, too.
func (d *Definition) exclusive() bool { return d.target != nil && d.Kind != Keep }

// SamePlaces reports whether the definition keeps the places that another one keeps, whatever it has there.
func (d *Definition) SamePlaces(o *Definition) bool {
	return d.exclusive() && o.exclusive() && slices.EqualFunc(d.target, o.target, func(a, b segment) bool { return a.key == b.key })
}

// writes returns the patterns of the places that the definition writes, none of expire and index.
// Nodes that expire are removed by a later write of the server, from which things follow as from
// any other. So an expire is never a link of a chain or a circle.
func (d *Definition) writes() (list []pattern) {
	if d.Kind == Keep {
		list = append(list, d.source)
	}
	if d.target != nil {
		list = append(list, d.target)
	}
	return list
}

// keeps reports whether the definition writes places.
func (d *Definition) keeps() bool { return d.Kind == Keep || d.target != nil }

// A value is a constant, an expression or an object of both: one of its fields is set. An object
// has no objects in it. A field that yields nothing is left out of it, and one that fails makes the
// node not match.
type value struct {
	constant tree.Node
	expr     *expression.Expression
	fields   []field // in key order
}

// A field is one of an object that a map copies.
type field struct {
	key string
	value
}

// An Error says what is wrong in a document and where.
type Error struct {
	Pos        Pos
	Definition string // its name, "" if it is about the document
	Msg        string
}

// Error returns the position and the message: "3:15: …".
func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Pos.Line, e.Pos.Col, e.Msg) }

// Errors are what is wrong in one document, at least one, in the order of the text.
type Errors []*Error

// Error returns one line for each error; each ends in a line feed.
func (e Errors) Error() string {
	var b strings.Builder
	for _, err := range e {
		b.WriteString(err.Error() + "\n")
	}
	return b.String()
}

// Parse reads a document. The error is of type Errors, with up to 100 of them: parsing goes on after
// a mistake. Definitions are checked against each other only once each of them is right.
func Parse(src string) (*Document, error) {
	if len(src) > MaxDocument {
		return nil, Errors{{Pos: Pos{1, 1}, Msg: "the document is larger than 1 MiB; take definitions out of it"}}
	}
	text, err := jsonc.Parse(src)
	if err != nil {
		e := err.(*jsonc.Error)
		return nil, Errors{{Pos: Pos{e.Line, e.Col}, Msg: e.Msg}}
	}
	p := parser{doc: text}
	p.document(&text.Root)
	d := &Document{source: src, definitions: p.definitions}
	if len(p.errs) == 0 {
		p.check(d)
	}
	if len(p.errs) > 0 {
		return nil, p.errs
	}
	d.trie = newTrie(d.definitions)
	return d, nil
}
