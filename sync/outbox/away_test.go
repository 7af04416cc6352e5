package outbox

import (
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/limit"
)

// The answer to a long poll counts until it was sent, whatever is taken after it, and also when the outbox
// is closed. Without room for more, each is given little.
func TestTakenAway(t *testing.T) {
	const small, large, batch, memory = 15 << 10, 200 << 10, 256 << 10, 1 << 20
	all := newAllowance(memory)
	woken := 0
	o := New(Realtime, 4*memory, func() { woken++ })
	o.Share(all)
	Copies(o, true)
	fill := func(n int64) {
		for range n {
			o.PushFrame([]byte(strings.Repeat("x", small)))
		}
	}
	var holds []*limit.Hold
	var total, least int64
	take := func(max int) (size int64) {
		h := new(limit.Hold)
		for _, msg := range TakeAway(o, max, h) {
			size += int64(len(msg))
		}
		holds = append(holds, h)
		if total += size; h.Size() != size || all.Held() != total {
			t.Fatalf("after %d bytes %d are held, and %d in all of %d", size, h.Size(), all.Held(), total)
		}
		return size
	}
	fill(18)
	for i := range 40 {
		least = take(batch)
		if i == 0 && least != 18*small {
			t.Errorf("%d bytes are given at first", least)
		}
		fill(least / small)
	}
	if total < memory || least != small || total > memory+40*small {
		t.Errorf("%d bytes are given at last, and %d in all", least, total)
	}
	o.Close()
	if all.Held() != total {
		t.Errorf("after the end %d bytes are held of %d", all.Held(), total)
	}

	o = New(Realtime, 0, func() { woken++ })
	o.Share(all)
	big(o, large)
	if size := take(batch); size != 0 {
		t.Errorf("%d bytes are made without room", size)
	}
	woken = 0
	for _, h := range holds {
		h.End()
	}
	if all.Held() != 0 || woken == 0 {
		t.Errorf("%d bytes are left, and it is told %d times", all.Held(), woken)
	}
	if total = 0; take(batch) != large {
		t.Error("a large message is not made though there is room")
	}
}

// A message that needs room to be made is made where a poll that asks for a batch takes the last of it.
func TestTakeAwayLeavesRoom(t *testing.T) {
	const batch = 256 << 10
	for _, free := range []int64{batch - 1, batch, batch + 1, batch + 2} {
		all := newAllowance(1 << 20)
		all.memory.Force(1<<20 - free)
		o := New(Realtime, 0, func() {})
		o.Share(all)
		big(o, 2*smallMessage)
		var h limit.Hold
		if got := TakeAway(o, batch, &h); len(got) != 1 {
			t.Errorf("with %d bytes free it is given %d messages", free, len(got))
		}
	}
}
