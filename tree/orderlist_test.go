package tree

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func list(values string) Node {
	var nodes []Node
	for v := range strings.FieldsSeq(values) {
		nodes = append(nodes, MustParseNode(v))
	}
	return ListValue(nodes)
}

func TestListOrder(t *testing.T) {
	for _, test := range []struct {
		paths []string
		order string
		err   string
	}{
		{[]string{"owner"}, "owner", ""},
		{[]string{"owner", "/at/day/"}, `["owner","at/day"]`, ""},
		{[]string{`a"b`, `c\`, "d,", "é"}, `["a\"b","c\\","d,","é"]`, ""},
		{nil, "", "an order has 1 to 4 child paths, and not 0"},
		{[]string{"a", "b", "c", "d", "e"}, "", "an order has 1 to 4 child paths, and not 5"},
		{[]string{"a", "$key"}, "", `"$key" is no child path; an order by several has only such`},
		{[]string{"a", ""}, "", `"" is no child path; an order by several has only such`},
		{[]string{"a/b", "c", "a//b"}, "", `the order has "a/b" twice`},
	} {
		order, err := ListOrder(test.paths)
		if order != test.order || err == nil && test.err != "" || err != nil && err.Error() != test.err {
			t.Errorf("ListOrder(%q) = %s, %v, want %s, %s", test.paths, order, err, test.order, test.err)
		}
		if !IsListOrder(order) {
			continue
		}
		var back []string
		for p := range OrderPaths(order) {
			back = append(back, p.Clean())
		}
		if again, err := ListOrder(back); err != nil || again != order {
			t.Errorf("the paths of %s are %q", order, back)
		}
	}
}

func TestListWindow(t *testing.T) {
	groups := MustParseNode(`{"a":{"o":"u1","t":3},"b":{"o":"u2","t":1},"c":{"o":"u1","t":1},"d":{"o":"u1"},"e":{"t":7},
		"f":{"o":"u1","t":1},"g":{"o":"u1","t":{"x":1}},"h":{"o":"u1","t":{"y":1}},"i":5}`)
	bound := func(values string, rank KeyRank, exclusive bool) Bound {
		return Bound{Set: true, Value: list(values), KeyRank: rank, Exclusive: exclusive}
	}
	order := `["o","t"]`
	u1 := bound(`"u1"`, BeforeKeys, false)
	for _, test := range []struct {
		name string
		q    Query
		want string
	}{
		{"all", Query{}, "i e d c f a g h b"},
		{"a prefix", Query{Start: u1, End: bound(`"u1"`, AfterKeys, false)}, "d c f a g h"},
		{"a prefix, the last", Query{Start: u1, End: bound(`"u1"`, AfterKeys, false), Limit: 2, FromLast: true}, "g h"},
		{"all values", Query{Start: bound(`"u1" 1`, BeforeKeys, false), End: bound(`"u1" 1`, AfterKeys, false)}, "c f"},
		{"behind a prefix", Query{Start: bound(`"u1"`, AfterKeys, true)}, "b"},
		{"before a prefix", Query{End: bound(`"u1"`, BeforeKeys, true)}, "i e"},
		{"behind a whole list", Query{Start: bound(`"u1" 1`, AfterKeys, true)}, "a g h b"},
		{"with a key", Query{Start: Bound{Set: true, Value: list(`"u1" 1`), Key: "c", Exclusive: true}}, "f a g h b"},
		{"null in it", Query{Start: bound(`null 7`, BeforeKeys, false), End: bound(`"u1" null`, AfterKeys, false)}, "e d"},
		{"the first", Query{Limit: 3}, "i e d"},
	} {
		test.q.OrderBy = order
		var got []string
		for _, e := range test.q.Entries(groups) {
			got = append(got, e.Key)
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}

func TestListBound(t *testing.T) {
	for _, test := range []struct {
		order, values string
		want, err     string
	}{
		{`["a","b"]`, `1`, `[1]`, ""},
		{`["a","b"]`, `null "x,]"`, `[null,"x,]"]`, ""},
		{`["a","b"]`, `1 2 3`, "", "the bound has 3 values, and the order has 2 child paths"},
		{`["a","b"]`, ``, "", "a bound that is a list has at least one value"},
		{`["a","b"]`, `1 {"x":1}`, "", "the values of a bound are null, booleans, numbers or strings"},
		{`["a","b"]`, `{".value":1,".priority":2}`, "", "the values of a bound are null, booleans, numbers or strings"},
		{"a", `true`, `true`, ""},
		{"a", `1 2`, "", "the bound has 2 values, and the order has 1 child path"},
		{ByKey, `"k"`, "", "a bound is a list only if the order is by child paths"},
		{"", `1`, "", "a bound is a list only if the order is by child paths"},
	} {
		var values []Node
		for v := range strings.FieldsSeq(test.values) {
			values = append(values, MustParseNode(v))
		}
		got, err := Query{OrderBy: test.order}.ListBound(values)
		if got.Text() != test.want || err == nil && test.err != "" || err != nil && err.Error() != test.err {
			t.Errorf("%s: ListBound(%s) = %s, %v, want %s, %s", test.order, test.values, got.Text(), err, test.want, test.err)
		}
	}
	q := Query{OrderBy: `["a","b"]`}
	for want, b := range map[string]Bound{
		"":             {Set: true, Value: list(`1`), KeyRank: AfterKeys},
		"is a list":    {Set: true, Value: Number(1), KeyRank: AfterKeys},
		"with a key":   {Set: true, Value: list(`1`), Key: "k"},
		"\x00whatever": {},
	} {
		err := q.CheckBound(b)
		if fine := want == "" || want[0] == 0; fine != (err == nil) || !fine && !strings.Contains(err.Error(), want) {
			t.Errorf("CheckBound(%v) = %v, want %q", b, err, want)
		}
	}
}

// TestCompareRanked: bounds of several lengths have one order among each other and with entries.
func TestCompareRanked(t *testing.T) {
	type point struct {
		v    Node
		rank KeyRank
	}
	draw := func(t *rapid.T) point {
		const most = 3
		p := point{rank: KeyRank(rapid.IntRange(-1, 1).Draw(t, "rank"))}
		values := make([]Node, rapid.IntRange(1, most).Draw(t, "length"))
		for i := range values {
			values[i] = rapid.SampledFrom([]Node{Empty, Number(1), Number(2), String("a")}).Draw(t, "value")
		}
		if p.v = ListValue(values); len(values) < most && p.rank == AtKey {
			p.rank = BeforeKeys
		}
		return p
	}
	compare := func(a, b point) int {
		if c := CompareRanked(a.v, a.rank, b.v, b.rank); c != 0 {
			return c
		}
		return int(a.rank) - int(b.rank)
	}
	rapid.Check(t, func(t *rapid.T) {
		points := []point{draw(t), draw(t), draw(t)}
		slices.SortFunc(points, compare)
		for i, a := range points {
			for j, b := range points {
				if c := compare(a, b); i < j && c > 0 || i > j && c < 0 || c > 0 != (compare(b, a) < 0) {
					t.Fatalf("%v and %v: %d in %v", a, b, c, points)
				}
			}
		}
	})
}
