package expression

import (
	"math"
	"strings"

	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree"
)

// maxNeed bounds the text of a value that is needed: that of longer strings may be cut where
// orders are concerned. maxNeeds is how many needs a filter may have: a write looks for each.
const (
	maxNeed  = 256
	maxNeeds = 4
)

// needsOf returns what a condition needs: a part of the node, or its key, that compares with a
// constant, or a word. Of the terms of a conjunction it is that of the one that leaves least; a
// disjunction needs what one of its terms does.
//
// Listeners with filters are found by needs: a write that changes type to 'private' does not
// look at those whose filter has data.child('type').val() == 'public'. A need is necessary and
// not sufficient. It may be too wide, never too narrow, or a listener would miss an event. So
// whatever is not understood here returns nil, which means that nothing is known: then each
// write to a child asks the filter.
func needsOf(x lang.Expr) []tree.Need {
	b, ok := x.(*lang.Binary)
	if !ok {
		return wordNeed(x)
	}
	switch b.Op {
	case lang.And:
		return narrowest(termsOf(b, nil))
	case lang.Or:
		left, right := needsOf(b.X), needsOf(b.Y)
		if left == nil || right == nil || len(left)+len(right) > maxNeeds {
			return nil
		}
		return append(left, right...)
	}
	if n, ok := constant(b.X); ok {
		return comparedNeed(mirrored(b.Op), b.Y, n)
	}
	if n, ok := constant(b.Y); ok {
		return comparedNeed(b.Op, b.X, n)
	}
	return nil
}

// mirrored returns the operator that compares as op does with the sides in the other order: 5 < x
// is x > 5. It relies on lang having Lt, Le, Gt, Ge in that order.
func mirrored(op lang.Op) lang.Op {
	switch op {
	case lang.Lt, lang.Le:
		return op + (lang.Gt - lang.Lt)
	case lang.Gt, lang.Ge:
		return op - (lang.Gt - lang.Lt)
	}
	return op
}

// termsOf adds what each term of a conjunction needs. Ranges of one order are one: x > 3 && x < 9
// is a range with two ends. nil is in the list for a term that needs nothing known.
func termsOf(x lang.Expr, list [][]tree.Need) [][]tree.Need {
	if b, ok := x.(*lang.Binary); ok && b.Op == lang.And {
		return termsOf(b.Y, termsOf(b.X, list))
	}
	needs := needsOf(x)
	if len(needs) == 1 && isRange(needs[0]) {
		for _, other := range list {
			if len(other) == 1 && isRange(other[0]) && other[0].Order == needs[0].Order && (other[0].Part == nil) == (needs[0].Part == nil) {
				other[0] = within(other[0], needs[0])
				return list
			}
		}
	}
	return append(list, needs)
}

// narrowest returns those needs that the fewest children have, roughly.
func narrowest(terms [][]tree.Need) (needs []tree.Need) {
	for _, n := range terms {
		if n != nil && (needs == nil || width(n) < width(needs)) {
			needs = n
		}
	}
	return needs
}

// isRange reports whether a need is a range of values, and not a word or a key.
func isRange(n tree.Need) bool { return n.Word == "" && n.Start.KeyRank != tree.AtKey }

// within returns x, whose range is made narrower by that of y. It may become empty, with its start
// behind its end: no child matches such a filter.
func within(x, y tree.Need) tree.Need {
	if c := tree.CompareValues(x.Start.Value, y.Start.Value); c < 0 || c == 0 && x.Start.KeyRank < y.Start.KeyRank {
		x.Start = y.Start
	}
	if c := tree.CompareValues(x.End.Value, y.End.Value); c > 0 || c == 0 && x.End.KeyRank > y.End.KeyRank {
		x.End = y.End
	}
	return x
}

// width returns roughly how much a filter leaves with needs: one value, a word, a range with two
// ends, with one. Parts that have to be evaluated come behind those that are read.
func width(needs []tree.Need) (w int) {
	for _, n := range needs {
		k := 6
		switch {
		case n.Word != "":
			k = 2
		case n.Start.Value == n.End.Value:
			k = 0
		case !outermost(n.Start) && !outermost(n.End):
			k = 4
		}
		if n.Part != nil {
			k++
		}
		w = max(w, k)
	}
	return w
}

// The bounds of all numbers and of all strings in an order: booleans come before numbers, and
// objects come behind strings.
var (
	beforeNumbers = tree.Bound{Set: true, Value: tree.Bool(true), KeyRank: tree.AfterKeys}
	beforeStrings = tree.Bound{Set: true, Value: tree.String(""), KeyRank: tree.BeforeKeys}
	behindStrings = tree.Bound{Set: true, Value: tree.FromCanonical(`{"a":1}`), KeyRank: tree.BeforeKeys}
)

func outermost(b tree.Bound) bool {
	return b == beforeNumbers || b == beforeStrings || b == behindStrings
}

// comparedNeed returns what a part needs that an operator compares with a constant.
//
// Four kinds of parts: the key with ==, which is the order by key; a value of the node, which is
// the order by child or value; anything else, which is a Part that is evaluated; and a part
// whose type cannot be stored, for which the result is nil. The key with < is a Part, too: filters
// compare it as a text, but the order by key has integers first.
func comparedNeed(op lang.Op, part lang.Expr, n tree.Node) []tree.Need {
	need := tree.Need{Order: orderOf(part)}
	isKey := false
	if v, ok := part.(*lang.Variable); ok {
		isKey = v.Name == "key" && op == lang.Eq
	}
	_, isString := n.StringValue()
	_, isBool := n.BoolValue()
	at := tree.Bound{Set: true, Value: n}
	switch {
	case isKey && isString:
		return []tree.Need{{Order: tree.ByKey, Start: at, End: at}}
	case isKey:
		return nil
	case need.Order == "":
		text, p, ok := partOfFilter(part)
		if !ok {
			return nil
		}
		need.Order, need.Part = text, p
	}
	least, most := at, at
	least.KeyRank, most.KeyRank = tree.BeforeKeys, tree.AfterKeys
	if f, ok := n.NumberValue(); ok && math.Abs(f) >= 1<<53 { // others are the same number in an expression
		least.Value, most.Value = tree.Number(math.Nextafter(f, math.Inf(-1))), tree.Number(math.Nextafter(f, math.Inf(1)))
	}
	need.Start, need.End = beforeNumbers, beforeStrings
	if isString {
		need.Start, need.End = beforeStrings, behindStrings
	}
	exact := least.Value == most.Value
	switch {
	case op == lang.Eq:
		need.Start, need.End = least, most
		return []tree.Need{need}
	case isBool:
		return nil
	case op == lang.Lt && exact:
		need.End = tree.Bound{Set: true, Value: n, KeyRank: tree.BeforeKeys}
	case op == lang.Lt, op == lang.Le:
		need.End = most
	case op == lang.Gt && exact:
		need.Start = tree.Bound{Set: true, Value: n, KeyRank: tree.AfterKeys}
	case op == lang.Gt, op == lang.Ge:
		need.Start = least
	default:
		return nil
	}
	return []tree.Need{need}
}

// constant returns the value of a literal, or of the negative of one.
func constant(x lang.Expr) (n tree.Node, ok bool) {
	sign := 1.0
	if u, ok := x.(*lang.Unary); ok && u.Op == lang.Neg {
		x, sign = u.X, -1
	}
	l, ok := x.(*lang.Literal)
	if !ok {
		return n, false
	}
	switch v := l.Value.(type) {
	case float64:
		if v *= sign; !math.IsInf(v, 0) {
			n = tree.Number(v)
		}
	case bool:
		n = tree.Bool(v)
	case string:
		n = tree.String(v)
	}
	return n, !n.IsEmpty() && len(n.Text()) <= maxNeed
}

// wordNeed returns what the search for words needs: the first of them. A text with all of several
// words has that one, so it is enough; the filter itself looks for the others.
func wordNeed(x lang.Expr) []tree.Need {
	of, ok := methodOf(x, "has", 1)
	if !ok {
		if of, ok = methodOf(x, "hasAll", 1); !ok {
			return nil
		}
	}
	word := x.(*lang.Call).Args[0]
	if list, ok := word.(*lang.Array); ok {
		if len(list.Items) == 0 {
			return nil
		}
		word = list.Items[0]
	}
	l, ok := word.(*lang.Literal)
	if !ok {
		return nil
	}
	s, _ := l.Value.(string)
	if words := Words(s); len(words) > 0 {
		if of, ok = methodOf(of, "words", 0); ok {
			if order := orderOf(of); order != "" {
				return []tree.Need{{Order: order, Word: words[0]}}
			}
		}
	}
	return nil
}

// orderOf returns the order by what x yields, the value of a part of the node; "": it yields
// something else.
func orderOf(x lang.Expr) string {
	of, ok := methodOf(x, "val", 0)
	if !ok {
		return ""
	}
	switch p, ok := partOf(of); {
	case !ok:
		return ""
	case p.IsRoot():
		return tree.ByValue
	default:
		return p.Clean()
	}
}

// partOf returns the path of a part of the node, by child with constants: of
// data.child('a').child('b/c') it is a/b/c. Computed names have no order of queries.
func partOf(x lang.Expr) (p tree.Path, ok bool) {
	if v, ok := x.(*lang.Variable); ok {
		return tree.Root, v.Name == "data"
	}
	of, ok := methodOf(x, "child", 1)
	if !ok {
		return p, false
	}
	above, ok := partOf(of)
	if !ok {
		return p, false
	}
	l, ok := x.(*lang.Call).Args[0].(*lang.Literal)
	if !ok {
		return p, false
	}
	key, _ := l.Value.(string)
	rel, err := tree.ParsePath(key)
	if err != nil || strings.Trim(key, "/") == "" || above.Len()+rel.Len() > tree.MaxDepth {
		return p, false
	}
	return above.Join(rel), true
}

// methodOf returns of what x calls a method.
func methodOf(x lang.Expr, name string, args int) (of lang.Expr, ok bool) {
	c, ok := x.(*lang.Call)
	if !ok || len(c.Args) != args {
		return nil, false
	}
	m, ok := c.Fun.(*lang.Member)
	if !ok || m.Name != name {
		return nil, false
	}
	return m.X, true
}
