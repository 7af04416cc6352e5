package expression_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/rules/expression"
	"github.com/dogwooddb/dogwood/tree"
)

// needText describes needs: an order, the words or the range in it.
func needText(needs []tree.Need) string {
	var texts []string
	for _, n := range needs {
		order := n.Order
		if n.Part != nil {
			order = "{" + order + "}"
		}
		bound := func(b tree.Bound, sign string) string {
			switch b.KeyRank {
			case tree.BeforeKeys:
				return sign + b.Value.Text()
			case tree.AfterKeys:
				return b.Value.Text() + sign
			}
			return b.Value.Text()
		}
		if n.Word != "" {
			texts = append(texts, order+" has "+n.Word)
		} else {
			texts = append(texts, fmt.Sprintf("%s %s %s", order, bound(n.Start, "|"), bound(n.End, "|")))
		}
	}
	return strings.Join(texts, " or ")
}

func TestNeed(t *testing.T) {
	for src, want := range map[string]string{
		"data.child('a').val() == 'x'":                                                        `a |"x" "x"|`,
		"'x' == data.child('a').child('/b/').val()":                                           `a/b |"x" "x"|`,
		"data.val() == 5":                                                                     `.value |5 5|`,
		"data.exists() && (data.child('ok').val() == true && true)":                           `ok |true true|`,
		"key == 'k' && data.child('a').val() == 1":                                            `.key "k" "k"`,
		"data.child('t').val().words().has('Red Fox')":                                        `t has red`,
		"data.val().words().hasAll(['fox', 'x'])":                                             `.value has fox`,
		"data.child('t').val().words().has('x') && data.child('a').val()==1":                  `a |1 1|`,
		"data.child('t').val().words().has('x') && data.child('u').val().words().has('y')":    `t has x`,
		"data.child('a').val() > 1":                                                           `a 1| |""`,
		"data.child('a').val() >= -1.5":                                                       `a |-1.5 |""`,
		"1 > data.child('a').val()":                                                           `a true| |1`,
		"data.child('a').val() <= 'm'":                                                        `a |"" "m"|`,
		"'m' < data.child('a').val()":                                                         `a "m"| |{"a":1}`,
		"data.child('a').val() > 1 && data.child('a').val() <= 3 && data.exists()":            `a 1| 3|`,
		"data.child('a').val() > 1 && data.child('b').val() < 3 && 2 < data.child('b').val()": `b 2| |3`,
		"data.child('a').val() > 1 && data.child('t').val().words().has('x')":                 `t has x`,
		"data.child('a').val() == 9007199254740992":                                           `a |9007199254740991 9007199254740994|`,
		"data.child('a').val() < 9007199254740992":                                            `a true| 9007199254740994|`,
		"data.child('t').val().length > 7":                                                    `{data.child('t').val().length} 7| |""`,
		"data.child('t').val().toLowerCase() == 'x' && data.child('a').val() > 1":             `{data.child('t').val().toLowerCase()} |"x" "x"|`,
		"(data.child('a').val() + 3) % 100 < 10":                                              `{(data.child('a').val() + 3) % 100} true| |10`,
		"key > 'm' && data.child('key').val() < 'b'":                                          `key |"" |"b"`,
		"key > 'm'": `{key} "m"| |{"a":1}`,
		"data.child('a').val() == 1 || key == 'b'":                                  `a |1 1| or .key "b" "b"`,
		"(key == 'b' || data.val().words().has('x')) && data.child('a').val() >= 1": `.key "b" "b" or .value has x`,
		"data.child('a').val() != 1":                                                ``,
		"data.child('a').val() == null":                                             ``,
		"data.child('a').val() == 1 || data.exists()":                               ``,
		"key == '1' || key == '2' || key == '3' || key == '4' || key == '5'":        ``,
		"!(data.child('a').val() == 1)":                                             ``,
		"data.child('a').val() == data.child('b').val()":                            ``,
		"data.child(key).val() == 1":                                                `{data.child(key).val()} |1 1|`,
		"data.child('/').val() == 1":                                                `{data.child('/').val()} |1 1|`,
		"data.getPriority() == 1":                                                   `{data.getPriority()} |1 1|`,
		"key == 1 || true":                                                          ``,
		"data.val().words().hasAll([])":                                             ``,
		"data.val().words().has('')":                                                ``,
		"data.val().words().has(key)":                                               ``,
		"data.val().matches(/x/)":                                                   ``,
		"data.child('t').val().words().has('x') ? true:false":                       ``,
	} {
		f, err := expression.NewFilter(src, 0)
		if err != nil {
			t.Errorf("%s: %s", src, err.Msg)
			continue
		}
		if got := needText(f.Needs()); got != want {
			t.Errorf("%s needs %s, want %s", src, got, want)
		}
	}
}

// FuzzNeed: what a filter matches has what it needs.
func FuzzNeed(f *testing.F) {
	f.Add("data.child('a').val() == 2 && key != 'b'", "k", `{"a":2,"b":3}`)
	f.Add("data.child('a').val().words().has('x y')", "k", `{"a":"X  y"}`)
	f.Add("data.child('a').val() <= 9007199254740992", "k", `{"a":9007199254740993}`)
	f.Add("data.child('a').val() == 9007199254740992 || key > 'b'", "k", `{"a":9007199254740993}`)
	f.Add("data.val() >= 'b' && data.val() < 'c' || data.val() * 1e308 * 10 > 1", "k", `5`)
	f.Add("data.val().length > 2 && key <= 'x'", "k", `"a😀b"`)
	f.Fuzz(func(t *testing.T, src, key, json string) {
		filter, err := expression.NewFilter(src, 0)
		if err != nil || !tree.ValidKey(key) {
			return
		}
		n, failed := tree.ParseNode(json)
		if failed != nil || !matchesAlone(filter, key, n) {
			return
		}
		needs := filter.Needs()
		if has := func(need tree.Need) bool { return hasNeed(t, need, key, n) }; needs != nil && !slices.ContainsFunc(needs, has) {
			t.Fatalf("%q matches %s at %q and needs %s", src, json, key, needText(needs))
		}
	})
}

// hasNeed reports whether a child has what is needed.
func hasNeed(t *testing.T, need tree.Need, key string, n tree.Node) bool {
	q := tree.Query{OrderBy: need.Order, Start: need.Start, End: need.End}
	e := tree.Entry{Key: key}
	switch {
	case need.Word != "":
		text, _ := tree.IndexValue(need.Order, n).StringValue()
		return slices.Contains(expression.Words(text), need.Word)
	case need.Part != nil:
		v, known, _, err := need.Part.Value(tree.OneChild{Key: key, Child: n}, tree.Root, key, tree.MaxLooked)
		if err != nil || !known {
			return err == nil
		}
		q.OrderBy, e.Value = tree.ByValue, v
	case need.Order != tree.ByKey:
		e.Value = tree.IndexValue(need.Order, n)
	}
	return q.InRange(e)
}
