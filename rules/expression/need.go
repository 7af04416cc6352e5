package expression

import (
	"strings"

	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree"
)

// maxNeed bounds the text of a value that is needed: that of longer strings may be cut where
// orders are concerned.
const maxNeed = 256

// needOf returns what a conjunction needs: the first of its terms that compares a part of the
// node, or its key, with a constant, or else the first that looks for a word.
func needOf(x lang.Expr) tree.Need {
	b, ok := x.(*lang.Binary)
	switch {
	case !ok:
		return wordNeed(x)
	case b.Op == lang.And:
		left := needOf(b.X)
		if left.Order != "" && left.Word == "" {
			return left
		}
		if right := needOf(b.Y); right.Order != "" && (left.Order == "" || right.Word == "") {
			return right
		}
		return left
	case b.Op == lang.Eq:
		if _, ok := b.X.(*lang.Literal); ok {
			return equalNeed(b.Y, b.X)
		}
		return equalNeed(b.X, b.Y)
	}
	return tree.Need{}
}

// equalNeed returns what a comparison with a constant needs.
func equalNeed(part, constant lang.Expr) tree.Need {
	l, ok := constant.(*lang.Literal)
	if !ok {
		return tree.Need{}
	}
	var value tree.Node
	switch v := l.Value.(type) {
	case bool:
		value = tree.Bool(v)
	case float64:
		value = tree.Number(v)
	case string:
		value = tree.String(v)
	}
	if value.IsEmpty() || len(value.Text()) > maxNeed {
		return tree.Need{}
	}
	if v, ok := part.(*lang.Variable); ok {
		if _, isString := l.Value.(string); v.Name != "key" || !isString {
			return tree.Need{}
		}
		return tree.Need{Order: tree.ByKey, Value: value}
	}
	order := orderOf(part)
	if order == "" {
		return tree.Need{}
	}
	return tree.Need{Order: order, Value: value}
}

// wordNeed returns what the search for words needs: the first of them.
func wordNeed(x lang.Expr) tree.Need {
	of, ok := methodOf(x, "has", 1)
	if !ok {
		if of, ok = methodOf(x, "hasAll", 1); !ok {
			return tree.Need{}
		}
	}
	word := x.(*lang.Call).Args[0]
	if list, ok := word.(*lang.Array); ok {
		if len(list.Items) == 0 {
			return tree.Need{}
		}
		word = list.Items[0]
	}
	l, ok := word.(*lang.Literal)
	if !ok {
		return tree.Need{}
	}
	s, _ := l.Value.(string)
	if words := Words(s); len(words) > 0 {
		if of, ok = methodOf(of, "words", 0); ok {
			if order := orderOf(of); order != "" {
				return tree.Need{Order: order, Word: words[0]}
			}
		}
	}
	return tree.Need{}
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

// partOf returns the path of a part of the node, by child with constants.
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
