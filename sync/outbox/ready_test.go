package outbox

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestTakeReady: it takes messages and events in order, and stops before what has
// to be made or is large.
func TestTakeReady(t *testing.T) {
	o := New(Realtime, 0, noNotify)
	o.PushFrame([]byte("a"))
	o.PushFrame([]byte("b"))
	o.PushLater(0, func() [][]byte { return [][]byte{[]byte("made")} })
	o.PushFrame([]byte("c"))
	o.PushFrame(bytes.Repeat([]byte("x"), maxReady+1))
	expect := func(want string, wantMore bool) {
		t.Helper()
		if msgs, more := o.TakeReady(nil, 1<<20); joined(msgs) != want || more != wantMore {
			t.Errorf("TakeReady() = %.20s, more %v; want %q, %v", joined(msgs), more, want, wantMore)
		}
	}
	expect("a b", true)
	expect("", true)
	if got := joined(o.Take(1)); got != "made" {
		t.Errorf("Take(1) = %s, want what had to be made", got)
	}
	expect("c", true)
	if got := len(o.Take(1 << 20)[0]); got != maxReady+1 {
		t.Errorf("Take() = a message of %d bytes, want the large one", got)
	}
	expect("", false)
	o.PushFrame([]byte("d"))
	if msgs, _ := o.TakeReady([][]byte{[]byte("before")}, 1); joined(msgs) != "before d" {
		t.Errorf("TakeReady() = %s, want it appended", joined(msgs))
	}
}

// TestTakeReadyLimit: about as many bytes as asked for, and who waits for room in
// the outbox is told.
func TestTakeReadyLimit(t *testing.T) {
	o := New(Realtime, 500, noNotify)
	for range 8 {
		o.PushFrame([]byte(strings.Repeat("x", 100)))
	}
	room := make(chan error)
	go func() { room <- o.Wait(t.Context()) }()
	if msgs, more := o.TakeReady(nil, 250); len(msgs) != 3 || !more {
		t.Errorf("TakeReady(250) gave %d messages, more %v; want 3, true", len(msgs), more)
	}
	for more := true; more; {
		_, more = o.TakeReady(nil, 250)
	}
	if err := <-room; err != nil {
		t.Error(err)
	}
}

// TestPushShared: listeners with the same tag are sent the same bytes.
func TestPushShared(t *testing.T) {
	e := someEvent()
	for _, tag := range []int64{0, 1, 2} {
		first, second := e.Push(tag), e.Push(tag)
		if &first[0] != &second[0] {
			t.Errorf("tag %d: the push was made twice", tag)
		}
		if has := bytes.Contains(first, fmt.Appendf(nil, `,"t":%d}`, tag)); has != (tag != 0) {
			t.Errorf("tag %d: %s", tag, first)
		}
	}
}

// TestDeliveryAllocations: what every listener of every event costs.
func TestDeliveryAllocations(t *testing.T) {
	o := New(Realtime, 0, noNotify)
	v := &View{Tag: 1}
	o.Resume(v)
	e := someEvent()
	e.Push(1)
	var msgs [][]byte
	allocs := testing.AllocsPerRun(100, func() {
		o.PushEvent(v, e)
		msgs, _ = o.TakeReady(msgs[:0], 1<<20)
	})
	if allocs != 0 || len(msgs) != 1 {
		t.Errorf("an event for one listener: %v allocations, %d messages; want 0, 1", allocs, len(msgs))
	}
}
