package eval

import (
	"github.com/dogwooddb/dogwood/rules/internal/snapshot"
	"github.com/dogwooddb/dogwood/tree"
)

// queryMember returns a property of the variable query, which describes the
// operation wherever the rule stands. Writes have no query: flags are false and
// values null (rules §2).
//
// A REST GET without parameters is ordered by key, a read over the realtime
// protocol without any by priority (rules §7).
func (e *Evaluation) queryMember(name string) any {
	q, isRead := e.Query, e.Query != nil
	if !isRead {
		q = new(tree.Query)
	}
	switch name {
	case "orderByKey":
		return q.OrderBy == tree.ByKey || isBareLimit(q)
	case "orderByValue":
		return q.OrderBy == tree.ByValue
	case "orderByPriority":
		return q.OrderBy == tree.ByPriority || isRead && q.OrderBy == "" && !isBareLimit(q)
	case "orderByChild":
		if !q.NeedsIndex() || q.OrderBy == tree.ByValue {
			return nil
		}
		return q.OrderBy
	case "startAt":
		return snapshot.ValueOf(firstOf(q.Start.Value))
	case "endAt":
		return snapshot.ValueOf(firstOf(q.End.Value))
	case "equalTo":
		return equalTo(q)
	case "limitToFirst":
		return limit(q, false)
	case "limitToLast":
		return limit(q, true)
	}
	return nil
}

// isBareLimit reports whether there is a limit and nothing else, which counts as
// ordered by key.
func isBareLimit(q *tree.Query) bool {
	return q.OrderBy == "" && q.Limit > 0 && !q.Start.Set && !q.End.Set
}

// firstOf returns the value of a bound, of a list its first one. An order by several child
// paths is told as a list's text, which no rule means that names one path. A rule that names
// the list may rely on the first value alone: what the query shows is within that, whatever
// the others are.
func firstOf(bound tree.Node) tree.Node {
	for v := range bound.List() {
		return v
	}
	return tree.Empty
}

// equalTo returns the value that all entries of a query have: clients send it as
// both bounds.
func equalTo(q *tree.Query) any {
	start, end := q.Start, q.End
	switch {
	case start.Set && end.Set && start.Value.IsList() && end.Value.IsList():
		if first := firstOf(start.Value); first == firstOf(end.Value) {
			return snapshot.ValueOf(first)
		}
		return nil
	case !start.Set || !end.Set || start.Value != end.Value:
		return nil
	case start.Exclusive || start.KeyRank == tree.AfterKeys:
		return nil
	case end.Exclusive || end.KeyRank == tree.BeforeKeys:
		return nil
	}
	return snapshot.ValueOf(start.Value)
}

// limit returns the limit of a query from one end, null if it has none there.
func limit(q *tree.Query, fromLast bool) any {
	if q.Limit == 0 || q.FromLast != fromLast {
		return nil
	}
	return float64(q.Limit)
}
