package outbox

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
)

// notified is an outbox with a view that has notices.
func notified(f Format, tag int64, notify func()) (*Outbox, *View) {
	o := New(f, 0, notify)
	v := &View{Path: tree.MustParsePath("/a"), Tag: tag, Notice: new(Notice), Counts: new(Counts)}
	v.Whole = func() [][]byte {
		o.Resume(v)
		return [][]byte{v.NoticeOfAll(f, 7)}
	}
	o.Resume(v)
	return o, v
}

// writes pushes n events of children whose names begin with key, up to 1,000 of them.
func writes(n int, key string, to func(*Event)) {
	for i := range n {
		e := Put(tree.Target{Path: tree.MustParsePath("/a").Child(fmt.Sprintf("%s%04d", key, i%1000))}, tree.FromCanonical(`"value"`))
		e.Revision = uint64(i + 1)
		e.Measure()
		to(e)
		e.Told()
	}
}

// TestNoticeIsBounded: changes that wait take one place in the outbox, whatever there are.
func TestNoticeIsBounded(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	synctest.Test(t, func(t *testing.T) {
		o, v := notified(EventStream, 0, noNotify)
		push := func(n int, key string) { writes(n, key, func(e *Event) { o.PushEvent(v, e) }) }
		for _, c := range []struct {
			key  string
			n    int
			want string
		}{
			{"", 2, `{"revision":2,"children":["0000","0001"],"all":false}`},
			{"", 101, `{"revision":101,"children":[],"all":true}`},
			{strings.Repeat("k", 700), 6, `{"revision":101,"children":[],"all":true}`},
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
			time.Sleep(NoticeEvery)
		}
		push(1, "x")
		End(o, v, 0)
		if got := o.Take(1 << 20); len(got) > 0 {
			t.Errorf("after the end of the view: %q", got)
		}
	})
}

// TestNoticesArePaced: a view has one notice in NoticeEvery, also if all of it is to be sent, and the
// client's other messages do not wait for that.
func TestNoticesArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		woken := 0
		o, v := notified(Realtime, 3, func() { woken++ })
		push := func(n int) { writes(n, "", func(e *Event) { o.PushEvent(v, e) }) }
		take := func(want ...string) {
			t.Helper()
			synctest.Wait()
			for i, d := range want {
				want[i] = `{"t":"d","d":{"a":"nt","b":{"p":"a","d":` + d + `,"t":3}}}`
			}
			if got := joined(o.Take(1 << 20)); got != strings.Join(want, "") {
				t.Fatalf("%s, want %s", got, want)
			}
		}
		push(1)
		take(`{"revision":1,"children":["0000"],"all":false}`)
		woken = 0
		push(2)
		time.Sleep(NoticeEvery - 1)
		push(1)
		take()
		if woken != 0 {
			t.Errorf("woken %d times before there is anything", woken)
		}
		o.PushFrame([]byte("reply"))
		if got := joined(o.Take(1 << 20)); got != "reply" {
			t.Errorf("%q, want the reply", got)
		}
		time.Sleep(1)
		take(`{"revision":2,"children":["0000","0001"],"all":false}`)
		if woken != 2 {
			t.Errorf("woken %d times, want 2", woken)
		}

		o.PushWhole(v)
		push(3) // which all of the view brings
		take()
		time.Sleep(NoticeEvery)
		synctest.Wait()
		if got, more := o.TakeReady(nil, 1<<20); len(got) != 0 || !more {
			t.Fatalf("%q is ready", got)
		}
		take(`{"revision":7,"children":[],"all":true}`)
		push(1)
		take()
		time.Sleep(NoticeEvery)
		take(`{"revision":2,"children":["0000"],"all":false}`)

		time.Sleep(NoticeEvery)
		push(1)
		o.PushWhole(v) // takes the place of the notice
		take(`{"revision":7,"children":[],"all":true}`)
		push(1)
		End(o, v, 0)
		time.Sleep(NoticeEvery)
		take()
	})
}

// TestNoticesGiveWay: the notices of many views take no more than an outbox may hold. Then they say that
// any child may have changed, and the client is not thought to be slow.
func TestNoticesGiveWay(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	synctest.Test(t, func(t *testing.T) {
		o, v := notified(Realtime, 1, noNotify)
		views := []*View{v}
		for tag := range int64(4999) {
			v := &View{Path: v.Path, Tag: tag + 2, Notice: new(Notice), Counts: v.Counts}
			o.Resume(v)
			views = append(views, v)
		}
		most := 0
		for range 3 {
			writes(20, "", func(e *Event) {
				for _, v := range views {
					o.PushEvent(v, e)
					_, bytes := o.Backlog()
					most = max(most, bytes)
				}
			})
			time.Sleep(NoticeEvery)
			synctest.Wait()
			all, n := 0, 0
			for msgs := o.Take(1 << 20); len(msgs) > 0; msgs = o.Take(1 << 20) {
				for _, msg := range msgs {
					n++
					if strings.Contains(string(msg), `"all":true`) {
						all++
					}
				}
			}
			if n != len(views) || all == 0 || all == n {
				t.Errorf("%d of %d notices are of all", all, n)
			}
		}
		if most > DefaultBytes+5000 || o.Closing() != nil {
			t.Errorf("%d bytes waited, %v", most, o.Closing())
		}
	})
}

// TestNoticesShareNames: listeners with the same changes share the list of their names.
func TestNoticesShareNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, a := notified(Realtime, 1, noNotify)
		other, b := notified(Realtime, 1, noNotify)
		writes(50, "", func(e *Event) {
			o.PushEvent(a, e)
			other.PushEvent(b, e)
		})
		if a.Notice.changed != b.Notice.changed || len(a.Notice.changed.keys) != 50 {
			t.Errorf("%v and %v", a.Notice.changed, b.Notice.changed)
		}
		before := a.Notice.changed
		writes(50, "", func(e *Event) { o.PushEvent(a, e) })
		if a.Notice.changed != before {
			t.Error("the same names make another list")
		}
	})
}
