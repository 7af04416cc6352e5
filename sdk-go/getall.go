package dogwood

import (
	"context"
	"encoding/json"

	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// A Lookup is something that GetAll reads: a Ref, a Query, or what EachKey makes of
// one.
type Lookup interface {
	lookup() (lookup, error)
}

// A lookup is what GetAll needs to know of a Lookup.
type lookup struct {
	of   Query
	each *tree.Template
}

// A KeyLookup reads what the keys of a query's children name elsewhere.
type KeyLookup struct {
	of       Query
	template string
}

// EachKey makes GetAll read, for each child of the query, the value at the path
// that its key makes of a template: with "groups/$key/name" and the keys alpha and
// bravo, those at groups/alpha/name and groups/bravo/name. The values of the
// children themselves are not read.
func (q Query) EachKey(template string) KeyLookup { return KeyLookup{q, template} }

func (q Query) lookup() (lookup, error) {
	if err := q.check(); err != nil {
		return lookup{}, q.failed("get all", err)
	}
	return lookup{of: q}, nil
}

func (k KeyLookup) lookup() (lookup, error) {
	l, err := k.of.lookup()
	if err != nil {
		return l, err
	}
	each, err := tree.ParseTemplate(k.template)
	if err != nil {
		return l, k.of.failed("get all", k.of.fail("template %q: %w", k.template, err).err)
	}
	l.each = &each
	return l, nil
}

// wire returns the lookup as it is sent.
func (l lookup) wire() wire.Lookup {
	w := wire.Lookup{Path: l.of.path.String(), Query: encodeQuery(l.of.query)}
	if l.each == nil {
		return w
	}
	w.Each = l.each.String()
	if by := l.of.query.OrderBy; w.Query == "" && by != "" { // the order is all that it says
		w.Query = string(append(appendOrder([]byte(`{"i":`), by), '}'))
	}
	return w
}

// A Batch is what GetAll read: one state of the database.
type Batch struct {
	Revision uint64   // of that state; 0 if the rules deny all of the lookups, else it never goes down
	Results  []Result // one for each Lookup
}

// A Result is what was found for one Lookup.
type Result struct {
	Snapshot Snapshot // the value of a Ref or Query
	Err      error    // an *Error: why this one failed, such as ErrPermissionDenied; nil if it did not
	Each     []Result // of EachKey: the places that the keys named, in the order of the query, without one by key
}

// GetAll reads several places at once, in one state of the database: what another
// client writes in one Update is there as a whole or not at all. A place that the
// rules deny does not fail the others. It needs a server that has batch get; the
// error is ErrUnsupported if it does not, and ErrTooBig beyond its bounds.
func (c *Client) GetAll(ctx context.Context, lookups ...Lookup) (Batch, error) {
	list := make([]lookup, len(lookups))
	sent := make([]wire.Lookup, len(lookups))
	feature := wire.FeatureGetAll
	for i, l := range lookups {
		var err error
		if list[i], err = l.lookup(); err != nil {
			return Batch{}, err
		}
		sent[i] = list[i].wire()
		feature = list[i].of.features(feature)
	}
	var data []byte
	err := c.submit(ctx, &request{
		op: "get all", repeats: true, harmless: true, feature: feature,
		encode:   func(dst []byte, id int64) []byte { return wire.AppendGetAll(dst, id, sent) },
		answered: func(m wire.ServerMessage) { data = append(data, m.Data...) },
	}, nil)
	if err != nil {
		return Batch{}, err
	}
	return c.readBatch(list, data)
}

// found is what a server says about one lookup, or one of its keys.
type found struct {
	Data   json.RawMessage            `json:"d"` // the value, or with Status the text
	Status string                     `json:"s"`
	Rule   json.RawMessage            `json:"rule"`
	Keys   []string                   `json:"k"`
	Values map[string]json.RawMessage `json:"v"`
	Errors map[string]found           `json:"e"`
}

func (c *Client) readBatch(list []lookup, data []byte) (Batch, error) {
	var answer struct {
		Revision uint64  `json:"rev"`
		Found    []found `json:"v"`
	}
	if err := json.Unmarshal(data, &answer); err != nil || len(answer.Found) != len(list) {
		return Batch{}, failed("get all", "", errAnswer)
	}
	b := Batch{Revision: answer.Revision, Results: make([]Result, len(list))}
	for i, l := range list {
		b.Results[i] = answer.Found[i].result(l)
	}
	return b, nil
}

func (f found) result(l lookup) Result {
	if f.Status != "" || l.each == nil {
		return f.one(l.of)
	}
	r := Result{Snapshot: l.of.snapshot(tree.Empty), Each: make([]Result, len(f.Keys))}
	for i, key := range f.Keys {
		if !tree.ValidKey(key) {
			return Result{Snapshot: r.Snapshot, Err: failed("get", l.of.path.String(), errAnswer)}
		}
		of := Query{client: l.of.client, path: l.each.Path(key)}
		one, failed := f.Errors[key]
		if !failed {
			one.Data = f.Values[key] // null if there is none
		}
		r.Each[i] = one.one(of)
	}
	return r
}

// one is the result of reading one query.
func (f found) one(of Query) Result {
	if f.Status != "" {
		m := wire.ServerMessage{Status: f.Status, Data: f.Data, Rule: f.Rule}
		return Result{Snapshot: of.snapshot(tree.Empty), Err: refusal("get", of.path.String(), m)}
	}
	if f.Data == nil {
		return Result{Snapshot: of.snapshot(tree.Empty)}
	}
	n, err := readNode(f.Data)
	return Result{Snapshot: of.snapshot(n), Err: failed("get", of.path.String(), err)}
}
