package outbox

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// TestNoticeIsBounded: changes that wait take one place in the outbox, whatever there are.
func TestNoticeIsBounded(t *testing.T) {
	o := New(EventStream, 0, noNotify)
	v := &View{Path: tree.MustParsePath("/a"), Notice: new(Notice), Counts: new(Counts)}
	o.Resume(v)
	push := func(n int, key string) {
		for i := range n {
			e := Put(tree.Target{Path: v.Path.Child(fmt.Sprintf("%s%04d", key, i%1000))}, tree.FromCanonical(`"value"`))
			e.Revision = uint64(i + 1)
			e.Measure()
			o.PushEvent(v, e)
		}
	}
	for _, c := range []struct {
		key  string
		n    int
		want string
	}{
		{"", 2, `{"revision":2,"children":["0000","0001"],"all":false}`},
		{"", 101, `{"revision":101,"children":[],"all":true}`},
		{strings.Repeat("k", 700), 6, `{"revision":6,"children":[],"all":true}`},
		{"", 100_000, `{"revision":100000,"children":[],"all":true}`},
	} {
		push(c.n, c.key)
		if messages, bytes := o.Backlog(); messages != 1 || bytes > 5000 {
			t.Errorf("%d changes: %d messages of %d bytes wait", c.n, messages, bytes)
		}
		if got, want := joined(o.Take(1<<20)), "event: notify\ndata: "+c.want+"\n\n"; got != want {
			t.Errorf("%d changes: %s, want %s", c.n, got, want)
		}
		if _, bytes := o.Backlog(); bytes != 0 {
			t.Errorf("%d bytes of an empty outbox", bytes)
		}
	}
	push(1, "x")
	End(o, v, 0)
	if got := o.Take(1 << 20); len(got) > 0 {
		t.Errorf("after the end of the view: %q", got)
	}
}
