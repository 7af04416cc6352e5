package rulestest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/dogwooddb/dogwood/tree"
)

// A queryJSON is a query as test files write it: the order as rules see it
// (orderByKey, orderByChild…) or as REST does (orderBy).
type queryJSON struct {
	OrderBy         orderJSON       `json:"orderBy"`
	OrderByKey      bool            `json:"orderByKey"`
	OrderByValue    bool            `json:"orderByValue"`
	OrderByPriority bool            `json:"orderByPriority"`
	OrderByChild    orderJSON       `json:"orderByChild"`
	StartAt         json.RawMessage `json:"startAt"`
	StartAfter      json.RawMessage `json:"startAfter"`
	EndAt           json.RawMessage `json:"endAt"`
	EndBefore       json.RawMessage `json:"endBefore"`
	EqualTo         json.RawMessage `json:"equalTo"`
	LimitToFirst    *float64        `json:"limitToFirst"`
	LimitToLast     *float64        `json:"limitToLast"`
}

// An orderJSON is a string, or a list of child paths.
type orderJSON struct {
	name  string
	paths []string
}

// UnmarshalJSON reads either form.
func (o *orderJSON) UnmarshalJSON(text []byte) error {
	if text[0] == '[' {
		return json.Unmarshal(text, &o.paths)
	}
	return json.Unmarshal(text, &o.name)
}

// order returns an order by child paths, "" if it is none.
func (o orderJSON) order() (string, error) {
	if o.paths != nil {
		return tree.ListOrder(o.paths)
	}
	if o.name == "" || o.name[0] == '$' {
		return "", nil
	}
	p, err := tree.ParsePath(o.name)
	if err != nil || p.IsRoot() {
		return "", fmt.Errorf("%q is not a child path", o.name)
	}
	return p.Clean(), nil
}

// ParseQuery reads a query: {"orderByChild":"type","equalTo":"public"}. Without
// an order it is by key.
func ParseQuery(text string) (tree.Query, error) {
	var j queryJSON
	if err := decode([]byte(text), &j); err != nil {
		return tree.Query{}, err
	}
	q := tree.Query{OrderBy: tree.ByKey}
	for _, read := range []func(*queryJSON, *tree.Query) error{readOrder, readLimit, readBounds} {
		if err := read(&j, &q); err != nil {
			return tree.Query{}, fmt.Errorf("query: %w", err)
		}
	}
	return q, nil
}

// readOrder sets the order. Both ways of writing it are accepted, but only one at a
// time.
func readOrder(j *queryJSON, q *tree.Query) error {
	var given []string
	for order, is := range map[string]bool{
		tree.ByKey:      j.OrderByKey || j.OrderBy.name == "$key",
		tree.ByValue:    j.OrderByValue || j.OrderBy.name == "$value",
		tree.ByPriority: j.OrderByPriority || j.OrderBy.name == "$priority",
	} {
		if is {
			given = append(given, order)
		}
	}
	for _, child := range []orderJSON{j.OrderByChild, j.OrderBy} {
		order, err := child.order()
		if err != nil {
			return err
		}
		if order != "" {
			given = append(given, order)
		}
	}
	switch len(given) {
	case 0:
		if j.OrderBy.name != "" {
			return fmt.Errorf("unknown order %q", j.OrderBy.name)
		}
	case 1:
		q.OrderBy = given[0]
	default:
		return errors.New("more than one order; give one")
	}
	return nil
}

// readLimit sets the limit, which is a whole number however it is written: 5 or 5.0.
func readLimit(j *queryJSON, q *tree.Query) error {
	if j.LimitToFirst != nil && j.LimitToLast != nil {
		return errors.New("give only one of limitToFirst and limitToLast")
	}
	limit := j.LimitToFirst
	if j.LimitToLast != nil {
		limit, q.FromLast = j.LimitToLast, true
	}
	if limit == nil {
		return nil
	}
	if *limit < 1 || *limit > math.MaxInt32 || *limit != math.Trunc(*limit) {
		return errors.New("a limit must be a positive integer")
	}
	q.Limit = int(*limit)
	return nil
}

// readBounds sets the ends of the range. A bound without a key includes every
// child of its own value, or none.
func readBounds(j *queryJSON, q *tree.Query) error {
	if j.EqualTo != nil && (j.StartAt != nil || j.StartAfter != nil || j.EndAt != nil || j.EndBefore != nil) ||
		j.StartAt != nil && j.StartAfter != nil || j.EndAt != nil && j.EndBefore != nil {
		return errors.New("these bounds exclude each other; give at most one start and one end, or equalTo")
	}
	for _, b := range []struct {
		text  json.RawMessage
		end   *tree.Bound
		bound tree.Bound
	}{
		{j.StartAt, &q.Start, tree.Bound{KeyRank: tree.BeforeKeys}},
		{j.StartAfter, &q.Start, tree.Bound{KeyRank: tree.AfterKeys, Exclusive: true}},
		{j.EndAt, &q.End, tree.Bound{KeyRank: tree.AfterKeys}},
		{j.EndBefore, &q.End, tree.Bound{KeyRank: tree.BeforeKeys, Exclusive: true}},
		{j.EqualTo, &q.Start, tree.Bound{KeyRank: tree.BeforeKeys}},
		{j.EqualTo, &q.End, tree.Bound{KeyRank: tree.AfterKeys}},
	} {
		if b.text == nil {
			continue
		}
		v, err := boundOf(b.text, *q)
		if err != nil {
			return err
		}
		if _, isString := v.StringValue(); q.OrderBy == tree.ByKey && !isString {
			return fmt.Errorf("the bound %s must be a string, because the order is by key", b.text)
		}
		b.bound.Set, b.bound.Value = true, v
		*b.end = b.bound
	}
	return nil
}

// boundOf reads the value of a bound, a list for an order by several child paths.
func boundOf(text json.RawMessage, q tree.Query) (tree.Node, error) {
	wrong := fmt.Errorf("the bound %s must be null, a boolean, a number or a string", text)
	if text[0] != '[' {
		v, err := tree.ParseNode(string(text))
		if err != nil || v.IsObject() {
			return tree.Empty, wrong
		}
		return v, q.CheckBound(tree.Bound{Set: true, Value: v})
	}
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return tree.Empty, err
	}
	values := make([]tree.Node, len(list))
	for i, raw := range list {
		v, err := tree.ParseNode(string(raw))
		if err != nil || v.IsObject() {
			return tree.Empty, wrong
		}
		values[i] = v
	}
	return q.ListBound(values)
}
