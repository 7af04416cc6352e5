package dogwood

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/dogwooddb/dogwood/tree"
)

// A Query is an ordered window over the children of a path. Its methods return
// a narrower Query and leave the one they are called on as it is. A contradiction
// is reported when the query is used: with ErrQuery, or with ErrPath for the
// zero Query, which belongs to no Client. So calls can be chained without an error
// between them.
type Query struct {
	client *Client
	path   tree.Path
	query  tree.Query
	err    error

	descending bool // of pages
}

// OrderByChild orders by a child of each child: "score", or "stats/score". The
// rules should declare an index for it.
func (q Query) OrderByChild(path string) Query {
	p, err := tree.ParsePath(path)
	switch {
	case err != nil:
		return q.fail("order by %q: %w", path, err)
	case p.IsRoot():
		return q.fail("order by %q: there is no child", path)
	}
	return q.order(p.Clean())
}

// OrderByChildren orders by several children of each child: by the first, then by the second, and
// so on. There are 1 to 4 paths. The data document should declare an index for them. Bounds are
// slices of values then: StartAt([]any{"ann", 5}). One that is shorter than the paths is a
// prefix: EqualTo([]any{"ann"}) leaves all children that have "ann" at the first path, in the
// order of the others.
func (q Query) OrderByChildren(paths ...string) Query {
	order, err := tree.ListOrder(paths)
	if err != nil {
		return q.fail("%w", err)
	}
	return q.order(order)
}

// OrderByKey orders by key: keys that are 32-bit integers first, by number, then all
// others by their text.
func (q Query) OrderByKey() Query { return q.order(tree.ByKey) }

// OrderByValue orders by the children themselves.
func (q Query) OrderByValue() Query { return q.order(tree.ByValue) }

// OrderByPriority orders by priority, as every query does that says nothing.
func (q Query) OrderByPriority() Query { return q.order(tree.ByPriority) }

func (q Query) order(by string) Query {
	if q.query.OrderBy != "" {
		return q.fail("it is ordered twice")
	}
	q.query.OrderBy = by
	return q.fit()
}

// fit has lists as bounds where the order is by several children, and nowhere else.
func (q Query) fit() Query {
	for _, b := range []*tree.Bound{&q.query.Start, &q.query.End} {
		var err error
		if b.Value.IsList() {
			b.Value, err = q.query.ListBound(slices.Collect(b.Value.List()))
		}
		if err == nil {
			err = q.query.CheckBound(*b)
		}
		if err != nil {
			return q.fail("%w", err)
		}
	}
	return q
}

// StartAt leaves out children below a value: null, a boolean, a number or a
// string, for OrderByKey a key, or for OrderByChildren a slice of values. With a key, children of just that value must
// not have a lower one.
func (q Query) StartAt(value any, key ...string) Query {
	return q.start(bound(value, key, tree.BeforeKeys, false))
}

// StartAfter is StartAt without the value, or value and key, itself.
func (q Query) StartAfter(value any, key ...string) Query {
	return q.start(bound(value, key, tree.AfterKeys, true))
}

// EndAt leaves out children above a value. With a key, children of just that
// value must not have a higher one.
func (q Query) EndAt(value any, key ...string) Query {
	return q.end(bound(value, key, tree.AfterKeys, false))
}

// EndBefore is EndAt without the value, or value and key, itself.
func (q Query) EndBefore(value any, key ...string) Query {
	return q.end(bound(value, key, tree.BeforeKeys, true))
}

// EqualTo leaves only children of a value, with a key only that one.
func (q Query) EqualTo(value any, key ...string) Query {
	return q.StartAt(value, key...).EndAt(value, key...)
}

// LimitToFirst leaves only the first n children, 1 to 2³¹−1. A query has one limit.
func (q Query) LimitToFirst(n int) Query { return q.limit(n, false) }

// LimitToLast leaves only the last n children, 1 to 2³¹−1, in the same order as
// without a limit.
func (q Query) LimitToLast(n int) Query { return q.limit(n, true) }

func (q Query) limit(n int, last bool) Query {
	switch {
	case q.query.Limit != 0:
		return q.fail("it is limited twice")
	case n < 1 || int64(n) > 1<<31-1:
		return q.fail("the limit %d is not positive", n)
	}
	q.query.Limit, q.query.FromLast = n, last
	return q
}

func (q Query) start(b tree.Bound, err error) Query {
	switch {
	case err != nil:
		return q.fail("%w", err)
	case q.query.Start.Set:
		return q.fail("it starts twice")
	}
	if q.query.Start = b; q.query.OrderBy == "" {
		return q
	}
	return q.fit()
}

func (q Query) end(b tree.Bound, err error) Query {
	switch {
	case err != nil:
		return q.fail("%w", err)
	case q.query.End.Set:
		return q.fail("it ends twice")
	}
	if q.query.End = b; q.query.OrderBy == "" {
		return q
	}
	return q.fit()
}

func bound(value any, key []string, rank tree.KeyRank, exclusive bool) (tree.Bound, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return tree.Bound{}, err
	}
	n, err := boundValue(text)
	if err != nil {
		return tree.Bound{}, err
	}
	b := tree.Bound{Set: true, Value: n, KeyRank: rank, Exclusive: exclusive}
	switch {
	case len(key) > 1:
		return b, fmt.Errorf("a bound has %d keys", len(key))
	case len(key) == 1 && !tree.ValidKey(key[0]):
		return b, fmt.Errorf("the bound's key %q is not valid", key[0])
	case len(key) == 1:
		b.KeyRank, b.Key = tree.AtKey, key[0]
	}
	return b, nil
}

// boundValue reads the JSON of a bound, which is a list for OrderByChildren.
func boundValue(text []byte) (tree.Node, error) {
	if len(text) == 0 || text[0] != '[' {
		n, err := tree.ParseNode(string(text))
		if err != nil || n.IsObject() || !n.Priority().IsEmpty() {
			return n, fmt.Errorf("the bound %s is no null, boolean, number or string", text)
		}
		return n, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return tree.Empty, err
	}
	values := make([]tree.Node, len(list))
	for i, each := range list {
		n, err := tree.ParseNode(string(each))
		if err != nil || n.IsObject() || !n.Priority().IsEmpty() {
			return n, fmt.Errorf("the bound %s has a value that is no null, boolean, number or string", text)
		}
		values[i] = n
	}
	return tree.ListValue(values), nil
}

func (q Query) fail(format string, args ...any) Query {
	if q.err == nil {
		q.err = fmt.Errorf("%w: "+format, append([]any{ErrQuery}, args...)...)
	}
	return q
}

// check returns why the query can't be used.
func (q Query) check() error {
	switch {
	case q.client == nil:
		return errNoClient
	case q.err != nil:
		return q.err
	case q.descending:
		return q.fail("only Page and Pages are descending").err
	}
	for _, b := range []tree.Bound{q.query.Start, q.query.End} {
		if err := q.checkBound(b); err != nil {
			return q.fail("%w", err).err
		}
	}
	return nil
}

func (q Query) checkBound(b tree.Bound) error {
	if b.Value.IsList() && !tree.IsListOrder(q.query.Order()) {
		return fmt.Errorf("a bound is a list only for OrderByChildren")
	}
	_, isString := b.Value.StringValue()
	_, isBool := b.Value.BoolValue()
	switch {
	case !b.Set:
	case q.query.OrderBy == tree.ByKey && (!isString || b.KeyRank == tree.AtKey):
		return fmt.Errorf("a bound of OrderByKey is one key")
	case q.query.Order() == tree.ByPriority && isBool:
		return fmt.Errorf("no priority is a boolean")
	}
	return nil
}
