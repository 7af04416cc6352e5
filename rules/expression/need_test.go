package expression_test

import (
	"testing"

	"github.com/dogwooddb/dogwood/rules/expression"
	"github.com/dogwooddb/dogwood/tree"
)

func TestNeed(t *testing.T) {
	value := func(order, json string) tree.Need { return tree.Need{Order: order, Value: tree.MustParseNode(json)} }
	word := func(order, w string) tree.Need { return tree.Need{Order: order, Word: w} }
	for src, want := range map[string]tree.Need{
		"data.child('a').val() == 'x'":                                                     value("a", `"x"`),
		"'x' == data.child('a').child('/b/').val()":                                        value("a/b", `"x"`),
		"data.val() == 5":                                                                  value(tree.ByValue, "5"),
		"data.exists() && (data.child('ok').val() == true && true)":                        value("ok", "true"),
		"key == 'k' && data.child('a').val() == 1":                                         value(tree.ByKey, `"k"`),
		"data.child('t').val().words().has('Red Fox')":                                     word("t", "red"),
		"data.val().words().hasAll(['fox', 'x'])":                                          word(tree.ByValue, "fox"),
		"data.child('t').val().words().has('x') && data.child('a').val()==1":               value("a", "1"),
		"data.child('t').val().words().has('x') && data.child('u').val().words().has('y')": word("t", "x"),
		"data.child('a').val() > 1":                                                        {},
		"data.child('a').val() != 1":                                                       {},
		"data.child('a').val() == null":                                                    {},
		"data.child('a').val() == 1 || key == 'b'":                                         {},
		"!(data.child('a').val() == 1)":                                                    {},
		"data.child('a').val() == data.child('b').val()":                                   {},
		"data.child(key).val() == 1":                                                       {},
		"data.child('a.b').val() == 1":                                                     {},
		"data.child('/').val() == 1":                                                       {},
		"data.getPriority() == 1":                                                          {},
		"key == 1 || true":                                                                 {},
		"data.val().words().hasAll([])":                                                    {},
		"data.val().words().has('')":                                                       {},
		"data.val().toLowerCase() == 'x'":                                                  {},
		"data.val().words().has(key)":                                                      {},
		"data.child('t').val().words().has('x') ? true:false":                              {},
	} {
		f, err := expression.NewFilter(src, 0)
		if err != nil {
			t.Errorf("%s: %s", src, err.Msg)
			continue
		}
		if got := f.Need(); got != want {
			t.Errorf("%s needs %+v, want %+v", src, got, want)
		}
	}
}

// FuzzNeed: what a filter matches has what it needs.
func FuzzNeed(f *testing.F) {
	f.Add("data.child('a').val() == 2 && key != 'b'", "k", `{"a":2,"b":3}`)
	f.Add("data.child('a').val().words().has('x y')", "k", `{"a":"X  y"}`)
	f.Fuzz(func(t *testing.T, src, key, json string) {
		filter, err := expression.NewFilter(src, 0)
		if err != nil || !tree.ValidKey(key) {
			return
		}
		n, failed := tree.ParseNode(json)
		if failed != nil || !(tree.Query{Filter: filter}).Matches(key, n) {
			return
		}
		switch need := filter.Need(); {
		case need.Order == "":
		case need.Word != "":
			text, _ := tree.IndexValue(need.Order, n).StringValue()
			for _, w := range expression.Words(text) {
				if w == need.Word {
					return
				}
			}
			t.Fatalf("%q matches %s without the word %q", src, json, need.Word)
		case need.Order == tree.ByKey:
			if k, _ := need.Value.StringValue(); k != key {
				t.Fatalf("%q matches the key %q", src, key)
			}
		default:
			if v := tree.IndexValue(need.Order, n); tree.CompareValues(v, need.Value) != 0 {
				t.Fatalf("%q matches %s, where %s is %s", src, json, need.Order, v.JSON())
			}
		}
	})
}
