package sync

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

func TestOutboxKeepsOrder(t *testing.T) {
	o := NewOutbox(Realtime, 0, noNotify)
	o.PushFrame([]byte("a"))
	o.pushLater(0, func() [][]byte { return [][]byte{[]byte("b"), nil, []byte("c")} })
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
	o := NewOutbox(Realtime, 0, noNotify)
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
	o := NewOutbox(Realtime, 0, func() { calls++ })
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
	o.shut(errSlow)
	expect("shut", 3)
}

func TestOutboxClosing(t *testing.T) {
	o := NewOutbox(Realtime, 0, noNotify)
	if err := o.Closing(); err != nil {
		t.Errorf("Closing() = %v, want nil", err)
	}
	o.PushFrame([]byte("last words"))
	o.shut(errCancelled)
	o.shut(errSlow)
	if err := o.Closing(); err != errCancelled {
		t.Errorf("Closing() = %v, want the first reason, %v", err, errCancelled)
	}
	if got := joined(o.Take(100)); got != "last words" {
		t.Errorf("Take() = %s, want what was queued before", got)
	}
}

func TestOutboxClose(t *testing.T) {
	o := NewOutbox(Realtime, 10, noNotify)
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
		o := NewOutbox(Realtime, 100, noNotify)
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

// TestOutboxCountsWhatWaitsForItsTurn: a reply that is made later counts with
// what it keeps in memory, so a client cannot pile up large requests.
func TestOutboxCountsWhatWaitsForItsTurn(t *testing.T) {
	db := openTest(t, Options{})
	c := connect(t, db, "a", 4000)
	for i := 0; c.out.bytes <= c.out.max; i++ {
		if i > 100 {
			t.Fatalf("100 gets with queries of 1 kB count %d bytes", c.out.bytes)
		}
		c.send(fmt.Sprintf(`{"r":%d,"a":"g","b":{"p":"/x","q":{"i":".value","ep":%q}}}`, i, strings.Repeat("x", 1000)))
	}
	c.frames()
}

// TestOutboxOverflow: the whole view comes once for each listener, instead
// of its first event; replies stay where they are.
func TestOutboxOverflow(t *testing.T) {
	db := openTest(t, Options{})
	o := NewOutbox(Realtime, 1000, noNotify)
	var listeners []*Listener
	for i := range 3 {
		l := &Listener{db: db, out: o, read: Read{Caller: Admin, Path: tree.Root.Child(fmt.Sprint("p", i)), Plain: true}}
		if err := db.attach(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		o.pushView(l, 0, l.resync)
		listeners = append(listeners, l)
	}
	o.Take(1 << 20)

	event := func(i int) {
		e := put(tree.Target{Path: listeners[i].read.Path}, tree.String("event"))
		e.measure()
		o.pushEvent(listeners[i], e)
	}
	o.PushFrame([]byte("r0"))
	event(1)
	o.PushFrame([]byte("r1"))
	event(0)
	event(1)
	o.PushFrame([]byte("r2"))
	for db.stats.resyncs.Load() == 0 {
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
		s := unwrap(string(m))
		if i := strings.Index(s, `"p":"p`); i >= 0 {
			s = s[i+5:i+7] + map[bool]string{true: "=event", false: "=view"}[strings.Contains(s, "event")]
		}
		got = append(got, s)
	}
	want := []string{"r0", "p1=view", "r1", "p0=view", "r2", "p2=event", "r3"}
	if !slices.Equal(got, want) {
		t.Errorf("Take() = %v, want %v", got, want)
	}
	if n := db.Stats().Resyncs; n != 2 {
		t.Errorf("%d views were sent again, want 2", n)
	}

	event(0) // events come through again
	if got := joined(o.Take(1 << 20)); !strings.Contains(got, "event") {
		t.Errorf("after the views an event gives %q", got)
	}
}

// TestOutboxGivesUp: when replies alone are far beyond the bound the client is
// to be disconnected.
func TestOutboxGivesUp(t *testing.T) {
	db := openTest(t, Options{})
	c := connect(t, db, "a", 100)
	c.send(`{"r":1,"a":"q","b":{"p":"/x","h":""}}`)
	c.frames()
	for range 10 {
		c.out.PushFrame(make([]byte, 100))
	}
	set(t, db, "/x", "1")
	if err := c.out.Closing(); err != errSlow {
		t.Errorf("Closing() = %v, want %v", err, errSlow)
	}
	c.session.Close()
}

// TestSlowConsumerBlocksNobody: a client that takes nothing at all costs a
// bounded amount of memory, and writes go on.
func TestSlowConsumerBlocksNobody(t *testing.T) {
	db := openTest(t, Options{})
	slow := connect(t, db, "slow", 10_000)
	defer slow.session.Close()
	slow.send(`{"r":1,"a":"q","b":{"p":"/x","h":""}}`)
	slow.send(`{"r":2,"a":"q","b":{"p":"/x","q":{"i":".key","l":2,"vf":"r"},"t":1,"h":""}}`)
	slow.frames()
	value := fmt.Sprintf("%q", strings.Repeat("v", 900))
	for i := range 1000 {
		set(t, db, fmt.Sprintf("/x/k%03d", i), value)
		if slow.out.bytes > 12_000 {
			t.Fatalf("%d bytes wait for a slow client, want about 10000", slow.out.bytes)
		}
	}
	n := get(t, db, "/x")
	if frames := strings.Join(slow.frames(), "\n"); !strings.Contains(frames, n) {
		t.Errorf("the client is sent %.100s…, want the whole view", frames)
	}
	set(t, db, "/x/last", "1")
	if got := strings.Join(slow.frames(), "\n"); !strings.Contains(got, `"p":"x/last","d":1`) {
		t.Errorf("after it caught up the client gets %s", got)
	}
}
