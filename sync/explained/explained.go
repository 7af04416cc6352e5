// Package explained has what a database says about the cost of a read or a write. Its JSON
// form is what clients get (docs/extensions.md). It holds nothing of the data.
package explained

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A Read says how a read is answered and what that takes. It holds nothing
// of the data. Its JSON form is what clients get (docs/extensions.md).
type Read struct {
	Path     string     `json:"path"`
	Query    Query      `json:"query"`
	Plan     store.Plan `json:"plan"`
	Index    *string    `json:"index"`              // order of the declared index that is used; nil: none
	Building bool       `json:"building,omitempty"` // that index is not complete yet, so it is not used
	*Looks              // nil for callers that may read the node only through a query: they would learn of other children
	Results  int        `json:"results"`  // children answered; 1 for a value without any
	Bytes    int        `json:"bytes"`    // of the answer, as JSON with priorities
	Revision uint64     `json:"revision"` // of the state that was looked at
	Rules    Rules      `json:"rules"`

	// MissingIndexOn says what to add to the rules; nil if nothing is missing.
	// Without it, one-shot reads are refused.
	MissingIndexOn *MissingIndex `json:"missingIndexOn,omitempty"`
}

// Looks are what a read looked at.
type Looks struct {
	Visited int `json:"visited"` // children looked at to find those that are answered
	Rows    int `json:"rows"`    // rows and index entries of the store that were read
}

// Rules say what it took to decide.
type Rules struct {
	Allowed   bool `json:"allowed"`
	Admin     bool `json:"admin,omitempty"` // the rules do not apply
	Evaluated int  `json:"evaluated"`       // rules that were asked

	// For an administrator, or with Options.TellRules: they depend on what the rules
	// read, which others may not be allowed to.
	Rows int    `json:"rows,omitempty"` // rows that they read
	By   string `json:"by,omitempty"`   // the rule that decided
}

// A Query is a query in the words of REST; that of a read of everything
// has none. Values are JSON.
type Query struct {
	OrderBy      string          `json:"orderBy,omitempty"` // "$key", "$value", "$priority", a child path, or the JSON of a list of these
	StartAt      json.RawMessage `json:"startAt,omitempty"`
	StartAfter   json.RawMessage `json:"startAfter,omitempty"`
	StartKey     string          `json:"startKey,omitempty"` // with which the first of those with the value begin
	EndAt        json.RawMessage `json:"endAt,omitempty"`
	EndBefore    json.RawMessage `json:"endBefore,omitempty"`
	EndKey       string          `json:"endKey,omitempty"`
	EqualTo      json.RawMessage `json:"equalTo,omitempty"`
	LimitToFirst int             `json:"limitToFirst,omitempty"`
	LimitToLast  int             `json:"limitToLast,omitempty"`
	Where        string          `json:"where,omitempty"` // a filter
}

// orderNames are the orders that are not child paths, as REST calls them.
var orderNames = map[string]string{tree.ByKey: "$key", tree.ByValue: "$value", tree.ByPriority: "$priority"}

// QueryOf returns a query in the words of REST.
func QueryOf(q tree.Query) (e Query) {
	if e.OrderBy = q.Order(); orderNames[e.OrderBy] != "" {
		e.OrderBy = orderNames[e.OrderBy]
	}
	if q.Limit > 0 && q.FromLast {
		e.LimitToLast = q.Limit
	} else {
		e.LimitToFirst = q.Limit
	}
	if q.Filter != nil {
		e.Where = q.Filter.Text()
	}
	start, end := q.Start, q.End
	if start.Set && end.Set && start.Value == end.Value && start.KeyRank == tree.BeforeKeys && end.KeyRank == tree.AfterKeys {
		e.EqualTo = json.RawMessage(start.Value.JSON())
		return e
	}
	if start.Set {
		e.StartKey = start.Key
		e.StartAt, e.StartAfter = boundText(start, tree.AfterKeys)
	}
	if end.Set {
		e.EndKey = end.Key
		e.EndAt, e.EndBefore = boundText(end, tree.BeforeKeys)
	}
	return e
}

// boundText returns the value of a bound, as one that includes or excludes it.
// beyond is the rank of keys that excludes all children with the value.
func boundText(b tree.Bound, beyond tree.KeyRank) (at, past json.RawMessage) {
	text := json.RawMessage(b.Value.JSON())
	if b.Exclusive || b.KeyRank == beyond {
		return nil, text
	}
	return text, nil
}

// A MissingIndex is an index that the rules should declare.
type MissingIndex struct {
	Path    string   `json:"path"`    // of the node in the rules: "/rooms/$room"
	IndexOn []string `json:"indexOn"` // what its .indexOn should be, with what it is already; empty for an order by several paths
	Paste   string   `json:"paste"`   // the same as a part of the rules document, or a definition for the data document
}

// MissingIndexFor returns what the rules should say for queries at p in an order. The
// text has only what is about indexes: it is to be merged with the rules.
func MissingIndexFor(rs *rules.Ruleset, p tree.Path, order string) *MissingIndex {
	m := &MissingIndex{IndexOn: []string{}}
	if tree.IsListOrder(order) {
		m.Path = "/" + strings.Join(rs.Pattern(p), "/")
		m.Paste = string(wire.AppendString([]byte(`"NAME": { "index": `), m.Path)) + `, "by": ` + order + " }"
		return m
	}
	for _, ix := range rs.Indexes(p) {
		m.IndexOn = append(m.IndexOn, ix.Order)
	}
	m.IndexOn = append(m.IndexOn, order)
	keys := rs.Pattern(p)
	m.Path = "/" + strings.Join(keys, "/")
	text := []byte(`".indexOn": [`)
	for i, order := range m.IndexOn {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = wire.AppendString(text, order)
	}
	m.Paste = string(append(text, ']'))
	for _, key := range slices.Backward(keys) {
		m.Paste = string(wire.AppendString(nil, key)) + ": { " + m.Paste + " }"
	}
	return m
}

// A Write says what a write would take. It is that of a write which was
// decided and measured, and then not made.
type Write struct {
	Path string `json:"path"`
	Plan string `json:"plan"` // "write"

	// The effect and the cost of a write depend on the data, and could be used to guess
	// that. So the effect is nil if the caller may not read all that he writes; and the
	// cost, in which others have a part, is not nil for an administrator, or with
	// Options.TellRules.
	*Effect
	*Cost
	*Follows

	// Revision is 0 if neither Effect nor Cost is told: a write that changes nothing makes no
	// revision, so it would tell a guess at the value from another one.
	Revision uint64 `json:"revision"`
	Rules    Rules  `json:"rules"`
}

// Follows is what follows from a write by declared data. It is told with the Cost.
type Follows struct {
	Derived      []Derived `json:"derived"`
	DerivedTotal int       `json:"derivedTotal"` // how many there are; MaxDerived at most are told
	Kept         int       `json:"kept,omitempty"`
	Skipped      []Skipped `json:"skipped,omitempty"`  // at most 20
	Building     []string  `json:"building,omitempty"` // definitions that are not ready, from which less may follow
}

// MaxDerived is how many places that follow are told.
const MaxDerived = 1_000

// A Derived is a place that follows from a write.
type Derived struct {
	By    string          `json:"by"` // the definition
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"`
}

// A Skipped is a node of a definition that does not match, because an expression fails or yields no
// key or value.
type Skipped struct {
	By   string `json:"by"` // the definition
	Path string `json:"path"`
	Why  string `json:"why"`
}

// An Effect is what a write does to the places that it writes.
type Effect struct {
	Changes bool `json:"changes"` // false: everything is as it would be already
	Bytes   int  `json:"bytes"`   // of the values, as JSON with priorities
}

// A Cost is what it takes to make a write. That depends on its surroundings: rows
// hold what is beside it, the rules read elsewhere, and listeners are anywhere.
type Cost struct {
	Rows      int `json:"rows"`         // rows and index entries read, by deciding too
	Written   int `json:"written"`      // rows put or deleted
	Entries   int `json:"indexEntries"` // index entries put or deleted
	Listeners int `json:"listeners"`    // that would be sent an event
	Cancelled int `json:"cancelled"`    // listeners that would lose their permission

	// AtLeast says that there are so many listeners that not all of them were looked at:
	// there may be more than Listeners and Cancelled, and those take more Rows.
	AtLeast bool `json:"atLeast,omitempty"`
}
