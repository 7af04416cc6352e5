package outbox

import (
	"runtime"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/limit"
)

// entered returns how many places a share can have now.
func entered(s *limit.Share) (n int) {
	for s.Try(1) == nil {
		n++
	}
	return n
}

// No more is read at a time than there are processors, but by two at least.
func TestReaders(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for procs, want := range map[int][2]int{1: {2, 1}, 2: {2, 1}, 4: {4, 2}, 64: {8, 4}} {
		runtime.GOMAXPROCS(procs)
		all, one := entered(NewReaders().All()), entered(NewReaders().Share(limit.Unbounded))
		if got := [2]int{all, one}; got != want {
			t.Errorf("with %d processors %d places, %d of one share; want %d", procs, all, one, want)
		}
	}
}

// big queues a message of n bytes that is made when it is its turn.
func big(o *Outbox, n int) {
	o.PushLater(0, func() [][]byte { return [][]byte{[]byte(strings.Repeat("x", n))} })
}

func TestAllowanceMakesLargeMessagesLater(t *testing.T) {
	const size = 100 << 10
	b := newAllowance(2*size - 1)
	notified := make(map[int]int)
	var boxes []*Outbox
	for i := range 4 {
		o := New(Realtime, 0, func() { notified[i]++ })
		o.Share(b)
		big(o, size)
		boxes = append(boxes, o)
	}
	clear(notified)
	for i, want := range []int{1, 1, 0, 0} { // two fill it
		if got := len(boxes[i].Take(1)); got != want {
			t.Errorf("client %d was given %d messages, want %d", i, got, want)
		}
	}
	if got := boxes[0].Take(1); got != nil { // says that the first was sent
		t.Errorf("an empty outbox gave %d messages", len(got))
	}
	if notified[2] != 1 || notified[3] != 1 {
		t.Errorf("clients that wait were notified %v", notified)
	}
	if got := boxes[2].Take(1); len(got) != 1 {
		t.Error("no message though there is room")
	}
	boxes[1].Close() // gives up
	if got := boxes[3].Take(1); len(got) != 1 {
		t.Error("no message though a client has gone")
	}
	for _, o := range boxes {
		o.Close()
	}
	if b.Held() != 0 {
		t.Errorf("%d bytes are left in the allowance", b.Held())
	}
}

func TestAllowanceDoesNotHoldUpSmallMessages(t *testing.T) {
	b := newAllowance(1)
	slow := New(Realtime, 0, func() {})
	slow.Share(b)
	big(slow, 1<<20) // more than there is, but alone
	if got := slow.Take(1); len(got) != 1 {
		t.Fatal("a message above the budget is never made")
	}
	other := New(Realtime, 0, func() {})
	other.Share(b)
	other.PushFrame([]byte("small"))
	if got := other.Take(1); len(got) != 1 {
		t.Error("a small message waits for the budget")
	}
}

// TestAllowanceShares: whoever does not read can use up his share, and others go on.
func TestAllowanceShares(t *testing.T) {
	const size = 104 << 10 // which memory is given out in
	b := newAllowance(10 * size)
	woken := make(map[*Outbox]int)
	outbox := func(b *Allowance) *Outbox {
		var o *Outbox
		o = New(Realtime, 0, func() { woken[o]++ })
		o.Share(b)
		big(o, size)
		return o
	}
	taken := func(b *Allowance, boxes int) (list []*Outbox, n int) {
		for range boxes {
			o := outbox(b)
			n += len(o.Take(1))
			list = append(list, o)
		}
		return list, n
	}
	greedy, good, last := share(b, 10*size), share(b, 10*size), share(b, 10*size)
	first, n := taken(greedy, 20)
	if n != 6 { // the one that makes it more than a half is the last
		t.Errorf("an address alone is given %d of 10, want 6", n)
	}
	_, n = taken(good, 20)
	if n != 3 {
		t.Errorf("the next is given %d, want 3", n)
	}
	_, n = taken(last, 20)
	if n != 1 {
		t.Errorf("the third is given %d, want 1", n)
	}
	clear(woken)
	for _, o := range first[:6] {
		o.Close()
	}
	for _, o := range first[6:] {
		if woken[o] == 0 {
			t.Fatal("who waits was not told that his share has room again")
		}
	}
	if got := first[6].Take(1); len(got) != 1 {
		t.Error("no message though the share has room again")
	}
}

// TestAllowanceTurns: who waits for his share's turn to read does not hold up others.
func TestAllowanceTurns(t *testing.T) {
	b := newAllowance(1 << 20)
	busy, other := share(b, 1<<20), share(b, 1<<20)
	entered(busy.views) // with what is read for long
	entered(busy.values)
	o := New(Realtime, 0, func() {})
	o.Share(other)
	big(o, 1)
	if got := o.Take(1); len(got) != 1 {
		t.Error("no message while another share is at it")
	}
}

// TestAllowanceValuesBesideViews: values do not wait for views, which may wait for the
// committer.
func TestAllowanceValuesBesideViews(t *testing.T) {
	b := newAllowance(1 << 20)
	if entered(b.views) != MaxViews {
		t.Error("views cannot have all of their places")
	}
	value := New(Realtime, 0, func() {})
	value.Share(b)
	big(value, 1)
	if got := value.Take(1); len(got) != 1 {
		t.Error("a value waits for views")
	}
}

// TestAllowanceHasBound: a share has no more than it was given, whatever is left.
func TestAllowanceHasBound(t *testing.T) {
	const size = 100 << 10
	b := newAllowance(10 * size)
	part := share(b, 2*size)
	made := 0
	for range 5 {
		o := New(Realtime, 0, func() {})
		o.Share(part)
		big(o, size)
		made += len(o.Take(1))
	}
	if made != 2 {
		t.Errorf("a share of 2 messages is given %d", made)
	}
	if held := b.Held(); held < 2*size || held >= 3*size {
		t.Errorf("messages hold %d bytes, want those of 2 messages of %d", held, size)
	}
}

// newAllowance returns an allowance with places of its own.
func newAllowance(max int64) *Allowance {
	return NewAllowance(max, NewReaders().All())
}

// share returns a share of b for one more address.
func share(b *Allowance, max int64) *Allowance {
	return b.Share(max, b.values.Meter().Share(limit.Unbounded))
}
