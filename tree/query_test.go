package tree

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func at(value string) Bound {
	return Bound{Set: true, Value: MustParseNode(value), KeyRank: BeforeKeys}
}

func TestQueryWindow(t *testing.T) {
	scores := MustParseNode(`{"ada":{"s":3},"bo":{"s":1},"cy":{"s":2},"dee":{"s":2},"eve":{"s":"x"},"fay":{"t":1},"gus":{"s":true}}`)
	upTo := func(value string) Bound { return Bound{Set: true, Value: MustParseNode(value), KeyRank: AfterKeys} }
	key := func(key string) Bound { return Bound{Set: true, Value: String(key)} }
	after := func(b Bound) Bound { b.Exclusive = true; return b }
	tests := []struct {
		name string
		q    Query
		want string // keys in query order
	}{
		{"all", Query{OrderBy: "s"}, "fay gus bo cy dee ada eve"},
		{"zero query is by priority, then key", Query{}, "ada bo cy dee eve fay gus"},
		{"startAt", Query{OrderBy: "s", Start: at("2")}, "cy dee ada eve"},
		{"startAfter a value", Query{OrderBy: "s", Start: after(upTo("2"))}, "ada eve"},
		{"endAt", Query{OrderBy: "s", End: upTo("2")}, "fay gus bo cy dee"},
		{"endBefore a value", Query{OrderBy: "s", End: after(at("2"))}, "fay gus bo"},
		{"equalTo", Query{OrderBy: "s", Start: at("2"), End: upTo("2")}, "cy dee"},
		{"equalTo null", Query{OrderBy: "s", Start: at("null"), End: upTo("null")}, "fay"},
		{"startAt with key", Query{OrderBy: "s", Start: Bound{Set: true, Value: Number(2), Key: "dee"}}, "dee ada eve"},
		{"startAfter with key", Query{OrderBy: "s", Start: Bound{Set: true, Value: Number(2), Key: "cy", Exclusive: true}}, "dee ada eve"},
		{"endAt with key", Query{OrderBy: "s", End: Bound{Set: true, Value: Number(2), Key: "cy"}}, "fay gus bo cy"},
		{"endBefore with key", Query{OrderBy: "s", End: Bound{Set: true, Value: Number(2), Key: "cy", Exclusive: true}}, "fay gus bo"},
		{"limitToFirst", Query{OrderBy: "s", Limit: 3}, "fay gus bo"},
		{"limitToLast", Query{OrderBy: "s", Limit: 3, FromLast: true}, "dee ada eve"},
		{"limit in a range", Query{OrderBy: "s", Start: at("1"), End: upTo("3"), Limit: 2, FromLast: true}, "dee ada"},
		{"limit above the size", Query{OrderBy: "s", Limit: 100}, "fay gus bo cy dee ada eve"},
		{"empty range", Query{OrderBy: "s", Start: at("5"), End: upTo("4")}, ""},
		{"keys", Query{OrderBy: ByKey, Start: key("bo"), End: key("dee")}, "bo cy dee"},
		{"keys, exclusive", Query{OrderBy: ByKey, Start: after(key("bo")), End: after(key("dee"))}, "cy"},
		{"first keys", Query{OrderBy: ByKey, Limit: 2}, "ada bo"},
		{"last keys", Query{OrderBy: ByKey, Limit: 2, FromLast: true}, "fay gus"},
	}
	for _, test := range tests {
		var got []string
		for _, e := range test.q.Entries(scores) {
			got = append(got, e.Key)
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
		slices.Sort(got)
		var applied []string
		for key := range test.q.Apply(scores).Children() {
			applied = append(applied, key)
		}
		if !slices.Equal(applied, got) {
			t.Errorf("%s: Apply leaves %s, want %s", test.name, applied, got)
		}
	}
}

func TestQueryKeepsPriority(t *testing.T) {
	n := MustParseNode(`{"a":{".value":1,".priority":2},"b":{".value":2,".priority":1},".priority":"p"}`)
	q := Query{Limit: 1}
	if got, want := q.Apply(n).JSON(), `{".priority":"p","b":{".priority":1,".value":2}}`; got != want {
		t.Errorf("Apply = %s, want %s", got, want)
	}
	for _, empty := range []string{"null", "5", `"leaf"`, `{".value":5,".priority":1}`} {
		if got := q.Apply(MustParseNode(empty)); !got.IsEmpty() {
			t.Errorf("Apply(%s) = %s, want null: a leaf has no children", empty, got.JSON())
		}
	}
	if got := (Query{}).Apply(Number(5)); got != Number(5) {
		t.Errorf("Query{}.Apply(5) = %s: an unfiltered view shows everything", got.JSON())
	}
}

func TestQueryProperties(t *testing.T) {
	for _, test := range []struct {
		q           Query
		all, needs  bool
		order       string
		childOfNull string
	}{
		{Query{}, true, false, ByPriority, "null"},
		{Query{OrderBy: ByKey, Limit: 1}, false, false, ByKey, "null"},
		{Query{OrderBy: ByValue}, true, true, ByValue, `{"b":7}`},
		{Query{OrderBy: "b", Start: at("1")}, false, true, "b", "7"},
		{Query{OrderBy: "b/c", End: at("1")}, false, true, "b/c", "null"},
	} {
		if test.q.IsAll() != test.all || test.q.NeedsIndex() != test.needs || test.q.Order() != test.order {
			t.Errorf("%s: IsAll %t, NeedsIndex %t, Order %s", test.q.ID(), test.q.IsAll(), test.q.NeedsIndex(), test.q.Order())
		}
		if got := test.q.IndexValue(MustParseNode(`{"b":{".value":7,".priority":1}}`)); plainText(got) != test.childOfNull {
			t.Errorf("%s: IndexValue = %s, want %s", test.q.ID(), got.JSON(), test.childOfNull)
		}
	}
}

func plainText(n Node) string { return string(AppendPlain(nil, n)) }

var queries = rapid.Custom(func(t *rapid.T) Query {
	order := rapid.SampledFrom([]string{"", ByKey, ByValue, ByPriority, "a", "a/b", "|", `["a","b"]`, `["a/b","c","a"]`}).Draw(t, "order")
	bound := func(name string) Bound {
		b := Bound{Set: rapid.Bool().Draw(t, name)}
		if !b.Set {
			return b
		}
		b.Exclusive = rapid.Bool().Draw(t, "exclusive")
		if order == ByKey {
			b.Value = String(keys.Draw(t, "key"))
			return b
		}
		if IsListOrder(order) {
			return drawListBound(t, order, b)
		}
		b.Value = drawLeaf(t)
		if b.KeyRank = KeyRank(rapid.IntRange(-1, 1).Draw(t, "rank")); b.KeyRank == AtKey {
			b.Key = keys.Draw(t, "key")
		}
		return b
	}
	q := Query{OrderBy: order, Start: bound("start"), End: bound("end"), Limit: rapid.IntRange(0, 4).Draw(t, "limit")}
	q.FromLast = q.Limit > 0 && rapid.Bool().Draw(t, "last")
	return q
})

// drawLeaf draws the value of a bound.
func drawLeaf(t *rapid.T) Node {
	n, _ := drawNode(t, 0)
	for n.IsObject() {
		n, _ = drawNode(t, 0)
	}
	return n
}

// drawListBound draws a bound of an order by several child paths, which may be a prefix.
func drawListBound(t *rapid.T, order string, b Bound) Bound {
	most := orderLength(order)
	values := make([]Node, rapid.IntRange(1, most).Draw(t, "values"))
	for i := range values {
		values[i] = drawLeaf(t).Value()
	}
	b.Value = ListValue(values)
	b.KeyRank = KeyRank(rapid.IntRange(-1, 1).Draw(t, "rank"))
	if b.KeyRank == AtKey && len(values) < most {
		b.KeyRank = AfterKeys
	}
	if b.KeyRank == AtKey {
		b.Key = keys.Draw(t, "key")
	}
	return b
}

// queried are children with something at the paths that queries order by.
var queried = rapid.Custom(func(t *rapid.T) any {
	v := withPriority(normal(values(1).Draw(t, "value")), priorities.Draw(t, "priority"))
	w := rapid.SampledFrom([]any{nil, true, 1.0, 2.0, "x"}).Draw(t, "beside")
	switch rapid.IntRange(0, 4).Draw(t, "below") {
	case 0:
		return object{"a": v}
	case 2:
		return withoutEmpty(object{"a": w, "b": v})
	case 3:
		return withoutEmpty(object{"a": object{"b": w}, "c": v})
	case 1:
		return object{"a": object{"b": v}}
	}
	return v
})

func TestQueryModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		model := normal(rapid.MapOfN(keys, queried, 0, 14).Draw(t, "children"))
		n := nodeOf(t, model)
		q := queries.Draw(t, "query")
		var want any = model
		if !q.IsAll() {
			want = applyModel(q, model)
		}
		mustMatch(t, q.Apply(n), want)
	})
}

// applyModel filters, sorts and cuts, in this order.
func applyModel(q Query, model any) any {
	all := children(model)
	index := func(key string) (values []any) {
		switch q.Order() {
		case ByKey:
			return nil
		case ByPriority:
			return []any{priorityOf(all[key])}
		case ByValue:
			return []any{valueOf(all[key])}
		}
		paths := []string{q.OrderBy}
		if IsListOrder(q.OrderBy) {
			json.Unmarshal([]byte(q.OrderBy), &paths)
		}
		for _, path := range paths {
			values = append(values, valueOf(get(all[key], strings.Split(path, "/"))))
		}
		return values
	}
	compareAll := func(a, b []any) int {
		return slices.CompareFunc(a[:min(len(a), len(b))], b[:min(len(a), len(b))], compareValuesModel)
	}
	compare := func(key string, b Bound) int {
		var value any
		json.Unmarshal([]byte(b.Value.JSON()), &value)
		if q.Order() == ByKey {
			return compareKeysModel(key, value.(string))
		}
		values, isList := value.([]any)
		if !isList {
			values = []any{value}
		}
		return cmp.Or(compareAll(index(key), values), -int(b.KeyRank), compareKeysModel(key, b.Key))
	}
	var in []string
	for key := range all {
		if q.Start.Set && (compare(key, q.Start) < 0 || compare(key, q.Start) == 0 && q.Start.Exclusive) {
			continue
		}
		if q.End.Set && (compare(key, q.End) > 0 || compare(key, q.End) == 0 && q.End.Exclusive) {
			continue
		}
		in = append(in, key)
	}
	slices.SortFunc(in, func(a, b string) int {
		return cmp.Or(compareAll(index(a), index(b)), compareKeysModel(a, b))
	})
	if q.Limit > 0 && len(in) > q.Limit {
		if q.FromLast {
			in = in[len(in)-q.Limit:]
		} else {
			in = in[:q.Limit]
		}
	}
	out := object{}
	for _, key := range in {
		out[key] = all[key]
	}
	return withPriority(withoutEmpty(out), priorityOf(model))
}

func TestQueryIDModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := queries.Draw(t, "a"), queries.Draw(t, "b")
		if rapid.Bool().Draw(t, "equal") {
			b = a
		}
		if got, want := a.ID() == b.ID(), withOrder(a) == withOrder(b); got != want {
			t.Fatalf("%#v has ID %s, %#v has ID %s", a, a.ID(), b, b.ID())
		}
	})
}

func withOrder(q Query) Query {
	q.OrderBy = q.Order()
	return q
}
