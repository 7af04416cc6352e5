package dogwood_test

import (
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

type inner struct {
	Name string `json:"name,omitempty"`
	Tags []string
}

type outer struct {
	inner
	ID      int64            `json:"id"`
	Map     map[string]inner `json:"map"`
	ByNum   map[int]string   `json:"byNum"`
	Pointer *inner           `json:"pointer"`
	Any     any              `json:"any"`
	When    time.Time        `json:"when"`
	Array   [2]int           `json:"array"`
	Skipped string           `json:"-"`
}

func TestDecode(t *testing.T) {
	ctx := t.Context()
	r := open(t).Ref("a")
	for _, c := range []struct {
		stored string
		dst    any // points to what must be replaced
		want   any
	}{
		{`7`, ptr(1), 7},
		{`null`, ptr(1), 0},
		{`null`, &[]string{"old"}, []string(nil)},
		{`"x"`, ptr(any(nil)), "x"},
		{`{".value":true,".priority":1}`, ptr(false), true},
		{`{"0":"a","1":"b"}`, ptr([]string{"old", "old", "old"}), []string{"a", "b"}},
		{`{"0":"a","2":"c"}`, ptr([]string(nil)), []string{"a", "", "c"}},
		{`{"0":"a","2":"c"}`, ptr(map[string]string(nil)), map[string]string{"0": "a", "2": "c"}},
		{`{"0":"a","1":"b"}`, ptr(map[int]string{5: "old"}), map[int]string{0: "a", 1: "b"}},
		{`{"0":"a","1":"b"}`, ptr(any(nil)), []any{"a", "b"}},
		{`{"x":{"0":1},"y":null}`, ptr(any(nil)), map[string]any{"x": []any{1.0}}},
		{`{"0":{"5":{"0":true}}}`, ptr([]map[string][]bool(nil)), []map[string][]bool{{"5": {true}}}},
		{
			`{"name":"n","Tags":{"0":"t"},"id":12345678901,"map":{"0":{"Name":"m"}},"byNum":{"0":"z","1":"o"},"pointer":{"tags":{"0":"p"}},
			  "any":{"0":1},"when":"2014-03-06T02:05:13Z","array":{"1":4},"Skipped":"no","unknown":{"0":1},".priority":5}`,
			ptr(outer{Skipped: "old"}),
			outer{
				inner: inner{"n", []string{"t"}}, ID: 12345678901, Map: map[string]inner{"0": {Name: "m"}}, ByNum: map[int]string{0: "z", 1: "o"},
				Pointer: &inner{Tags: []string{"p"}}, Any: []any{1.0}, When: time.Date(2014, 3, 6, 2, 5, 13, 0, time.UTC), Array: [2]int{0, 4},
			},
		},
	} {
		want(t, r.Set(ctx, raw(c.stored)))
		if err := r.Get(ctx, c.dst); err != nil {
			t.Errorf("%s: %v", c.stored, err)
		} else if got := reflect.ValueOf(c.dst).Elem().Interface(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %#v, want %#v", c.stored, got, c.want)
		}
	}
	want(t, r.Set(ctx, raw(`{"x":1,"9":2}`)))
	for _, dst := range []any{ptr(1), ptr([]int(nil)), ptr(""), 5, nil, (*int)(nil)} {
		var e *dogwood.Error
		if err := r.Get(ctx, dst); !errors.Is(err, dogwood.ErrValue) || !errors.As(err, &e) || e.Path != "/a" {
			t.Errorf("%T: err = %v", dst, err)
		}
	}
	if _, err := dogwood.Get[int](ctx, r); !errors.Is(err, dogwood.ErrValue) {
		t.Errorf("err = %v", err)
	}
	if _, err := dogwood.Transaction(ctx, r, func(n int) (int, error) { return n, nil }); !errors.Is(err, dogwood.ErrValue) {
		t.Errorf("err = %v", err)
	}
}

func ptr[T any](v T) *T { return &v }

// Values that fit the data model come back unchanged.
func TestValuesComeBack(t *testing.T) {
	ctx := t.Context()
	r := open(t).Ref("a")
	type record struct {
		S string            `json:"s,omitempty"`
		N float64           `json:"n,omitempty"`
		B bool              `json:"b,omitempty"`
		L []string          `json:"l,omitempty"`
		M map[string]string `json:"m,omitempty"`
		R *record           `json:"r,omitempty"`
	}
	text := rapid.StringOfN(rapid.RuneFrom([]rune("aé😀\u2028 \"\\<")), 1, 5, -1)
	var draw func(t *rapid.T, depth int) *record
	draw = func(t *rapid.T, depth int) *record {
		v := &record{S: text.Draw(t, "s"), N: rapid.Float64().Draw(t, "n"), B: rapid.Bool().Draw(t, "b")}
		if v.N == 0 || math.IsInf(v.N, 0) {
			v.N = 1
		}
		v.L = rapid.SliceOfN(text, 1, 3).Draw(t, "l")
		v.M = map[string]string{text.Draw(t, "key"): text.Draw(t, "value")}
		if depth > 0 && rapid.Bool().Draw(t, "more") {
			v.R = draw(t, depth-1)
		}
		return v
	}
	rapid.Check(t, func(t *rapid.T) {
		v := draw(t, 3)
		if err := r.Set(ctx, v); err != nil {
			t.Fatal(err)
		}
		if got, err := dogwood.Get[record](ctx, r); err != nil || !reflect.DeepEqual(&got, v) {
			t.Fatalf("got %+v, %v, want %+v", got, err, v)
		}
	})
}

func TestBadValues(t *testing.T) {
	ctx := t.Context()
	c := open(t).Client
	for _, v := range []any{
		func() {}, math.NaN(), map[string]any{"a.b": 1}, map[string]any{"": 1}, dogwood.Increment(math.Inf(1)),
		dogwood.WithPriority(1, true), dogwood.WithPriority(func() {}, 1), dogwood.WithPriority(1, func() {}), map[string]any{".sv": "unknown"},
	} {
		for _, err := range []error{
			c.Ref("a").Set(ctx, v), c.Update(ctx, map[string]any{"a": v}), c.Ref("a").SetIf(ctx, nil, v), c.Ref("a").SetIf(ctx, v, nil),
			c.Ref("a").SetPriority(ctx, v),
		} {
			if !errors.Is(err, dogwood.ErrValue) {
				t.Errorf("%v: err = %v, want ErrValue", v, err)
			}
		}
	}
	if err := c.Ref("a").SetIf(ctx, dogwood.ServerTimestamp, 1); !errors.Is(err, dogwood.ErrValue) {
		t.Errorf("err = %v", err)
	}
	for _, path := range []string{"a.b", "a\x00", "a/$b"} {
		for _, r := range []dogwood.Ref{c.Ref(path), c.Ref("a").Child(path), c.Ref(path).Child("x").Parent()} {
			_, pushErr := r.Push(ctx, 1)
			for _, err := range []error{
				r.Set(ctx, 1), r.Update(ctx, map[string]any{"a": 1}), r.SetIf(ctx, 1, 2), r.Get(ctx, new(int)), pushErr,
			} {
				if err == nil {
					t.Errorf("%q: no error", path)
				}
			}
		}
	}
	if err := c.Ref("a").Update(ctx, map[string]any{"b": 1, "b/c": 2}); !errors.Is(err, dogwood.ErrValue) {
		t.Errorf("err = %v", err)
	}
	if err := c.Ref("a").Create(ctx, 1); err != nil {
		t.Error(err)
	}
	if err := c.Ref("a").Create(ctx, 2); !errors.Is(err, dogwood.ErrStale) {
		t.Errorf("err = %v", err)
	}
}

func TestSnapshots(t *testing.T) {
	ctx := t.Context()
	c := open(t).Client
	list := c.Ref("list")
	want(t, list.Set(ctx, raw(`{"a":{"n":2,".priority":"p"},"b":{"n":1}}`)))
	s, err := list.OrderByChild("n").Snapshot(ctx)
	want(t, err)
	var keys []string
	for key := range s.Children() {
		keys = append(keys, key)
	}
	for range s.Children() {
		break
	}
	a := s.Child("a")
	if !reflect.DeepEqual(keys, []string{"b", "a"}) || s.NumChildren() != 2 || a.Priority() != "p" || s.Priority() != nil ||
		a.Ref().Path() != "/list/a" || a.Key() != "a" || s.Child("x/y").Exists() || s.Child("a.b").Exists() {
		t.Errorf("%v %v", keys, s.JSON())
	}
	want(t, c.Ref("copy").Set(ctx, s))
	want(t, c.Update(ctx, map[string]any{"copy/c": a}))
	copied, err := c.Ref("copy/c").Snapshot(ctx)
	want(t, err)
	if !copied.Equal(a) || copied.Equal(s) {
		t.Errorf("copy = %s", copied.JSON())
	}
	want(t, list.SetIf(ctx, s, nil))
	if err := list.SetIf(ctx, s, 1); !errors.Is(err, dogwood.ErrStale) {
		t.Errorf("err = %v", err)
	}
}

func TestRefs(t *testing.T) {
	r := open(t).Ref("/rooms//r1/")
	for got, want := range map[string]string{
		r.Path(): "/rooms/r1", r.String() + "s": "/rooms/r1s", r.Key(): "r1", r.Parent().Path(): "/rooms", r.Root().Path(): "/", r.Root().Parent().Key(): "",
		r.Child("a/b").Path(): "/rooms/r1/a/b", r.OrderByKey().Ref().Key() + "!": "r1!",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	before := r.NewChild()
	if after := r.NewChild(); before.Key() >= after.Key() || len(after.Key()) != 20 {
		t.Errorf("%s, then %s", before.Key(), after.Key())
	}
	deep := r
	for range 31 {
		deep = deep.Child("x")
	}
	if err := deep.Set(t.Context(), 1); err == nil {
		t.Error("no place is so deep")
	}
}
