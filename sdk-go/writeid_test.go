package dogwood_test

import (
	"errors"
	"regexp"
	"slices"
	"testing"

	"github.com/tidwall/gjson"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

var writeID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}:([0-9]+)$`)

// writeNumber returns the number of a write, and its whole id.
func writeNumber(t *testing.T, r gjson.Result) (number, id string) {
	t.Helper()
	id = r.Get("b.w").String()
	m := writeID.FindStringSubmatch(id)
	if m == nil {
		t.Fatalf("the write has the id %q: %s", id, r.Raw)
	}
	return m[1], id
}

// A server that knows writes again gets all of them a second time when it did not
// answer, under the ids that they had.
func TestWriteIDs(t *testing.T) {
	ctx := t.Context()
	s := newScript(t)
	c := s.begin(dogwood.Options{})
	one := s.acceptWith("one", `["x","w"]`)
	var results []<-chan error
	var ids []string
	for i, w := range []struct {
		write        func() error
		action, part string
	}{
		{func() error { return c.Ref("n").Set(ctx, dogwood.Increment(1)) }, "p", `"increment":1`},
		{func() error { return c.Update(ctx, map[string]any{"a": 1, "b": 2}) }, "m", `"a":1`},
		{func() error { return c.Ref("new").Create(ctx, 3) }, "p", `"h":""`},
		{func() error { _, err := c.Ref("list").Push(ctx, 4); return err }, "p", `"d":4`},
	} {
		results = append(results, result(w.write))
		r := one.request(w.action, w.part)
		number, id := writeNumber(t, r)
		if number != string(rune('1'+i)) {
			t.Errorf("write %d has the number %s", i+1, number)
		}
		ids = append(ids, id)
	}
	get := result(func() error { return c.Ref("a").Get(ctx, new(int)) })
	if r := one.request("g", "/a"); r.Get("b.w").Exists() {
		t.Errorf("a read has an id: %s", r.Raw)
	}
	one.answer("2", "ok", `""`) // of the first two, the second is known to be done
	want(t, <-results[1])
	want(t, one.Close())

	two := s.acceptWith("two", `["w"]`)
	for i, action := range []string{"p", "", "p", "p"} {
		if action == "" {
			continue
		}
		r := two.request(action, "")
		if _, id := writeNumber(t, r); id != ids[i] {
			t.Errorf("write %d has the id %s, want %s as before", i+1, id, ids[i])
		}
		two.answer(r.Get("r").Raw, "ok", `""`)
		want(t, <-results[i])
	}
	two.answer(two.hear("g", "/a"), "ok", `1`)
	want(t, <-get)
}

// A transaction whose answer was lost counts once, also if the connection is lost
// several times.
func TestTransactionIsSentAgain(t *testing.T) {
	ctx := t.Context()
	s := newScript(t)
	c := s.begin(dogwood.Options{})
	conn := s.acceptWith("one", `["w"]`)
	sum := result(func() error {
		n, err := dogwood.Transaction(ctx, c.Ref("n"), func(n int) (int, error) { return n + 1, nil })
		if err == nil && n != 2 {
			t.Errorf("n = %d, want what the transaction has set", n)
		}
		return err
	})
	var ids []string
	for i, value := range []string{"1", "2", "7"} { // others go on, too
		if i > 0 {
			want(t, conn.Close())
			conn = s.acceptWith("again", `["w"]`)
		}
		listen := conn.hear("q", `"/n"`)
		conn.push("d", `{"p":"n","d":`+value+`}`)
		conn.answer(listen, "ok", `{}`)
		r := conn.request("p", `"d":2`)
		_, id := writeNumber(t, r)
		if ids = append(ids, id); id != ids[0] {
			t.Errorf("the ids are %q", ids)
		}
		if i == 2 {
			conn.answer(r.Get("r").Raw, "ok", `""`)
		}
	}
	want(t, <-sum)
}

// If the next server does not know writes again, what must not be carried out twice
// fails, and the rest is sent.
func TestWriteIDsAreNotKnown(t *testing.T) {
	ctx := t.Context()
	s := newScript(t)
	c := s.begin(dogwood.Options{})
	one := s.acceptWith("one", `["w"]`)
	set := result(func() error { return c.Ref("a").Set(ctx, 1) })
	one.hear("p", `"/a"`)
	create := result(func() error { return c.Ref("b").Create(ctx, 2) })
	one.hear("p", `"/b"`)
	want(t, one.Close())
	two := s.accept("two")
	r := two.request("p", `"/a"`)
	if r.Get("b.w").Exists() {
		t.Errorf("an id for who does not know any: %s", r.Raw)
	}
	two.answer(r.Get("r").Raw, "ok", `""`)
	want(t, <-set)
	if err := <-create; !errors.Is(err, dogwood.ErrDisconnected) {
		t.Errorf("err = %v, want ErrDisconnected", err)
	}
}

// No two clients have the same name.
func TestWritersDiffer(t *testing.T) {
	var names []string
	for range 100 {
		names = append(names, dogwood.NewWriter())
	}
	slices.Sort(names)
	if n := len(slices.Compact(names)); n != 100 {
		t.Errorf("%d names of 100 clients", n)
	}
}
