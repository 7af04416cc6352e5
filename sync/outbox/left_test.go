package outbox

import (
	"fmt"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// viewAt returns a view that says its path when all of it is made.
func viewAt(o *Outbox, path string, tag int64) *View {
	v := &View{Path: tree.MustParsePath(path), Tag: tag, Counts: new(Counts)}
	v.Whole = func() [][]byte {
		if v.Ended() {
			return nil
		}
		o.Resume(v)
		return [][]byte{[]byte("all of " + path)}
	}
	return v
}

// eventAt returns an event of a view.
func eventAt(v *View) *Event {
	e := Put(tree.Target{Path: v.Path}, tree.Number(1))
	e.Measure()
	return e
}

// TestDoubt: what a client says of a view that it has is in doubt if it has ended another one of the
// same place, until it is sent it.
func TestDoubt(t *testing.T) {
	const none = -1
	for name, c := range map[string]struct {
		do   func(o *Outbox, follow func(path string, tag int64) *View)
		want map[string]int // since which revision, by path and tag
	}{
		"nothing has ended": {
			func(_ *Outbox, follow func(string, int64) *View) { follow("/a", 0) },
			map[string]int{"/a 0": none, "/a/b 0": none},
		},
		"one has ended": {
			func(o *Outbox, follow func(string, int64) *View) { End(o, follow("/a", 0), 5) },
			map[string]int{"/a 0": 5, "/a/b 0": 5, "/ 0": 5, "/a/b 7": 5, "/ 7": 5, "/x 0": none, "/ab 0": none},
		},
		"one with a tag": {
			func(o *Outbox, follow func(string, int64) *View) { End(o, follow("/a", 1), 5) },
			map[string]int{"/a 1": 5, "/a 2": none, "/a 0": 5, "/a/b 0": 5, "/x 1": none},
		},
		"one that was not sent": {
			func(o *Outbox, _ func(string, int64) *View) { End(o, viewAt(o, "/a", 0), 5) },
			map[string]int{"/a 0": none},
		},
		"one that was sent an unknown part": {
			func(o *Outbox, _ func(string, int64) *View) {
				v := viewAt(o, "/a", 0)
				o.Resume(v)
				End(o, v, 5)
				Answered(o, v, true)
			},
			map[string]int{"/a 0": 0},
		},
		"an event waits": {
			func(o *Outbox, follow func(string, int64) *View) {
				v := follow("/a", 0)
				o.PushEvent(v, eventAt(v))
				End(o, v, 5)
				o.Take(1)
			},
			map[string]int{"/a/b 0": 0},
		},
		"an event waits behind the view": {
			func(o *Outbox, follow func(string, int64) *View) {
				v := follow("/a", 0)
				o.PushEvent(v, eventAt(v))
				End(o, v, 5)
				o.Resume(viewAt(o, "/a/b", 3))
			},
			map[string]int{"/a/b 0": 0},
		},
		"all of it waits": {
			func(o *Outbox, follow func(string, int64) *View) {
				v := follow("/a", 0)
				o.PushWhole(v)
				End(o, v, 5)
			},
			map[string]int{"/a/b 0": 0},
		},
		"one above was sent since": {
			func(o *Outbox, follow func(string, int64) *View) {
				End(o, follow("/a/b", 0), 5)
				End(o, follow("/a/c", 1), 6)
				End(o, follow("/x", 0), 7)
				follow("/a", 0)
			},
			map[string]int{"/a 0": none, "/a/b 0": none, "/a/c 1": none, "/ 0": 7},
		},
		"one below was sent since": {
			func(o *Outbox, follow func(string, int64) *View) {
				v := follow("/a", 0)
				o.PushWhole(v)
				End(o, v, 5)
				End(o, follow("/a/b", 0), 9)
			},
			map[string]int{"/a/b 0": 9, "/a/b/c 0": 9, "/a 0": 0, "/a/d 0": 0},
		},
		"one above has ended since": {
			func(o *Outbox, follow func(string, int64) *View) {
				v := follow("/a", 0)
				End(o, follow("/a/b", 0), 5)
				End(o, v, 9)
			},
			map[string]int{"/a/b 0": 9, "/a 0": 9, "/ 0": 5},
		},
		"many": {
			func(o *Outbox, follow func(string, int64) *View) {
				for i := range maxLeft + 1 {
					End(o, follow(fmt.Sprint("/a/", i), 0), uint64(100-i))
				}
				End(o, follow("/b", 0), 200)
			},
			map[string]int{"/a/1 0": 100 - maxLeft, "/x 3": 100 - maxLeft, "/b 0": 200},
		},
		"it leaves": {
			func(o *Outbox, follow func(string, int64) *View) {
				End(o, follow("/a", 0), 5)
				Leave(o)
				End(o, follow("/b", 0), 6)
			},
			map[string]int{"/a 0": none, "/b 0": none},
		},
		"an event stream": {
			func(o *Outbox, follow func(string, int64) *View) {
				o.format = EventStream
				End(o, follow("/a", 0), 5)
			},
			map[string]int{"/a 0": none},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := New(Realtime, 0, noNotify)
			c.do(o, func(path string, tag int64) *View {
				v := viewAt(o, path, tag)
				o.Resume(v)
				Answered(o, v, true)
				return v
			})
			if len(o.left) > maxLeft {
				t.Errorf("%d views are kept in mind", len(o.left))
			}
			for of, want := range c.want {
				var path string
				var tag int64
				if _, err := fmt.Sscan(of, &path, &tag); err != nil {
					t.Fatal(err)
				}
				got := none
				if since, doubt := Doubt(o, viewAt(o, path, tag)); doubt {
					got = int(since)
				}
				if got != want {
					t.Errorf("%s: in doubt since %d, want %d", of, got, want)
				}
			}
		})
	}
}

// TestLeftOutSendsAgain: a view that was made in front of older events of another one is sent again if
// the other one ends before all of that was sent.
func TestLeftOutSendsAgain(t *testing.T) {
	for name, c := range map[string]struct {
		path, other string
		tag, tag2   int64
		lags        bool // the other is to be sent again when it ends
		pushed      bool
		again       bool
	}{
		"one below":                        {"/a/b", "/a", 0, 0, false, true, true},
		"one that lags":                    {"/a/b", "/a", 0, 0, true, true, true},
		"one with a tag":                   {"/a/b", "/a", 3, 0, false, true, true},
		"one with a tag, above":            {"/a", "/a/b", 3, 0, false, true, true},
		"one of a tag":                     {"/a", "/a/b", 0, 3, false, true, true},
		"above, which the other gave way":  {"/a", "/a/b", 0, 0, false, true, false},
		"above, with a hash that was good": {"/a", "/a/b", 0, 0, false, false, true},
		"elsewhere":                        {"/b", "/a", 0, 0, false, true, false},
		"two tags":                         {"/a", "/a", 1, 2, false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := New(Realtime, 0, noNotify)
			v, other := viewAt(o, c.path, c.tag), viewAt(o, c.other, c.tag2)
			o.Resume(other)
			Answered(o, other, true)
			o.PushEvent(other, eventAt(other))
			o.Resume(v)
			Answered(o, v, c.pushed)
			if c.lags {
				o.PushWhole(other)
			}
			End(o, other, 1)
			want := ""
			if c.again {
				want = "all of " + c.path
			}
			if got := joined(o.Take(1 << 20)); got != want {
				t.Errorf("it is sent %q, want %q", got, want)
			}
			if len(o.resting) > 0 {
				t.Errorf("%d views rest on nothing", len(o.resting))
			}
		})
	}
}

// TestNothingIsLeftOut: a view is not sent again for what was sent before the other ended, or came
// later than the view.
func TestNothingIsLeftOut(t *testing.T) {
	o := New(Realtime, 0, noNotify)
	v, other := viewAt(o, "/a/b", 0), viewAt(o, "/a", 0)
	o.Resume(other)
	Answered(o, other, true)
	o.PushEvent(other, eventAt(other))
	o.Resume(v)
	Answered(o, v, true)
	o.PushEvent(other, eventAt(other))
	o.Take(1)
	End(o, other, 1)
	if got := joined(o.Take(1 << 20)); got != "" {
		t.Errorf("it is sent %q", got)
	}
}

// TestSentAgainAfterAll: the other one ends while all of it is made, when nothing waits.
func TestSentAgainAfterAll(t *testing.T) {
	woken := 0
	o := New(Realtime, 0, func() { woken++ })
	v, other := viewAt(o, "/a/b", 0), viewAt(o, "/a", 0)
	o.Resume(other)
	Answered(o, other, true)
	o.PushWhole(other)
	o.Resume(v)
	Answered(o, v, true)
	o.items.Front().make = func() [][]byte {
		woken = 0
		End(o, other, 1)
		return nil
	}
	if got := joined(o.Take(1)); got != "all of /a/b" || woken != 1 {
		t.Errorf("it is sent %q, and told of %d times", got, woken)
	}
}

// TestRestingIsBounded: beyond a bound, views that are made in front of older events are sent again.
func TestRestingIsBounded(t *testing.T) {
	o := New(Realtime, 0, noNotify)
	other := viewAt(o, "/a", 0)
	o.Resume(other)
	o.PushEvent(other, eventAt(other))
	for i := range maxResting + 2 {
		o.Resume(viewAt(o, fmt.Sprint("/a/", i), 0))
	}
	if len(o.resting) != maxResting || o.items.Len() != 3 {
		t.Errorf("%d views rest on others, %d items wait", len(o.resting), o.items.Len())
	}
}
