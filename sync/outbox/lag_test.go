package outbox

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/tree"
)

// A follower is an outbox with one view, which gets events.
type follower struct {
	*Outbox
	view  *View
	whole int // how often all of the view was made
}

func newFollower(a *Allowance) *follower {
	f := &follower{Outbox: New(Realtime, 0, noNotify)}
	if a != nil {
		f.Share(a)
	}
	f.view = &View{Path: tree.Root.Child("p"), Tag: 1, Counts: new(Counts)}
	f.view.Whole = func() [][]byte {
		f.whole++
		f.Resume(f.view)
		return [][]byte{[]byte("whole")}
	}
	f.Resume(f.view)
	return f
}

// sized returns an event with a text of n bytes.
func sized(n int) *Event {
	e := Put(tree.Target{Path: tree.Root.Child("p")}, tree.String(strings.Repeat("x", n)))
	e.Measure()
	return e
}

// takeAll takes what waits, and says that it was sent.
func (f *follower) takeAll() (texts []string) {
	for msgs := f.Take(1 << 20); len(msgs) > 0; msgs = f.Take(1 << 20) {
		for _, m := range msgs {
			texts = append(texts, string(m))
		}
	}
	return texts
}

// wantWaiting checks how much of an allowance is held.
func wantWaiting(t *testing.T, doing string, a *Allowance, want int64) {
	t.Helper()
	if got := a.Waiting(); got != want {
		t.Errorf("%s: %d bytes wait, want %d", doing, got, want)
	}
}

// TestWaitingEventsAreBounded: a thousand clients of one address that read nothing take no
// more than the address may have, and each of them is sent the state in the end.
func TestWaitingEventsAreBounded(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	const size, most = 22_000, 4 << 20 // of the address: a half of what all have
	all := newAllowance(2 * WaitingPart * most)
	address := share(all, limit.Unbounded)
	var list []*follower
	for range 1000 {
		list = append(list, newFollower(address))
	}
	peak := int64(0)
	for range 10 {
		for _, f := range list {
			f.PushEvent(f.view, sized(size))
			peak = max(peak, all.Waiting())
		}
	}
	if allowed := most + sized(size).memory() + waitingStep; peak > allowed {
		t.Errorf("%d bytes waited, want %d at most", peak, allowed)
	}
	for i, f := range list {
		texts := f.takeAll()
		if last := texts[len(texts)-1]; f.whole == 0 && strings.Count(strings.Join(texts, ""), `"a":"d"`) != 10 {
			t.Fatalf("client %d is sent %d messages, and %.20q at the end", i, len(texts), last)
		}
		f.Close()
	}
	wantWaiting(t, "all are gone", all, 0)
}

// TestSharedEventsCountOnce: an event counts once for all clients that wait for it, and is
// paid by an address that still holds it.
func TestSharedEventsCountOnce(t *testing.T) {
	all := newAllowance(1 << 30)
	var addresses []*Allowance
	var list []*follower
	for range 3 {
		a := share(all, limit.Unbounded)
		addresses = append(addresses, a)
		a.graces.Store(limit.Unbounded / 2) // no more of them
		for range 4 {
			list = append(list, newFollower(a))
		}
	}
	e := sized(100_000)
	for _, f := range list {
		f.PushEvent(f.view, e)
	}
	own := int64(len(list)) * waitingStep
	wantWaiting(t, "twelve clients", all, e.memory()+own)
	for i, f := range list[:11] {
		f.takeAll()
		own -= waitingStep
		wantWaiting(t, fmt.Sprintf("%d clients have it", i+1), all, e.memory()+own)
		for _, done := range addresses[:(i+1)/4] {
			if used := done.waiting.Used(); used != 0 {
				t.Errorf("%d clients have it, and an address that has it holds %d bytes", i+1, used)
			}
		}
	}
	list[11].Take(1)
	wantWaiting(t, "the last one is being sent it", all, e.memory()+waitingStep)
	list[11].Close()
	wantWaiting(t, "all have it", all, 0)
}

// TestLargestBacklogGivesWay: where there is no room, clients lose their events that let many
// of them wait, and not one that is a little behind.
func TestLargestBacklogGivesWay(t *testing.T) {
	all := newAllowance(WaitingPart << 20)
	address := share(all, limit.Unbounded)
	large, small := newFollower(address), newFollower(address)
	for range 3 {
		small.PushEvent(small.view, sized(5_000))
	}
	for large.view.Counts.Overflows.Load() == 0 {
		large.PushEvent(large.view, sized(20_000))
	}
	small.PushEvent(small.view, sized(5_000))
	if got := len(small.takeAll()); got != 4 || small.whole != 0 {
		t.Errorf("the client that was a little behind is sent %d messages and %d views", got, small.whole)
	}
	if got := large.takeAll(); len(got) != 1 || got[0] != "whole" {
		t.Errorf("the one that was far behind is sent %d messages", len(got))
	}
}

// TestWhoKeepsUpIsNotCounted: nor does one that lags a little take more than its grace.
func TestWhoKeepsUpIsNotCounted(t *testing.T) {
	all := newAllowance(1 << 30)
	f := newFollower(all)
	var msgs [][]byte
	for range 100 {
		f.PushEvent(f.view, sized(100))
		msgs, _ = f.TakeReady(msgs[:0], 1<<20)
		wantWaiting(t, "one event at a time", all, 0)
	}
	for range 60 {
		f.PushEvent(f.view, sized(200))
	}
	wantWaiting(t, "60 small events", all, graceMemory)
	for more := true; more; {
		msgs, more = f.TakeReady(msgs[:0], 1000)
	}
	wantWaiting(t, "none", all, 0)
	e := sized(200)
	if allocs := testing.AllocsPerRun(100, func() {
		for range 60 {
			f.PushEvent(f.view, e)
		}
		msgs, _ = f.TakeReady(msgs[:0], 1<<20)
	}); allocs > 1 { // the arrays are lent
		t.Errorf("60 events that wait: %v allocations", allocs)
	}
}

// TestRepliesHoldBackWithoutMemory: who does not read replies is not read from when there is
// no memory for more of them, and is when these are read.
func TestRepliesHoldBackWithoutMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newAllowance(WaitingPart * waitingStep)
		f := newFollower(all)
		for range 2 {
			f.PushFrame([]byte(strings.Repeat("x", 3*KeptUp)))
		}
		done := make(chan error, 1)
		go func() { done <- f.Wait(t.Context()) }()
		synctest.Wait()
		select {
		case <-done:
			t.Fatal("the client is read from")
		default:
		}
		for more := true; more; {
			_, more = f.TakeReady(nil, 1)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		f.Unsent(3 * KeptUp)
		wantWaiting(t, "a part could not be sent", all, 2*waitingStep)
		f.Take(1)
		wantWaiting(t, "it was sent", all, 0)
	})
}

// TestWaitingModel: whatever comes, waits, is sent and ends, what is counted is what there
// is, and nothing is left of it.
func TestWaitingModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := newAllowance(int64(rapid.SampledFrom([]int{100 << 10, 1 << 20, 8 << 20}).Draw(t, "memory")))
		addresses := []*Allowance{all, share(all, limit.Unbounded), share(all, 200<<10)}
		var list []*follower
		for i := range 9 {
			list = append(list, newFollower(addresses[i%3]))
		}
		one := func() *follower { return rapid.SampledFrom(list).Draw(t, "client") }
		t.Repeat(map[string]func(*rapid.T){
			"event": func(t *rapid.T) {
				e := sized(rapid.SampledFrom([]int{10, 3_000, 30_000}).Draw(t, "size"))
				for _, f := range list[rapid.IntRange(0, 8).Draw(t, "from"):] {
					f.PushEvent(f.view, e)
				}
			},
			"reply":  func(*rapid.T) { one().PushFrame([]byte(strings.Repeat("r", 3_000))) },
			"view":   func(*rapid.T) { f := one(); f.PushWhole(f.view) },
			"take":   func(*rapid.T) { one().Take(10_000) },
			"ready":  func(*rapid.T) { one().TakeReady(nil, 10_000) },
			"unsent": func(*rapid.T) { f := one(); f.TakeReady(nil, 10_000); f.Unsent(5_000) },
			"resume": func(*rapid.T) { f := one(); f.Resume(f.view) },
			"close":  func(*rapid.T) { one().Close() },
			"": func(t *rapid.T) {
				var sum int64
				for _, a := range addresses {
					sum += a.waiting.Used()
				}
				if want := heldBy(list); sum != want {
					t.Fatalf("%d bytes count, and %d are held", sum, want)
				}
			},
		})
		for _, f := range list {
			f.Close()
		}
		for i, a := range addresses {
			if a.waiting.Used() != 0 || a.graces.Load() != 0 || len(a.slow.list()) != 0 {
				t.Fatalf("address %d has %d bytes left, %d of graces, %d outboxes", i, a.waiting.Used(), a.graces.Load(), len(a.slow.list()))
			}
		}
	})
}

// heldBy returns what some outboxes hold, each event once.
func heldBy(list []*follower) (sum int64) {
	events := make(map[*Event]bool)
	for _, f := range list {
		sum += f.waits.held
		if f.waits.grace {
			sum += graceMemory
		}
		for _, e := range f.waits.taken {
			events[e] = true
		}
		f.items.Keep(func(it *item) bool {
			if it.counted && it.event != nil {
				events[it.event] = true
			}
			return true
		})
	}
	for e := range events {
		sum += e.memory()
	}
	return sum
}

// TestRepliesThatFitAgain: a client that was held back when memory was short is read from when its
// replies are taken, though there was room for the last of them.
func TestRepliesThatFitAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newAllowance(WaitingPart * waitingStep)
		f := newFollower(all)
		all.waiting.Force(waitingStep)
		f.PushFrame([]byte(strings.Repeat("x", KeptUp)))
		if !f.waits.full {
			t.Fatal("there is room")
		}
		done := make(chan error, 1)
		go func() { done <- f.Wait(t.Context()) }()
		synctest.Wait()
		f.PushFrame([]byte("small"))
		for more := true; more; {
			_, more = f.TakeReady(nil, 1<<20)
		}
		synctest.Wait()
		select {
		case <-done:
		default:
			t.Error("the client is not read from, and nothing waits for it")
			f.Close()
			<-done
		}
		all.waiting.Release(waitingStep)
	})
}

// TestOwnTextsAreBounded: an event counts once for all that wait for it. Texts that they do not
// share, since each has a tag of its own or copies what it is given, count in addition, and are
// only made while there is memory.
func TestOwnTextsAreBounded(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	const size, memory = 1 << 20, 32 << 20
	for name, copies := range map[string]bool{"tags": false, "copies": true} {
		all := newAllowance(memory)
		address := share(all, limit.Unbounded)
		var list []*follower
		for i := range 50 {
			f := newFollower(address)
			if copies {
				Copies(f.Outbox, true)
			} else {
				f.view.Tag = int64(i + 1)
			}
			list = append(list, f)
		}
		e := sized(size)
		for _, f := range list {
			f.PushEvent(f.view, e)
		}
		given := 0
		for _, f := range list {
			given += len(f.Take(1 << 20)) // and does not read it
		}
		if most := int64(memory/2 + 2*size); all.Held() > most || given == 0 || given == len(list) {
			t.Errorf("%s: %d clients were given their texts, which hold %d bytes, want %d at most", name, given, all.Held(), most)
		}
		for range 2 { // the others get theirs when these have read
			for _, f := range list {
				given += len(f.takeAll())
			}
		}
		if given != len(list) {
			t.Errorf("%s: %d clients have got their texts, want %d", name, given, len(list))
		}
		if all.Held() != 0 || all.Waiting() != 0 {
			t.Errorf("%s: in the end %d bytes are held, and %d wait", name, all.Held(), all.Waiting())
		}
	}
}
