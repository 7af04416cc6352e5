package derive_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/dogwooddb/dogwood/tree"
)

// A naive definition says the same as the text of a definition, in Go.
type naive struct {
	name, kind string
	source     []string // keys, "*" for captures; of keep: the list
	target     []string // "*" where a key is computed; nil for none
	level      int
	place      func(keys []string, n tree.Node) (string, bool)
	value      func(keys []string, n tree.Node) tree.Node // Empty: it does not match
	where      func(n tree.Node) bool
	unique     bool
	n          int
	query      tree.Query
	last       bool
	copies     []string // of keep: where children go
	text       string
}

// A computed is an expression and what it means.
type computed struct {
	text string
	do   func(keys []string, n tree.Node) tree.Node
}

var computations = []computed{
	{`true`, func([]string, tree.Node) tree.Node { return tree.Bool(true) }},
	{`"= data.child('w').val()"`, func(_ []string, n tree.Node) tree.Node { return leafOnly(n.Child("w")) }},
	{`"= $x"`, func(keys []string, _ tree.Node) tree.Node { return tree.String(keys[1]) }},
	{`{"w": "= data.child('w').val()", "c": 1}`, func(_ []string, n tree.Node) tree.Node {
		if n.Child("w").IsObject() {
			return tree.Empty // the expression fails
		}
		return tree.Empty.With(tree.MustParsePath("c"), tree.Number(1)).With(tree.MustParsePath("w"), n.Child("w"))
	}},
}

func leafOnly(n tree.Node) tree.Node {
	if n.IsObject() {
		return tree.Empty
	}
	return n.Value()
}

var conditions = []struct {
	text string
	do   func(n tree.Node) bool
}{
	{"", func(tree.Node) bool { return true }},
	{`, "where": "data.child('ok').val() == true"`, func(n tree.Node) bool { return n.Child("ok").Value() == tree.Bool(true) }},
	{`, "where": "data.child('n').val() > 1"`, func(n tree.Node) bool { f, ok := n.Child("n").NumberValue(); return ok && f > 1 }},
}

func joined(keys ...string) string { return strings.Join(keys, "/") }

// drawDefinitions draws definitions whose targets do not meet.
func drawDefinitions(t *rapid.T) (list []naive) {
	all := []func(string) naive{
		func(c string) naive { // an inverse index
			v := rapid.SampledFrom(computations).Draw(t, "value")
			return naive{kind: "map", source: []string{"a", "*", "*"}, target: []string{"u", "*", "inv", "*"}, value: v.do,
				place: func(k []string, _ tree.Node) (string, bool) { return joined("u", k[2], "inv", k[1]), true },
				text:  `"map": "/a/$x/$y", "to": "/u/$y/inv/$x", "value": ` + v.text + c}
		},
		func(c string) naive { // a place of several sources, or of one
			unique := rapid.Bool().Draw(t, "unique")
			return naive{kind: "map", source: []string{"a", "*", "*"}, target: []string{"names", "*"}, unique: unique,
				value: computations[2].do, place: byKey("names", "w"),
				text: fmt.Sprintf(`"map": "/a/$x/$y", "to": "/names/{data.child('w').val()}", "value": "= $x", "unique": %t`, unique) + c}
		},
		func(c string) naive { // counted whole if there is no condition
			return naive{kind: "count", source: []string{"a", "*", "*"}, target: []string{"u", "*", "total"}, value: one,
				place: func(k []string, _ tree.Node) (string, bool) { return joined("u", k[1], "total"), true },
				text:  `"count": "/a/$x/$y", "to": "/u/$x/total"` + c}
		},
		func(c string) naive { // grouped by what nodes hold
			return naive{kind: "count", source: []string{"a", "*", "*"}, target: []string{"by", "*"}, value: one,
				place: byKey("by", "w"), text: `"count": "/a/$x/$y", "to": "/by/{data.child('w').val()}"` + c}
		},
		func(c string) naive {
			return naive{kind: "sum", source: []string{"a", "*", "*"}, target: []string{"sums", "*"},
				value: func(_ []string, n tree.Node) tree.Node {
					if _, ok := n.Child("n").NumberValue(); ok {
						return n.Child("n").Value()
					}
					return tree.Empty
				},
				place: func(k []string, _ tree.Node) (string, bool) { return joined("sums", k[2]), true },
				text:  `"sum": "/a/$x/$y", "of": "= data.child('n').val()", "to": "/sums/$y"` + c}
		},
		func(string) naive { return drawKeep(t) },
		func(c string) naive { // follows from the list that is bounded
			return naive{kind: "count", level: 1, source: []string{"h", "*", "*"}, target: []string{"u", "*", "kept"}, value: one,
				place: func(k []string, _ tree.Node) (string, bool) { return joined("u", k[1], "kept"), true },
				text:  `"count": "/h/$x/$y", "to": "/u/$x/kept"` + c}
		},
		func(string) naive { // follows from the inverse index
			return naive{kind: "count", level: 1, source: []string{"u", "*", "inv", "*"}, target: []string{"second", "*"}, value: one,
				place: func(k []string, _ tree.Node) (string, bool) { return joined("second", k[1]), true },
				text:  `"count": "/u/$x/inv/$y", "to": "/second/$x"`}
		},
		func(string) naive { // follows from that count
			return naive{kind: "map", level: 2, source: []string{"second", "*"}, target: []string{"third", "*"},
				value: func(_ []string, n tree.Node) tree.Node { return leafOnly(n) },
				place: func(k []string, _ tree.Node) (string, bool) { return joined("third", k[1]), true },
				text:  `"map": "/second/$x", "to": "/third/$x", "value": "= data.val()"`}
		},
	}
	for i, make := range all {
		if !rapid.Bool().Draw(t, "there") {
			continue
		}
		c := rapid.SampledFrom(conditions).Draw(t, "where")
		d := make(c.text)
		d.name, d.where = fmt.Sprintf("d%d", i), func(tree.Node) bool { return true }
		if strings.HasSuffix(d.text, c.text) {
			d.where = c.do
		}
		list = append(list, d)
	}
	return list
}

func one([]string, tree.Node) tree.Node { return tree.Number(1) }

// byKey is the place below a key that a child of the node names.
func byKey(above, child string) func([]string, tree.Node) (string, bool) {
	return func(_ []string, n tree.Node) (string, bool) {
		v := leafOnly(n.Child(child))
		key, ok := v.StringValue()
		if !ok {
			key = v.Text()
		}
		return joined(above, key), tree.ValidKey(key)
	}
}

func drawKeep(t *rapid.T) naive {
	order := rapid.SampledFrom([]string{tree.ByKey, tree.ByValue, "n"}).Draw(t, "by")
	n, drop, copyTo := rapid.IntRange(1, 3).Draw(t, "n"), rapid.SampledFrom([]string{"first", "last"}).Draw(t, "drop"), ""
	d := naive{kind: "keep", source: []string{"h", "*"}, n: n, query: tree.Query{OrderBy: order}, last: drop == "last"}
	if rapid.Bool().Draw(t, "copy") {
		copyTo = `, "copyTo": "/old/$x"`
		d.copies = []string{"old", "*", "*"}
		d.place = func(k []string, _ tree.Node) (string, bool) { return joined("old", k[1], k[2]), true }
	}
	d.text = fmt.Sprintf(`"keep": %d, "at": "/h/$x", "by": %q, "drop": %q%s`, n, order, drop, copyTo)
	return d
}

// document returns the text of definitions.
func document(list []naive) string {
	var b strings.Builder
	for _, d := range list {
		fmt.Fprintf(&b, "%q: {%s},\n", d.name, d.text)
	}
	return `{"format": "dogwood-data/1", "define": {` + b.String() + `}}`
}

// matches yields the nodes that a pattern matches, with their keys.
func matches(n tree.Node, p []string, keys []string, f func(keys []string, n tree.Node)) {
	switch {
	case n.IsEmpty():
	case len(p) == 0:
		f(keys, n)
	case p[0] != "*":
		matches(n.Child(p[0]), p[1:], append(slices.Clone(keys), p[0]), f)
	default:
		for key, child := range n.Children() {
			matches(child, p[1:], append(slices.Clone(keys), key), f)
		}
	}
}

// settle derives everything anew: t is the tree with the clean writes done. ok is false if a place
// would have two sources or values.
func settle(list []naive, t tree.Node) (after tree.Node, sources map[string]map[string]int, ok bool) {
	for _, d := range list {
		matches(t, d.target, nil, func(keys []string, _ tree.Node) {
			if d.target != nil {
				t = t.With(tree.MustParsePath(joined(keys...)), tree.Empty)
			}
		})
	}
	sources, ok = make(map[string]map[string]int), true
	for level := range 3 {
		for _, d := range list {
			switch {
			case d.level != level:
			case d.kind == "keep":
				t = d.trim(t)
			default:
				var fine bool
				t, sources[d.name], fine = d.put(t)
				ok = ok && fine
			}
		}
	}
	return t, sources, ok
}

// put sets the targets of one definition.
func (d naive) put(t tree.Node) (tree.Node, map[string]int, bool) {
	values, counts, ok := make(map[string]tree.Node), make(map[string]int), true
	matches(t, d.source, nil, func(keys []string, n tree.Node) {
		place, found := d.place(keys, n)
		v := d.value(keys, n)
		if !found || v.IsEmpty() || !d.where(n) {
			return
		}
		old, there := values[place]
		counts[place]++
		switch {
		case d.kind != "map":
			a, _ := old.NumberValue()
			b, _ := v.NumberValue()
			v = tree.Number(a + b)
		case there && (d.unique || old != v):
			ok = false
		}
		values[place] = v
	})
	for _, place := range slices.Sorted(maps.Keys(values)) {
		v := values[place]
		if v != tree.Number(0) || d.kind == "map" {
			t = t.With(tree.MustParsePath(place), v)
		}
	}
	return t, counts, ok
}

// trim bounds the lists of a keep.
func (d naive) trim(t tree.Node) tree.Node {
	whole := t
	matches(whole, d.source, nil, func(keys []string, n tree.Node) {
		entries := d.query.Entries(n)
		excess := max(len(entries)-d.n, 0)
		gone := entries[:excess]
		if d.last {
			gone = entries[len(entries)-excess:]
		}
		for _, e := range gone {
			at := append(slices.Clone(keys), e.Key)
			t = t.With(tree.MustParsePath(joined(at...)), tree.Empty)
			if d.place != nil {
				to, _ := d.place(at, n)
				t = t.With(tree.MustParsePath(to), n.Child(e.Key))
			}
		}
	})
	return t
}

// clean takes out of writes what they say about targets: it is not so, or follows anyway.
func clean(list []naive, writes []tree.ResolvedWrite) (cleaned []tree.ResolvedWrite) {
	for _, w := range writes {
		about := false
		for _, d := range list {
			keys := slices.Collect(w.Path.Keys())
			switch {
			case d.target == nil || !d.concerns(keys):
			case len(keys) >= len(d.target):
				about = true
			default:
				matches(w.Node, d.target[len(keys):], nil, func(keys []string, _ tree.Node) {
					w.Node = w.Node.With(tree.MustParsePath(joined(keys...)), tree.Empty)
				})
			}
		}
		if !about {
			cleaned = append(cleaned, w)
		}
	}
	return cleaned
}

// concerns reports whether a path may be at, above or below a target.
func (d naive) concerns(keys []string) bool {
	for i := range min(len(keys), len(d.target)) {
		if d.target[i] != "*" && d.target[i] != keys[i] {
			return false
		}
	}
	return true
}

// contradicts reports whether a client's write says something about a target that is not so
// in the end.
func contradicts(list []naive, writes []tree.ResolvedWrite, after tree.Node) bool {
	for _, d := range list {
		for _, w := range writes {
			if d.copies != nil && (naive{target: d.copies}).overLeaf(w, after) || d.target != nil && d.contradicted(w, after) {
				return true
			}
		}
	}
	return false
}

func (d naive) contradicted(w tree.ResolvedWrite, after tree.Node) (no bool) {
	keys := slices.Collect(w.Path.Keys())
	if !d.concerns(keys) {
		return false
	}
	if len(keys) >= len(d.target) {
		return !d.agrees(after.Get(w.Path), w.Node, len(keys) == len(d.target))
	}
	matches(w.Node, d.target[len(keys):], keys, func(keys []string, n tree.Node) {
		no = no || !d.agrees(after.Get(tree.MustParsePath(joined(keys...))), n, true)
	})
	return no || d.overLeaf(w, after)
}

// agrees reports whether what is said about a place, or about one below it, follows. That
// nothing counts for a place may be said by 0.
func (d naive) agrees(follows, said tree.Node, place bool) bool {
	zero := place && (d.kind == "count" || d.kind == "sum") && follows.IsEmpty() && said == tree.Number(0)
	return follows == said || zero
}

// overLeaf reports whether a place of the target is below a leaf that is written.
func (d naive) overLeaf(w tree.ResolvedWrite, after tree.Node) (no bool) {
	keys := slices.Collect(w.Path.Keys())
	if !d.concerns(keys) || len(keys) >= len(d.target) {
		return false
	}
	matches(after.Get(w.Path), d.target[len(keys):], nil, func(keys []string, _ tree.Node) {
		n := w.Node
		for _, key := range keys {
			no = no || n.IsLeaf()
			n = n.Child(key)
		}
	})
	return no
}
