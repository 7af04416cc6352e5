// Package query reads the query objects of the realtime protocol, and the filters that they
// have in common with REST. All that it reads comes from clients: errors are for them, and wrap
// fault.ErrQuery, but for those of Filter.
package query

import (
	"errors"
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/dogwooddb/dogwood/rules/expression"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree"
)

// Parse reads the query object of a listen or get (protocol §5.2). No text is the query that
// shows all children: the zero Query. Members that it does not know mean nothing.
//
// The order comes first, since it says what a bound may be, and the limit after the bounds.
func Parse(raw string) (tree.Query, error) {
	var q tree.Query
	if raw == "" {
		return q, nil
	}
	o := gjson.Parse(raw)
	if i := o.Get("i"); i.Exists() {
		if err := setOrder(&q, i); err != nil {
			return q, err
		}
	}
	var err error
	if q.Start, err = parseBound(q, o, "s", tree.BeforeKeys); err != nil {
		return q, err
	}
	if q.End, err = parseBound(q, o, "e", tree.AfterKeys); err != nil {
		return q, err
	}
	if err := setLimit(&q, o); err != nil {
		return q, err
	}
	return q, setFilter(&q, o)
}

// setFilter reads w and wm: a filter, and how many children one read may look at. Both are an
// extension ("q" in the hello); wm alone means nothing.
func setFilter(q *tree.Query, o gjson.Result) (err error) {
	w, most := o.Get("w"), o.Get("wm")
	if !w.Exists() {
		return nil
	}
	if w.Type != gjson.String {
		return fmt.Errorf("%w: w must be a string", fault.ErrQuery)
	}
	if most.Exists() && (most.Type != gjson.Number || most.Num != float64(int32(most.Num)) || most.Num < 1 || most.Num > MaxLooks) {
		return fmt.Errorf("%w: wm must be an integer from 1 to %d", fault.ErrQuery, MaxLooks)
	}
	if q.Filter, err = Filter(w.String(), int(most.Num)); err != nil {
		return fmt.Errorf("%w: w: %w", fault.ErrQuery, err)
	}
	return nil
}

// MaxLooks is the most children that a read with a filter may ask to look at.
const MaxLooks = expression.MaxLooks

// Filter compiles a filter that may look at so many children, 0 for the usual number. The error
// has the place and the text of a mistake: "3: …", a byte that counts from 1. It does not wrap
// fault.ErrQuery, since REST says it in its own words.
func Filter(text string, looks int) (tree.Filter, error) {
	f, err := expression.NewFilter(text, looks)
	if err != nil {
		return nil, fmt.Errorf("%d: %s", err.Offset+1, err.Msg)
	}
	return f, nil
}

// Size returns about how much memory the filter of a query takes, 0 without one.
func Size(q tree.Query) int {
	if f, ok := q.Filter.(*expression.Filter); ok {
		return f.Size()
	}
	return 0
}

// MaxFilters bounds about how much memory the filters of a batch take, each of them once. A
// compiled filter may be far larger than its text, so the size of a request does not bound them.
const MaxFilters = 8 << 20

// Filters are those of a batch. The zero Filters has none. One goroutine may use it.
type Filters struct {
	texts map[string]bool // canonical; equal ones share what is compiled
	Size  int             // about how much memory they take
}

// Add adds the filter of a query, if there is one and there is room for it. After an error the
// batch is to be refused as a whole: Size is beyond the bound then.
func (f *Filters) Add(q tree.Query) error {
	if q.Filter == nil || f.texts[q.Filter.Text()] {
		return nil
	}
	if f.Size += Size(q); f.Size > MaxFilters {
		return fmt.Errorf("%w: the filters of a batch take more than %d MiB", fault.ErrQuery, MaxFilters>>20)
	}
	if f.texts == nil {
		f.texts = make(map[string]bool)
	}
	f.texts[q.Filter.Text()] = true
	return nil
}

// setOrder reads i. A child path becomes its clean form, by which indexes are found. Without i,
// OrderBy stays "", which is .priority.
func setOrder(q *tree.Query, i gjson.Result) error {
	switch name := i.String(); {
	case i.IsArray():
		return setListOrder(q, i)
	case i.Type != gjson.String:
		return fmt.Errorf("%w: i must be a string, or a list of child paths", fault.ErrQuery)
	case name == tree.ByKey, name == tree.ByValue, name == tree.ByPriority:
		q.OrderBy = name
	default:
		p, err := tree.ParsePath(name)
		if err != nil || p.IsRoot() {
			return fmt.Errorf("%w: i is no child path", fault.ErrQuery)
		}
		q.OrderBy = p.Clean()
	}
	return nil
}

// setListOrder sets an order by several child paths, an extension.
func setListOrder(q *tree.Query, i gjson.Result) (err error) {
	var paths []string
	err = eachOfFew(i, func(v gjson.Result) error {
		if v.Type != gjson.String {
			return errors.New("a list has strings, which are child paths")
		}
		paths = append(paths, v.String())
		return nil
	})
	if err == nil {
		q.OrderBy, err = tree.ListOrder(paths)
	}
	if err != nil {
		return fmt.Errorf("%w: i: %w", fault.ErrQuery, err)
	}
	return nil
}

// eachOfFew calls f for the elements of a list, which are not more than an order can have.
func eachOfFew(list gjson.Result, f func(gjson.Result) error) (err error) {
	n := 0
	list.ForEach(func(_, v gjson.Result) bool {
		if n++; n > tree.MaxOrder {
			err = fmt.Errorf("a list has at most %d elements", tree.MaxOrder)
		} else {
			err = f(v)
		}
		return err == nil
	})
	return err
}

// listBound reads the value of a bound that is a list.
func listBound(q tree.Query, list gjson.Result) (tree.Node, error) {
	var values []tree.Node
	err := eachOfFew(list, func(v gjson.Result) error {
		n, err := scalar(v)
		values = append(values, n)
		return err
	})
	if err != nil {
		return tree.Empty, err
	}
	return q.ListBound(values)
}

var errScalar = errors.New("must be a scalar")

// scalar reads a value of a bound.
func scalar(v gjson.Result) (tree.Node, error) {
	if v.IsObject() || v.IsArray() { // to parse it could take much memory
		return tree.Empty, errScalar
	}
	d, err := tree.Parse(v.Raw, 0, tree.Lenient)
	if err != nil {
		return tree.Empty, err
	}
	n, ok := d.Node()
	if !ok || n.IsObject() {
		return tree.Empty, errScalar
	}
	return n.Value(), nil
}

// setLimit reads l and vf. Without vf, a range that has a start keeps its first children, so
// q.Start has to be read before. Without l, vf means nothing.
func setLimit(q *tree.Query, o gjson.Result) error {
	l := o.Get("l")
	if !l.Exists() || l.Type == gjson.Null {
		return nil
	}
	if l.Type != gjson.Number || l.Num != float64(int32(l.Num)) || l.Num < 1 {
		return fmt.Errorf("%w: l must be a positive integer", fault.ErrQuery)
	}
	q.Limit = int(l.Num)
	switch vf := o.Get("vf"); {
	case vf.String() == "l":
	case vf.String() == "r":
		q.FromLast = true
	case !vf.Exists():
		q.FromLast = !q.Start.Set
	default:
		return fmt.Errorf("%w: vf must be l or r", fault.ErrQuery)
	}
	return nil
}

// parseBound reads sp, sn and sin, or ep, en and ein. A null value is a value;
// only absence means that there is no bound. A missing key is rank.
func parseBound(q tree.Query, o gjson.Result, side string, rank tree.KeyRank) (tree.Bound, error) {
	var b tree.Bound
	v := o.Get(side + "p")
	if !v.Exists() {
		return b, nil
	}
	read := scalar
	if v.IsArray() {
		read = func(v gjson.Result) (tree.Node, error) { return listBound(q, v) }
	}
	n, err := read(v)
	if err != nil {
		if err == errScalar {
			return b, fmt.Errorf("%w: %sp %w", fault.ErrQuery, side, err)
		}
		return b, fmt.Errorf("%w: %sp: %w", fault.ErrQuery, side, err)
	}
	b.Set, b.Value, b.KeyRank = true, n, rank
	if _, isString := b.Value.StringValue(); q.Order() == tree.ByKey && !isString {
		return b, fmt.Errorf("%w: %sp must be a key", fault.ErrQuery, side)
	}
	if in := o.Get(side + "in"); in.Exists() {
		b.Exclusive = !in.Bool()
	}
	setKey(&b, o.Get(side+"n"))
	if err := q.CheckBound(b); err != nil {
		return b, fmt.Errorf("%w: %sp: %w", fault.ErrQuery, side, err)
	}
	return b, nil
}

// setKey reads a bound's key or one of the names that stand for the ends of all
// keys; each SDK spells them its own way.
func setKey(b *tree.Bound, key gjson.Result) {
	if key.Type != gjson.String {
		return
	}
	switch name := key.String(); name {
	case "[MIN_NAME]", "[MIN_KEY]":
		b.KeyRank = tree.BeforeKeys
	case "[MAX_NAME]", "[MAX_KEY]":
		b.KeyRank = tree.AfterKeys
	default:
		b.KeyRank, b.Key = tree.AtKey, name
	}
}
