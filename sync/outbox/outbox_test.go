package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/dogwooddb/dogwood/tree"
)

func joined(msgs [][]byte) string {
	var list []string
	for _, m := range msgs {
		list = append(list, string(m))
	}
	return strings.Join(list, " ")
}

func noNotify() {}

// errOther is a reason to close.
var errOther = errors.New("another reason")

func someEvent() *Event {
	n := tree.FromCanonical(`{"sender":"hmadi","text":"hello"}`)
	e := Put(tree.Target{Path: tree.MustParsePath("/rooms/r1/m1")}, n)
	e.Measure()
	return e
}

func TestOutboxKeepsOrder(t *testing.T) {
	o := New(Realtime, 0, noNotify)
	o.PushFrame([]byte("a"))
	o.PushLater(0, func() [][]byte { return [][]byte{[]byte("b"), nil, []byte("c")} })
	o.PushFrame([]byte("d"))
	if got := joined(o.Take(1 << 20)); got != "a b c d" {
		t.Errorf("Take() = %s, want a b c d", got)
	}
	if got := o.Take(1 << 20); got != nil {
		t.Errorf("Take() of an empty outbox = %q, want nothing", got)
	}
}

// TestOutboxTakeLimit: about as many bytes as asked for, but at least one message
// and never a part of one.
func TestOutboxTakeLimit(t *testing.T) {
	o := New(Realtime, 0, noNotify)
	for i := range 6 {
		o.PushFrame([]byte(strings.Repeat(fmt.Sprint(i), 10)))
	}
	for _, step := range []struct{ max, want int }{{1, 1}, {10, 1}, {11, 2}, {1000, 2}, {1000, 0}} {
		if got := len(o.Take(step.max)); got != step.want {
			t.Errorf("Take(%d) gave %d messages, want %d", step.max, got, step.want)
		}
	}
}

// TestOutboxNotifies: whenever it is no longer empty, and when it wants to close.
func TestOutboxNotifies(t *testing.T) {
	calls := 0
	o := New(Realtime, 0, func() { calls++ })
	expect := func(doing string, want int) {
		t.Helper()
		if calls != want {
			t.Errorf("%s: notified %d times, want %d", doing, calls, want)
		}
	}
	o.PushFrame([]byte("a"))
	o.PushFrame([]byte("b"))
	expect("two messages", 1)
	o.Take(1 << 20)
	o.PushFrame([]byte("c"))
	expect("a message after all were taken", 2)
	o.Shut(ErrSlow)
	expect("shut", 3)
}

func TestOutboxClosing(t *testing.T) {
	o := New(Realtime, 0, noNotify)
	if err := o.Closing(); err != nil {
		t.Errorf("Closing() = %v, want nil", err)
	}
	o.PushFrame([]byte("last words"))
	o.Shut(errOther)
	o.Shut(ErrSlow)
	if err := o.Closing(); err != errOther {
		t.Errorf("Closing() = %v, want the first reason, %v", err, errOther)
	}
	if got := joined(o.Take(100)); got != "last words" {
		t.Errorf("Take() = %s, want what was queued before", got)
	}
}

func TestOutboxClose(t *testing.T) {
	o := New(Realtime, 10, noNotify)
	o.PushFrame([]byte("0123456789"))
	o.Close()
	o.PushFrame([]byte("a"))
	if got := o.Take(100); got != nil {
		t.Errorf("Take() of a closed outbox = %q, want nothing", got)
	}
	if err := o.Wait(t.Context()); err != nil {
		t.Errorf("Wait() of a closed outbox = %v, want nil", err)
	}
}

// TestOutboxHoldsBackReplies: who produces replies waits while too many of them
// are not taken.
func TestOutboxHoldsBackReplies(t *testing.T) {
	full := func() *Outbox {
		o := New(Realtime, 100, noNotify)
		o.PushFrame([]byte(strings.Repeat("x", 100)))
		return o
	}
	for name, end := range map[string]struct {
		f    func(o *Outbox, cancel func())
		want error
	}{
		"taken":     {func(o *Outbox, _ func()) { o.Take(1) }, nil},
		"closed":    {func(o *Outbox, _ func()) { o.Close() }, nil},
		"cancelled": {func(_ *Outbox, cancel func()) { cancel() }, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := full()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				got := make(chan error, 1)
				go func() { got <- o.Wait(ctx) }()
				synctest.Wait()
				select {
				case err := <-got:
					t.Fatalf("Wait() = %v at once, want it to wait", err)
				default:
				}
				end.f(o, cancel)
				if err := <-got; !errors.Is(err, end.want) {
					t.Errorf("Wait() = %v, want %v", err, end.want)
				}
			})
		})
	}
}

// TestOutboxOverflow: the whole view comes once for each listener, instead
// of its first event; replies stay where they are.
func TestOutboxOverflow(t *testing.T) {
	o := New(Realtime, 1000, noNotify)
	var counts Counts
	var views []*View
	for i := range 3 {
		v := &View{Path: tree.Root.Child(fmt.Sprint("p", i)), Counts: &counts}
		v.Whole = func() [][]byte {
			o.Resume(v)
			return [][]byte{fmt.Appendf(nil, "p%d=view", i)}
		}
		o.PushView(v, 0, v.Whole)
		views = append(views, v)
	}
	o.Take(1 << 20)

	event := func(i int) {
		e := Put(tree.Target{Path: views[i].Path}, tree.String("event"))
		e.Measure()
		o.PushEvent(views[i], e)
	}
	o.PushFrame([]byte("r0"))
	event(1)
	o.PushFrame([]byte("r1"))
	event(0)
	event(1)
	o.PushFrame([]byte("r2"))
	for counts.Resyncs.Load() == 0 {
		event(0)
	}
	event(0)
	event(2) // did not lose any, and is not behind
	o.PushFrame([]byte("r3"))
	if o.bytes > o.max {
		t.Errorf("%d bytes wait after an overflow, want at most %d", o.bytes, o.max)
	}

	var got []string
	for _, m := range o.Take(1 << 20) {
		s := string(m)
		if i := strings.Index(s, `"p":"p`); i >= 0 {
			s = s[i+5:i+7] + "=event"
		}
		got = append(got, s)
	}
	want := []string{"r0", "p1=view", "r1", "p0=view", "r2", "p2=event", "r3"}
	if !slices.Equal(got, want) {
		t.Errorf("Take() = %v, want %v", got, want)
	}
	if n := counts.Resyncs.Load(); n != 2 {
		t.Errorf("%d views were sent again, want 2", n)
	}

	event(0) // events come through again
	if got := joined(o.Take(1 << 20)); !strings.Contains(got, "event") {
		t.Errorf("after the views an event gives %q", got)
	}
}

// A client that is to be disconnected may lack something of what waited, so it is not told that it has
// everything.
func TestNoMarkBeforeTheEnd(t *testing.T) {
	o := New(Realtime, 0, noNotify)
	due := true
	o.Mark(func() []byte {
		if !due {
			return nil
		}
		due = false
		return []byte("mark")
	})
	if got := joined(o.Take(1 << 20)); got != "mark" {
		t.Fatalf("%.20q", got)
	}
	due = true
	o.PushLater(0, func() [][]byte { o.Shut(errOther); return nil })
	if got := joined(o.Take(1 << 20)); got != "" {
		t.Errorf("%q", got)
	}
	if msgs, _ := o.TakeReady(nil, 1<<20); len(msgs) > 0 {
		t.Errorf("%q", msgs)
	}
}
