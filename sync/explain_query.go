package sync

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// An ExplainedQuery is a query in the words of REST; that of a read of everything
// has none. Values are JSON.
type ExplainedQuery struct {
	OrderBy      string          `json:"orderBy,omitempty"` // "$key", "$value", "$priority" or a child path
	StartAt      json.RawMessage `json:"startAt,omitempty"`
	StartAfter   json.RawMessage `json:"startAfter,omitempty"`
	StartKey     string          `json:"startKey,omitempty"` // with which the first of those with the value begin
	EndAt        json.RawMessage `json:"endAt,omitempty"`
	EndBefore    json.RawMessage `json:"endBefore,omitempty"`
	EndKey       string          `json:"endKey,omitempty"`
	EqualTo      json.RawMessage `json:"equalTo,omitempty"`
	LimitToFirst int             `json:"limitToFirst,omitempty"`
	LimitToLast  int             `json:"limitToLast,omitempty"`
}

// orderNames are the orders that are not child paths, as REST calls them.
var orderNames = map[string]string{tree.ByKey: "$key", tree.ByValue: "$value", tree.ByPriority: "$priority"}

func explainQuery(r Read) (e ExplainedQuery) {
	q := r.Query
	if r.Plain {
		return e
	}
	if e.OrderBy = q.Order(); orderNames[e.OrderBy] != "" {
		e.OrderBy = orderNames[e.OrderBy]
	}
	if q.Limit > 0 && q.FromLast {
		e.LimitToLast = q.Limit
	} else {
		e.LimitToFirst = q.Limit
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
	IndexOn []string `json:"indexOn"` // what its .indexOn should be, with what it is already
	Paste   string   `json:"paste"`   // the same as a part of the rules document
}

// missingIndex returns what the rules should say for queries at p in an order. The
// text has only what is about indexes: it is to be merged with the rules.
func missingIndex(rs *rules.Ruleset, p tree.Path, order string) *MissingIndex {
	m := &MissingIndex{}
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
