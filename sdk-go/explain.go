package dogwood

import (
	"context"

	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// An Explanation says how a read is answered and what that takes. Visited and Rows are zero for a
// client that may read the place only through the query.
type Explanation struct {
	Path     string         `json:"path"`     // that was asked for: "/rooms/r1"
	Plan     string         `json:"plan"`     // "leaf", "node", "keys", "index", "priorities", "packed", "scan" or "none"
	Index    string         `json:"index"`    // order of the declared index that is used, "" for none
	Building bool           `json:"building"` // that index is not complete yet, and so not used
	Visited  int            `json:"visited"`  // children looked at to find those that are answered
	Rows     int            `json:"rows"`     // rows and index entries of the data file that were read
	Results  int            `json:"results"`  // children answered; 1 for a value without any
	Bytes    int            `json:"bytes"`    // of the answer
	Revision uint64         `json:"revision"` // of the state that was looked at
	Rules    ExplainedRules `json:"rules"`    // what they said

	// MissingIndexOn says what to add to the rules; nil if nothing is missing.
	MissingIndexOn *MissingIndex `json:"missingIndexOn"`
}

// A WriteExplanation says what a write would do and cost. Changes and Bytes need the right
// to read everything that is written. Rows, Written, Entries, Listeners and Cancelled need
// an administrator or a development server. Without that they are zero.
type WriteExplanation struct {
	Path      string         `json:"path"`         // that was asked for: "/rooms/r1"
	Changes   bool           `json:"changes"`      // false: everything is as it would be already
	Bytes     int            `json:"bytes"`        // of the values
	Rows      int            `json:"rows"`         // rows and index entries read
	Written   int            `json:"written"`      // rows put or deleted
	Entries   int            `json:"indexEntries"` // index entries put or deleted
	Listeners int            `json:"listeners"`    // that would be sent an event
	Cancelled int            `json:"cancelled"`    // listeners that would lose their permission
	AtLeast   bool           `json:"atLeast"`      // there may be more listeners than are counted
	Revision  uint64         `json:"revision"`     // of the state that was looked at
	Rules     ExplainedRules `json:"rules"`        // what they said
}

// ExplainedRules say what it took to decide.
type ExplainedRules struct {
	Allowed   bool   `json:"allowed"`   // they let the client do it
	Admin     bool   `json:"admin"`     // the rules do not apply
	Evaluated int    `json:"evaluated"` // rules that were asked
	Rows      int    `json:"rows"`      // rows that they read; for administrators, and in development
	By        string `json:"by"`        // the rule that decided; for administrators, and in development
}

// A MissingIndex is an index that the rules should declare.
type MissingIndex struct {
	Path    string   `json:"path"`    // of the node in the rules: "/rooms/$room"
	IndexOn []string `json:"indexOn"` // what its .indexOn should be
	Paste   string   `json:"paste"`   // the same as a part of the rules
}

// Explain has the server read the value as Get does, and say what that took. A query
// that lacks an index is not refused. The server must know the extension; the error is
// ErrUnsupported if it does not.
func (q Query) Explain(ctx context.Context) (Explanation, error) {
	var x Explanation
	if err := q.check(); err != nil {
		return x, q.failed("explain", err)
	}
	err := q.ask(ctx, "explain", wire.FeatureExplain, &x, func(dst []byte, id int64) []byte {
		return wire.AppendExplain(dst, id, q.path.String(), encodeQuery(q.query))
	})
	return x, err
}

// ExplainSet has the server decide and measure what Set would do, and not do it.
func (r Ref) ExplainSet(ctx context.Context, value any) (WriteExplanation, error) {
	var x WriteExplanation
	if err := r.check(); err != nil {
		return x, r.failed("explain", err)
	}
	w, err := encode(tree.Target{Path: r.path}, value)
	if err != nil {
		return x, r.failed("explain", err)
	}
	body := draftJSON(w.Value)
	err = r.ask(ctx, "explain", wire.FeatureExplain, &x, func(dst []byte, id int64) []byte {
		return wire.AppendExplainWrite(dst, id, r.path.String(), body, false)
	})
	return x, err
}

// ExplainUpdate is ExplainSet for Update.
func (r Ref) ExplainUpdate(ctx context.Context, values map[string]any) (WriteExplanation, error) {
	var x WriteExplanation
	_, body, err := r.merge(values)
	if err != nil {
		return x, r.failed("explain", err)
	}
	err = r.ask(ctx, "explain", wire.FeatureExplain, &x, func(dst []byte, id int64) []byte {
		return wire.AppendExplainWrite(dst, id, r.path.String(), body, true)
	})
	return x, err
}
