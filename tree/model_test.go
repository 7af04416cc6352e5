package tree

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// The model of a node is what encoding/json makes of its export form: nil,
// bool, float64, string or map[string]any. This file has the operations of
// package tree on models, written as plainly as possible, and properties that
// compare the two.

type object = map[string]any

// normal returns a model without nulls, empty objects and arrays, and with
// .value only where there is a priority.
func normal(v any) any {
	switch v := v.(type) {
	case []any:
		o := object{}
		for i, e := range v {
			o[fmt.Sprint(i)] = e
		}
		return normal(o)
	case object:
		if leaf, ok := v[".value"]; ok {
			return withPriority(leaf, v[".priority"])
		}
		o := object{}
		for key, child := range v {
			if child = normal(child); child != nil && key != ".priority" {
				o[key] = child
			}
		}
		return withPriority(withoutEmpty(o), v[".priority"])
	}
	return v
}

func withoutEmpty(o object) any {
	if len(children(o)) == 0 {
		return nil
	}
	return o
}

func children(v any) object {
	o, _ := v.(object)
	o = maps.Clone(o)
	delete(o, ".priority")
	delete(o, ".value")
	return o
}

func priorityOf(v any) any {
	o, _ := v.(object)
	return o[".priority"]
}

func valueOf(v any) any {
	if o, ok := v.(object); ok && o[".value"] != nil {
		return o[".value"]
	} else if ok {
		return children(o)
	}
	return v
}

func withPriority(v, p any) any {
	v = valueOf(v)
	if v == nil || p == nil {
		return v
	}
	if o, ok := v.(object); ok {
		o[".priority"] = p
		return o
	}
	return object{".value": v, ".priority": p}
}

// with is Node.With.
func with(v any, path []string, leaf any) any {
	if len(path) == 0 {
		return leaf
	}
	o := children(v)
	if o == nil {
		o = object{}
	}
	child := with(o[path[0]], path[1:], leaf)
	if child == nil && len(o) == 0 {
		return v // null below a leaf or below nothing
	}
	if o[path[0]] = child; child == nil {
		delete(o, path[0])
	}
	return withPriority(withoutEmpty(o), priorityOf(v))
}

func get(v any, path []string) any {
	for _, key := range path {
		v = children(v)[key]
	}
	return v
}

var integerKey = regexp.MustCompile(`^-?0*\d{1,10}$`)

// asInteger is the JS SDK's tryParseInt.
func asInteger(key string) (*big.Int, bool) {
	if !integerKey.MatchString(key) {
		return nil, false
	}
	i, _ := new(big.Int).SetString(key, 10)
	return i, i.IsInt64() && i.Int64() >= math.MinInt32 && i.Int64() <= math.MaxInt32
}

func compareKeysModel(a, b string) int {
	x, xInt := asInteger(a)
	y, yInt := asInteger(b)
	switch {
	case xInt && yInt:
		if c := x.Cmp(y); c != 0 {
			return c
		}
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	case xInt:
		return -1
	case yInt:
		return 1
	}
	return compareUTF16Model(a, b)
}

func compareUTF16Model(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

func compareValuesModel(a, b any) int {
	rank := func(v any) int {
		switch v := v.(type) {
		case bool:
			if v {
				return 2
			}
			return 1
		case float64:
			return 3
		case string:
			return 4
		case object:
			return 5
		}
		return 0
	}
	a, b = valueOf(a), valueOf(b)
	if c := rank(a) - rank(b); c != 0 {
		return c
	}
	switch a := a.(type) {
	case float64:
		if b := b.(float64); a != b {
			if a < b {
				return -1
			}
			return 1
		}
	case string:
		return compareUTF16Model(a, b.(string))
	}
	return 0
}

// plain is AppendPlain.
func plain(v any) any {
	v = valueOf(v)
	o, ok := v.(object)
	if !ok {
		return v
	}
	most := -1
	for key := range o {
		var i int
		if _, err := fmt.Sscanf(key, "%d", &i); err != nil || fmt.Sprint(i) != key || i < 0 {
			most = math.MaxInt
			break
		}
		most = max(most, i)
	}
	if most < 2*len(o) {
		list := make([]any, most+1)
		for i := range list {
			list[i] = plain(o[fmt.Sprint(i)])
		}
		return list
	}
	for key, child := range o {
		o[key] = plain(child)
	}
	return o
}

// Generators.

var keys = rapid.OneOf(
	rapid.SampledFrom([]string{
		"0", "1", "2", "3", "10", "007", "7", "-1", "00", "2147483647", "2147483648", "99999999999",
		"a", "b", "ab", "A", "z", "!", "-", "-N0", "-N1", "_", "é", "ÿ", "😀", "\uffee", "\ue000", "\ufeff",
		`"`, `\`, `a"b`, " ", "~", "{", "}", ",", ":", "value", "priority",
	}),
	rapid.StringMatching(`[0-9]{1,3}`),
	rapid.String().Filter(func(s string) bool { return ValidKey(s) && s != "-0" }),
)

var paths = rapid.Custom(func(t *rapid.T) []string {
	return rapid.SliceOfN(keys, 0, 3).Draw(t, "path")
})

var numbers = rapid.OneOf(
	rapid.Map(rapid.IntRange(-20, 20), func(i int) float64 { return float64(i) }),
	rapid.SampledFrom([]float64{0.1, -0.5, 1e21, 1e-7, 1e20, 123456789012345680000, 1 << 53, 1<<53 - 1, 5e-324, math.MaxFloat64, math.Copysign(0, -1)}),
	rapid.Float64(),
)

var texts = rapid.OneOf(
	rapid.SampledFrom([]string{"", "a", "b", "10", "9", "\"", `\`, "\n\t\x00\x1f\x7f", "<&>", "\u2028", "😀", "\uffee", `{".sv":`, `,"x":1}`}),
	rapid.String(),
)

var priorities = rapid.OneOf(
	rapid.Just(any(nil)),
	rapid.Map(rapid.IntRange(-2, 12), func(i int) any { return float64(i) }),
	rapid.Map(texts, func(s string) any { return s }),
)

// values are models that are not normal yet.
func values(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kind := rapid.IntRange(0, 9).Draw(t, "kind")
		if depth == 0 && kind >= 4 {
			kind %= 4
		}
		switch {
		case kind == 0:
			return nil
		case kind == 1:
			return rapid.Bool().Draw(t, "bool")
		case kind == 2:
			return numbers.Draw(t, "number")
		case kind == 3:
			return texts.Draw(t, "text")
		case kind == 4:
			return rapid.SliceOfN(values(depth-1), 0, 4).Draw(t, "array")
		case kind == 5:
			return withPriority(numbers.Draw(t, "number"), priorities.Draw(t, "priority"))
		}
		o := rapid.MapOfN(keys, values(depth-1), 0, 6).Draw(t, "object")
		if kind >= 8 {
			o[".priority"] = priorities.Draw(t, "priority")
		}
		return o
	})
}

// source writes a model as JSON, with everything that JSON leaves free chosen at
// random: the order of keys, spaces, and earlier members that are overridden.
func source(t *rapid.T, v any) string {
	space := func() string { return rapid.SampledFrom([]string{"", "", "", " ", "\n", "\t\r "}).Draw(t, "space") }
	switch v := v.(type) {
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = source(t, v[i])
		}
		return space() + "[" + space() + strings.Join(parts, ",") + "]" + space()
	case object:
		var parts []string
		for _, key := range rapid.Permutation(slices.Sorted(maps.Keys(v))).Draw(t, "order") {
			quoted, _ := json.Marshal(key)
			if rapid.IntRange(0, 7).Draw(t, "twice") == 0 {
				parts = append(parts, string(quoted)+":1")
				if len(parts) > 1 {
					slices.Reverse(parts[len(parts)-2:])
				}
			}
			parts = append(parts, string(quoted)+space()+":"+source(t, v[key]))
		}
		return space() + "{" + space() + strings.Join(parts, ",") + "}" + space()
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return space() + string(text) + space()
}

// drawNode returns a random node and its model.
func drawNode(t *rapid.T, depth int) (Node, any) {
	v := normal(values(depth).Draw(t, "node"))
	return nodeOf(t, v), v
}

func nodeOf(t *rapid.T, model any) Node {
	text, err := json.Marshal(model)
	if err != nil {
		t.Fatal(err)
	}
	n, err := ParseNode(string(text))
	if err != nil {
		t.Fatalf("ParseNode(%s): %v", text, err)
	}
	return n
}

func mustMatch(t *rapid.T, n Node, want any) {
	t.Helper()
	var got any
	if err := json.Unmarshal([]byte(n.JSON()), &got); err != nil {
		t.Fatalf("%s: %v", n.JSON(), err)
	}
	if !reflect.DeepEqual(got, want) {
		text, _ := json.Marshal(want)
		t.Fatalf("got %s, want %s", n.JSON(), text)
	}
	mustBeCanonical(t, n)
}

// mustBeCanonical checks that the text is a fixed point of the parser, and the
// order of children at every level.
func mustBeCanonical(t interface {
	Helper()
	Fatalf(string, ...any)
}, n Node) {
	t.Helper()
	for _, dialect := range []Dialect{Strict, Lenient} {
		d, err := Parse(n.JSON(), 0, dialect)
		if err != nil {
			t.Fatalf("Parse(%s): %v", n.JSON(), err)
		}
		if d.Text() != n.Text() {
			t.Fatalf("Parse(%s) = %s, not the same", n.JSON(), d.Text())
		}
	}
	last := ""
	for key, child := range n.Children() {
		if last != "" && compareKeysModel(last, key) >= 0 {
			t.Fatalf("key %q comes before %q in %s", last, key, n.JSON())
		}
		last = key
		mustBeCanonical(t, child)
	}
}

// Properties.

func TestParseModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := values(3).Draw(t, "value")
		text := source(t, v)
		d, err := Parse(text, 0, rapid.SampledFrom([]Dialect{Strict, Lenient}).Draw(t, "dialect"))
		if err != nil {
			t.Fatalf("Parse(%s): %v", text, err)
		}
		n, ok := d.Node()
		if !ok {
			t.Fatalf("Parse(%s) holds server values", text)
		}
		mustMatch(t, n, normal(v))
	})
}

func TestWithModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, model := drawNode(t, 3)
		for range rapid.IntRange(1, 5).Draw(t, "writes") {
			path := paths.Draw(t, "path")
			p := MustParsePath(strings.Join(path, "/"))
			mustMatch(t, n.Get(p), get(model, path))
			if rapid.Bool().Draw(t, "priority") {
				priority := priorities.Draw(t, "priority")
				n = n.WithTarget(Target{p, true}, nodeOf(t, priority))
				if old := get(model, path); old != nil {
					model = with(model, path, withPriority(old, priority))
				}
			} else {
				leaf, leafModel := drawNode(t, 1)
				n = n.WithTarget(Target{Path: p}, leaf)
				model = with(model, path, leafModel)
			}
			mustMatch(t, n, model)
		}
	})
}

func TestUpdateModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, model := drawNode(t, 3)
		base := paths.Draw(t, "base")
		members := object{}
		for range rapid.IntRange(0, 4).Draw(t, "size") {
			path := append(paths.Draw(t, "path"), keys.Draw(t, "key"))
			members[strings.Join(path, "/")] = values(2).Draw(t, "value")
		}
		text := source(t, members)
		u, err := ParseUpdate(MustParsePath(strings.Join(base, "/")), text, Strict)
		if overlaps := overlapModel(members); overlaps != (err != nil) {
			t.Fatalf("ParseUpdate(%s) = %v, but overlapping is %t", text, err, overlaps)
		}
		if err != nil {
			return
		}
		if err := u.Check(); err != nil {
			t.Fatal(err)
		}
		for _, w := range u {
			value, _ := w.Value.Node()
			n = n.WithTarget(w.Target, value)
		}
		for _, key := range slices.Sorted(maps.Keys(members)) {
			model = with(model, append(slices.Clone(base), strings.Split(key, "/")...), normal(members[key]))
		}
		mustMatch(t, n, model)
	})
}

func overlapModel(members object) bool {
	for a := range members {
		for b := range members {
			if strings.HasPrefix(b, a+"/") {
				return true
			}
		}
	}
	return false
}

func TestPlainModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, model := drawNode(t, 3)
		compact := AppendPlain(nil, n)
		for _, text := range [][]byte{compact, AppendPretty(nil, string(compact))} {
			var got any
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if want := plain(model); !reflect.DeepEqual(got, want) {
				t.Fatalf("got %s, want %v", text, want)
			}
		}
	})
}

func TestCompareModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := keys.Draw(t, "a"), keys.Draw(t, "b")
		if got, want := sign(CompareKeys(a, b)), sign(compareKeysModel(a, b)); got != want {
			t.Fatalf("CompareKeys(%q, %q) = %d, want %d", a, b, got, want)
		}
		x, xModel := drawNode(t, 1)
		y, yModel := drawNode(t, 1)
		if got, want := sign(CompareValues(x, y)), sign(compareValuesModel(xModel, yModel)); got != want {
			t.Fatalf("CompareValues(%s, %s) = %d, want %d", x.JSON(), y.JSON(), got, want)
		}
	})
}

func sign(i int) int { return max(-1, min(1, i)) }
