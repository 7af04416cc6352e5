package dogwood_test

import (
	"encoding"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/tree"
)

// TestEncodeQuery: the wire format of queries (protocol §5.2).
func TestEncodeQuery(t *testing.T) {
	r := open(t).Ref("a")
	for _, c := range []struct {
		query dogwood.Query
		want  string
	}{
		{r.Query, ``},
		{r.OrderByChild("m"), ``},
		{r.LimitToLast(2), `{"l":2,"vf":"r"}`},
		{r.OrderByChild("a/b").StartAt(1).EndAt("x"), `{"sp":1,"sin":true,"ep":"x","ein":true,"i":"a/b"}`},
		{r.OrderByChild("m").StartAt("h", "k1"), `{"sp":"h","sn":"k1","sin":true,"i":"m"}`},
		{r.OrderByChild("m").EqualTo("hello", "k"), `{"sp":"hello","sn":"k","sin":true,"ep":"hello","en":"k","ein":true,"i":"m"}`},
		{r.OrderByChild("m").StartAfter("a").EndBefore("z"), `{"sp":"a","sn":"[MAX_NAME]","sin":false,"ep":"z","en":"[MIN_NAME]","ein":false,"i":"m"}`},
		{r.OrderByKey().StartAt("a").LimitToFirst(3), `{"sp":"a","sin":true,"l":3,"vf":"l","i":".key"}`},
		{r.OrderByKey().StartAfter("a"), `{"sp":"a","sin":false,"i":".key"}`},
		{r.OrderByChildren("m", "a/b").EqualTo([]any{"h"}).LimitToLast(1), `{"sp":["h"],"sin":true,"ep":["h"],"ein":true,"l":1,"vf":"r","i":["m","a/b"]}`},
		{r.StartAfter([]any{"h", nil}).OrderByChildren("m", "n"), `{"sp":["h",null],"sn":"[MAX_NAME]","sin":false,"i":["m","n"]}`},
		{r.OrderByChildren("m").StartAt([]int{1}), `{"sp":1,"sin":true,"i":"m"}`},
		{r.OrderByPriority().StartAt(1), `{"sp":1,"sin":true}`},
		{r.Where("key == 'x'"), `{"w":"key == 'x'"}`},
		{r.OrderByKey().LimitToFirst(2).Where("true").MaxVisited(9), `{"l":2,"vf":"l","i":".key","w":"true","wm":9}`},
		{r.OrderByValue().EqualTo(nil), `{"sp":null,"sin":true,"ep":null,"ein":true,"i":".value"}`},
	} {
		if got := dogwood.EncodeQuery(c.query); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestQueryString(t *testing.T) {
	r := open(t).Ref("a/b")
	for _, c := range []struct {
		query fmt.Stringer
		want  string
	}{
		{r, "/a/b"},
		{r.Query, "/a/b"},
		{r.OrderByKey().StartAfter("x").LimitToLast(2), `/a/b?orderBy="$key"&startAfter="x"&limitToLast=2`},
		{r.OrderByChild("n/m").EqualTo(1, "k"), `/a/b?orderBy="n/m"&startAt=1,"k"&endAt=1,"k"`},
		{r.OrderByChildren("n", "m").EqualTo([]any{1}), `/a/b?orderBy=["n","m"]&startAt=[1]&endAt=[1]`},
		{r.Where("key == 'x'").MaxVisited(9), "/a/b?where=key == 'x'&maxVisited=9"},
		{r.EndBefore(nil).LimitToFirst(3), "/a/b?endBefore=null&limitToFirst=3"},
	} {
		if got := c.query.String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
		if got, err := c.query.(encoding.TextMarshaler).MarshalText(); err != nil || string(got) != c.want {
			t.Errorf("as text: %s, %v, want %s", got, err, c.want)
		}
	}
	if got, err := open(t).Ref("a.b").MarshalText(); !errors.Is(err, dogwood.ErrPath) {
		t.Errorf("got %s, %v, want ErrPath", got, err)
	}
}

func TestBadQueries(t *testing.T) {
	ctx := t.Context()
	r := open(t).Ref("a")
	for _, c := range []struct {
		query dogwood.Query
		want  string
	}{
		{r.OrderByKey().OrderByValue(), "it is ordered twice"},
		{r.OrderByChild(""), `order by "": there is no child`},
		{r.OrderByChild("a.b"), `order by "a.b": keys have no . $ # [ ] / and no control characters`},
		{r.LimitToFirst(1).LimitToLast(1), "it is limited twice"},
		{r.LimitToFirst(0), "the limit 0 is not positive"},
		{r.StartAt(1).StartAfter(2), "it starts twice"},
		{r.EndAt(1).EqualTo(2), "it ends twice"},
		{r.StartAt([]int{1}), "a bound is a list only for OrderByChildren"},
		{r.OrderByKey().StartAt([]string{"k"}), "a bound is a list only if the order is by child paths"},
		{r.Where(""), "the filter is empty"},
		{r.Where("true").Where("false"), "it is filtered twice; join the filters by &&"},
		{r.MaxVisited(5), "MaxVisited comes behind Where"},
		{r.Where("true").MaxVisited(100_001), "MaxVisited takes 1 to 100000, and not 100001"},
		{r.Descending(), "only Page and Pages are descending"},
		{r.OrderByChildren(), "an order has 1 to 4 child paths, and not 0"},
		{r.OrderByChildren("m", "n", "m"), `the order has "m" twice`},
		{r.OrderByChildren("m", "n").StartAt("x"), "the order has 2 child paths, so a bound is a list of values"},
		{r.EndAt("x").OrderByChildren("m", "n"), "the order has 2 child paths, so a bound is a list of values"},
		{r.OrderByChildren("m", "n").EqualTo([]int{1, 2, 3}), "the bound has 3 values, and the order has 2 child paths"},
		{r.OrderByChildren("m", "n").EndAt([]any{1, map[string]int{"x": 1}}), `the bound [1,{"x":1}] has a value that is no null, boolean, number or string`},
		{r.OrderByChildren("m", "n").StartAt([]int{}), "a bound that is a list has at least one value"},
		{r.OrderByChildren("m", "n").StartAt([]int{1}, "k"), "a bound with a key has a value for each child path of the order"},
		{r.StartAt(func() {}), "json: unsupported type: func()"},
		{r.StartAt(1, "a", "b"), "a bound has 2 keys"},
		{r.StartAt(1, "a/b"), `the bound's key "a/b" is not valid`},
		{r.OrderByKey().StartAt(1), "a bound of OrderByKey is one key"},
		{r.OrderByKey().EndAt("a", "b"), "a bound of OrderByKey is one key"},
		{r.EqualTo(true), "no priority is a boolean"},
	} {
		_, err := c.query.Snapshot(ctx)
		for _, err := range []error{err, pull(t, c.query.Values(ctx)).fails(), pull(t, c.query.Events(ctx)).fails()} {
			if !errors.Is(err, dogwood.ErrQuery) || !strings.HasSuffix(err.Error(), "invalid query: "+c.want) {
				t.Errorf("err = %v, want %s", err, c.want)
			}
		}
	}
}

// A query selects the same whether it is asked of the server, followed, or made
// of what is known.
func TestQueriesAgree(t *testing.T) {
	ctx := t.Context()
	db, ana := openWith(t, `{"rules":{".read":true,".write":true,"list":{".indexOn":["n",".value"]}}}`)
	rapid.Check(t, func(t *rapid.T) {
		data := make(map[string]any)
		for i := range rapid.IntRange(0, 8).Draw(t, "size") {
			data[fmt.Sprintf("k%d", i)] = raw(rapid.SampledFrom([]string{
				`1`, `2`, `"s"`, `true`, `{"n":1}`, `{"n":2}`, `{"n":"s"}`, `{"n":{"deep":1}}`, `{"m":1}`, `{".value":1,".priority":3}`, `{"n":1,".priority":"p"}`,
			}).Draw(t, "value"))
		}
		list := db.Ref("list")
		if err := list.Set(ctx, data); err != nil {
			t.Fatal(err)
		}
		q := drawQuery(t, ana.Ref("list"))
		whole, err := list.Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		want := q.Window().Apply(tree.MustParseNode(whole.JSON())).JSON()
		asked, err := q.Snapshot(ctx)
		if err != nil || asked.JSON() != want {
			t.Fatalf("asked: %s, %v, want %s", asked.JSON(), err, want)
		}
		for s, err := range q.Values(ctx) {
			if err != nil || s.JSON() != want {
				t.Fatalf("followed: %s, %v, want %s", s.JSON(), err, want)
			}
			break
		}
		for range ana.Ref("list").Values(ctx) { // now all of it is known
			if known, err := q.Snapshot(ctx); err != nil || known.JSON() != want {
				t.Fatalf("known: %s, %v, want %s", known.JSON(), err, want)
			}
			break
		}
		keys := 0
		for key, child := range asked.Children() {
			if child.Key() != key || !child.Equal(whole.Child(key)) {
				t.Fatalf("child %s = %s", key, child.JSON())
			}
			keys++
		}
		if keys != asked.NumChildren() {
			t.Fatalf("%d of %d children", keys, asked.NumChildren())
		}
	})
}

func drawQuery(t *rapid.T, r dogwood.Ref) dogwood.Query {
	bounds := []any{nil, 1, 2, "s", "t"}
	var q dogwood.Query
	switch rapid.SampledFrom([]string{"key", "value", "child", "priority"}).Draw(t, "order") {
	case "key":
		q, bounds = r.OrderByKey(), []any{"k1", "k3", "k5"}
	case "value":
		q = r.OrderByValue()
	case "child":
		q = r.OrderByChild("n")
	default:
		q = r.OrderByPriority()
	}
	value := func(name string) any { return rapid.SampledFrom(bounds).Draw(t, name) }
	var key []string
	if len(bounds) > 3 && rapid.Bool().Draw(t, "with a key") {
		key = []string{"k2"}
	}
	switch rapid.IntRange(0, 5).Draw(t, "start") {
	case 0:
		q = q.StartAt(value("start"), key...)
	case 1:
		q = q.StartAfter(value("start"), key...)
	case 2:
		return q.EqualTo(value("equal"), key...)
	}
	switch rapid.IntRange(0, 4).Draw(t, "end") {
	case 0:
		q = q.EndAt(value("end"), key...)
	case 1:
		q = q.EndBefore(value("end"), key...)
	}
	switch n := rapid.IntRange(1, 4).Draw(t, "limit"); rapid.IntRange(0, 2).Draw(t, "from") {
	case 0:
		q = q.LimitToFirst(n)
	case 1:
		q = q.LimitToLast(n)
	}
	return q
}
