package dogwood

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// A Page describes children of a place without reading what lies below them.
type Page struct {
	Revision uint64      // of the state that was read
	Count    int         // children of the place; -1 if the client may not read all of it
	Children []ChildInfo // in the order of the query
	More     bool        // the query has more children beyond its limit; false if Count is -1
}

// A ChildInfo describes one child.
type ChildInfo struct {
	Key         string // of the child
	Value       any    // a string, float64 or bool; of a long string its beginning; nil for an object
	Bytes       int    // of the string if Value is only its beginning, else 0
	Object      bool   // the child has children
	NumChildren int    // so many; 0 where they are not counted yet
	Priority    any    // a string or float64; nil for none
}

// Descending turns the order of Page and Pages round, which are the only ones that
// it goes with: the children of a value have one order.
func (q Query) Descending() Query {
	q.descending = true
	return q
}

// maxPageChildren is how many children a server describes in one page.
const maxPageChildren = 1000

// Page describes the children that the query selects: 200 without a limit, and at most 1000.
// Without an order they are in that of their keys. The page behind one that is ordered by
// key begins with StartAfter and its last key; Pages goes through all of them. The server
// must know the extension; the error is ErrUnsupported if it does not.
func (q Query) Page(ctx context.Context) (Page, error) {
	descending := q.descending
	q.descending = false
	if q.query.Limit > maxPageChildren {
		q = q.fail("a page has at most %d children", maxPageChildren)
	}
	if q.query.OrderBy == "" {
		q = q.OrderByKey()
	}
	if err := q.check(); err != nil {
		return Page{}, q.failed("page", err)
	}
	var answer struct {
		Page
		Count    *int
		Children []described
	}
	err := q.ask(ctx, "page", wire.FeatureList, &answer, func(dst []byte, id int64) []byte {
		return wire.AppendList(dst, id, q.path.String(), encodeQuery(q.query), descending)
	})
	p := Page{Revision: answer.Revision, Count: -1, More: answer.More}
	if answer.Count != nil {
		p.Count = *answer.Count
	}
	for _, d := range answer.Children {
		p.Children = append(p.Children, ChildInfo{d.K, d.V, d.B, d.T == "o", d.N, d.P})
	}
	return p, err
}

// described is a child as a server describes it (REST §19.4).
type described struct {
	K, T string
	V, P any
	N, B int
}

// Pages yields the pages of the query, which is ordered by key: each has as many children
// as its limit says. A query that is descending begins with the last ones. Each page is of
// the state at its time. An error is the last thing that it yields.
func (q Query) Pages(ctx context.Context) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		next := q
		switch {
		case q.query.OrderBy != "" && q.query.OrderBy != tree.ByKey:
			next = q.fail("the pages of a query are in the order of keys; of other orders there is the first one, which is Page")
		case q.query.FromLast:
			next = q.fail("the pages from the end on are those of a query that is Descending, with LimitToFirst")
		}
		if next.query.Limit == 0 {
			next.query.Limit = 200
		}
		next.query.OrderBy, next.query.FromLast = tree.ByKey, q.descending
		for {
			p, err := next.Page(ctx)
			if !yield(p, err) || err != nil || len(p.Children) < next.query.Limit || p.Count >= 0 && !p.More {
				return
			}
			b := tree.Bound{Set: true, Value: tree.String(p.Children[len(p.Children)-1].Key), Exclusive: true}
			if q.descending {
				b.KeyRank = tree.BeforeKeys
				next.query.End = b
			} else {
				b.KeyRank = tree.AfterKeys
				next.query.Start = b
			}
		}
	}
}

// ask sends a read that is an extension, and stores its answer in what dst points to.
func (q Query) ask(ctx context.Context, op, feature string, dst any, encode func(dst []byte, id int64) []byte) error {
	r := &request{op: op, path: q.path.String(), repeats: true, harmless: true, feature: q.features(feature), encode: encode}
	var bad error
	r.settle = func(m wire.ServerMessage, err error) {
		if err == nil && json.Unmarshal(m.Data, dst) != nil {
			bad = errAnswer
		}
	}
	err := q.client.submit(ctx, r, nil)
	if err == nil {
		err = failed(r.op, r.path, bad)
	}
	return err
}
