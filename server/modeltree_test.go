package server

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// A refNode is the reference for the model test: a tree of plain maps, written
// without any code of package tree. nil is the absent node.
type refNode struct {
	leaf     any // bool, float64 or string; nil for an object
	priority any // float64, string or nil
	kids     map[string]*refNode
}

// refParse reads decoded JSON in export form, without server values.
func refParse(v any) *refNode {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		n := &refNode{kids: map[string]*refNode{}}
		for i, x := range v {
			n.put(strconv.Itoa(i), refParse(x))
		}
		return n.orNil()
	case map[string]any:
		priority := v[".priority"]
		if leaf, ok := v[".value"]; ok && leaf != nil {
			n := refParse(leaf)
			n.priority = priority
			return n
		}
		n := &refNode{kids: map[string]*refNode{}, priority: priority}
		for k, x := range v {
			if !strings.HasPrefix(k, ".") {
				n.put(k, refParse(x))
			}
		}
		return n.orNil()
	}
	return &refNode{leaf: v}
}

func (n *refNode) put(key string, kid *refNode) {
	if kid == nil {
		delete(n.kids, key)
	} else {
		n.kids[key] = kid
	}
}

func (n *refNode) orNil() *refNode {
	if n.leaf == nil && len(n.kids) == 0 {
		return nil
	}
	return n
}

func (n *refNode) get(path []string) *refNode {
	for _, key := range path {
		if n == nil || n.leaf != nil {
			return nil
		}
		n = n.kids[key]
	}
	return n
}

// with returns a tree in which v is at the path. Nothing is shared that is
// changed later.
func (n *refNode) with(path []string, v *refNode) *refNode {
	if len(path) == 0 {
		return v
	}
	if path[0] == ".priority" {
		if n == nil {
			return nil
		}
		c := *n
		c.priority = nil
		if v != nil {
			c.priority = v.leaf
		}
		return &c
	}
	c := &refNode{kids: map[string]*refNode{}}
	if n != nil {
		if n.leaf != nil && v == nil {
			return n
		}
		c.priority = n.priority
		for k, kid := range n.kids {
			c.kids[k] = kid
		}
	}
	c.put(path[0], c.kids[path[0]].with(path[1:], v))
	if n != nil && n.leaf != nil && len(c.kids) == 0 {
		return n // nothing was written below the leaf
	}
	return c.orNil()
}

// export returns the node as decoded JSON in export form.
func (n *refNode) export() any {
	if n == nil {
		return nil
	}
	if n.leaf != nil {
		if n.priority == nil {
			return n.leaf
		}
		return map[string]any{".value": n.leaf, ".priority": n.priority}
	}
	m := map[string]any{}
	for k, kid := range n.kids {
		m[k] = kid.export()
	}
	if n.priority != nil {
		m[".priority"] = n.priority
	}
	return m
}

// plain returns the node as decoded JSON as REST shows it.
func (n *refNode) plain() any {
	if n == nil {
		return nil
	}
	if n.leaf != nil {
		return n.leaf
	}
	m := map[string]any{}
	most, array := 0, true
	for k, kid := range n.kids {
		m[k] = kid.plain()
		i, err := strconv.Atoi(k)
		array = array && err == nil && i >= 0 && strconv.Itoa(i) == k
		most = max(most, i)
	}
	if !array || most >= 2*len(n.kids) {
		return m
	}
	list := make([]any, most+1)
	for k, v := range m {
		i, _ := strconv.Atoi(k)
		list[i] = v
	}
	return list
}

// A refQuery is a query over the reference.
type refQuery struct {
	order      string // "$key", "$value", "$priority" or a child path
	start, end *refBound
	limit      int
	last       bool
}

type refBound struct {
	value     any
	key       *string // nil: all keys of the value
	exclusive bool
}

type refEntry struct {
	key   string
	value any
}

func (q refQuery) index(key string, n *refNode) refEntry {
	e := refEntry{key: key}
	switch q.order {
	case "$key":
	case "$priority":
		e.value = n.priority
	case "$value":
		e.value = n.indexValue()
	default:
		e.value = n.get(strings.Split(q.order, "/")).indexValue()
	}
	return e
}

func (n *refNode) indexValue() any {
	switch {
	case n == nil:
		return nil
	case n.leaf == nil:
		return map[string]any{}
	}
	return n.leaf
}

// apply returns the node with only the children of the window.
func (q refQuery) apply(n *refNode) *refNode {
	if n == nil || n.leaf != nil {
		if q.start == nil && q.end == nil && q.limit == 0 {
			return n
		}
		return nil
	}
	var in []refEntry
	for k, kid := range n.kids {
		if e := q.index(k, kid); q.inside(e) {
			in = append(in, e)
		}
	}
	slices.SortFunc(in, refCompare)
	if q.limit > 0 && len(in) > q.limit {
		if q.last {
			in = in[len(in)-q.limit:]
		} else {
			in = in[:q.limit]
		}
	}
	w := &refNode{kids: map[string]*refNode{}, priority: n.priority}
	for _, e := range in {
		w.kids[e.key] = n.kids[e.key]
	}
	return w.orNil()
}

func (q refQuery) inside(e refEntry) bool {
	if q.start != nil {
		if c := q.start.compare(q.order, e); c < 0 || c == 0 && q.start.exclusive {
			return false
		}
	}
	if q.end != nil {
		if c := q.end.compare(q.order, e); c > 0 || c == 0 && q.end.exclusive {
			return false
		}
	}
	return true
}

func (b *refBound) compare(order string, e refEntry) int {
	if order == "$key" {
		return refKeys(e.key, b.value.(string))
	}
	if c := refValues(e.value, b.value); c != 0 || b.key == nil {
		return c
	}
	return refKeys(e.key, *b.key)
}

func refCompare(a, b refEntry) int {
	return cmp.Or(refValues(a.value, b.value), refKeys(a.key, b.key))
}

func refValues(a, b any) int {
	class := func(v any) int {
		switch v := v.(type) {
		case nil:
			return 0
		case bool:
			if v {
				return 2
			}
			return 1
		case float64:
			return 3
		case string:
			return 4
		}
		return 5
	}
	if c := cmp.Compare(class(a), class(b)); c != 0 {
		return c
	}
	switch a := a.(type) {
	case float64:
		return cmp.Compare(a, b.(float64))
	case string:
		return refStrings(a, b.(string))
	}
	return 0
}

func refStrings(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

func refKeys(a, b string) int {
	x, aInt := refInteger(a)
	y, bInt := refInteger(b)
	switch {
	case aInt && bInt:
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	case aInt:
		return -1
	case bInt:
		return 1
	}
	return refStrings(a, b)
}

func refInteger(s string) (int64, bool) {
	if strings.HasPrefix(s, "+") || strings.TrimLeft(s, "-0123456789") != "" {
		return 0, false
	}
	i, err := strconv.ParseInt(s, 10, 64)
	return i, err == nil && i >= math.MinInt32 && i <= math.MaxInt32
}

// refDecode decodes a JSON answer.
func refDecode(text []byte) (any, error) {
	var v any
	err := json.Unmarshal(text, &v)
	return v, err
}
