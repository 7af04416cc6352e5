package queue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A queueTest adds named tasks to a queue and takes them.
type queueTest struct {
	*testing.T
	*Queue[*task, *quota]
}

func newQueueTest(t *testing.T) queueTest { return queueTest{t, New[*task, *quota](1 << 30)} }

// from adds tasks of a sender, one for each word.
func (q queueTest) from(from *quota, l *line, est time.Duration, names string) {
	q.Helper()
	for _, name := range strings.Fields(names) {
		if err := q.Add(q.Context(), from, item{&task{name}, l, 1, est, false}); err != nil {
			q.Fatal(err)
		}
	}
}

// takes takes one task after the other and charges for each what it took, its estimate
// if that is 0.
func (q queueTest) takes(took time.Duration, want string) {
	q.Helper()
	var names []string
	for range strings.Fields(want) {
		q.Take(0)
		t, ok := q.Next(false)
		if !ok {
			break
		}
		spent := took
		if took == 0 {
			spent = t.Cost
		}
		q.Charge([]item{t}, []time.Duration{spent})
		names = append(names, t.Task.name)
	}
	if got := strings.Join(names, " "); got != want {
		q.Errorf("took %s, want %s", got, want)
	}
}

// TestFairSessions: sessions take turns, and the tasks of each stay in order.
func TestFairSessions(t *testing.T) {
	q := newQueueTest(t)
	var a, b, c line
	q.from(nil, &a, time.Millisecond, "a1 a2 a3 a4 a5 a6")
	q.from(nil, &b, time.Millisecond, "b1 b2")
	q.takes(0, "a1 b1")
	q.from(nil, &c, time.Millisecond, "c1 c2")
	q.takes(0, "a2 b2 c1 a3 c2 a4 a5 a6")
}

// TestFairVisits: small tasks of a session, or of an address, are taken some in a row, so
// that a batch has many of few. A task that took long ends the visit, and a session that
// comes meanwhile waits for no more than one visit of each other.
func TestFairVisits(t *testing.T) {
	const visit = int(maxVisit / TaskCost)
	times := func(n int, name string) string { return strings.TrimSpace(strings.Repeat(name+" ", n)) }
	for _, address := range []*quota{nil, new(quota)} {
		q := newQueueTest(t)
		var a, b, c line
		q.from(address, &a, TaskCost, times(2*visit, "a"))
		q.from(address, &b, TaskCost, times(2*visit, "b"))
		q.takes(0, times(visit, "a")+" "+times(visit, "b")+" a")
		q.takes(time.Second, "a")
		q.from(address, &c, TaskCost, "c")
		q.takes(0, times(visit, "b")+" c "+times(visit-2, "a"))
	}
}

// TestFairVisitsOfMany: the visits of many sessions are shorter, so that each comes as soon.
func TestFairVisitsOfMany(t *testing.T) {
	q := newQueueTest(t)
	lines := make([]line, maxRound/TaskCost)
	for i := range lines {
		q.from(nil, &lines[i], TaskCost, "x x x")
	}
	for range lines {
		q.takes(0, "x")
	}
	for i := range lines {
		if left := lines[i].tasks.Len(); left != 2 {
			t.Fatalf("session %d has %d tasks left, want 2", i, left)
		}
	}
}

// TestFairAddresses: the sessions of one address share one turn.
func TestFairAddresses(t *testing.T) {
	q := newQueueTest(t)
	many, one := new(quota), new(quota)
	for i := range 4 {
		q.from(many, new(line), time.Millisecond, fmt.Sprintf("m%d m%d", i, i))
	}
	q.from(one, new(line), time.Millisecond, "a b c d")
	q.takes(0, "m0 a m1 b m2 c m3 d m0 m1 m2 m3")
}

// TestFairByEstimate: a small task overtakes the large ones of others, which come in
// their turn all the same.
func TestFairByEstimate(t *testing.T) {
	q := newQueueTest(t)
	var large, small line
	q.from(nil, &large, 3*time.Millisecond, "L1 L2")
	q.from(nil, &small, time.Millisecond, "s1 s2 s3 s4 s5 s6 s7 s8")
	q.takes(0, "s1 s2 L1 s3 s4 s5 L2 s6 s7 s8")
}

// TestFairByTime: a sender whose tasks took longer than estimated waits for it.
func TestFairByTime(t *testing.T) {
	q := newQueueTest(t)
	var slow, fast line
	q.from(nil, &slow, time.Millisecond, "S1 S2")
	q.takes(4*time.Millisecond, "S1")
	q.from(nil, &fast, time.Millisecond, "f1 f2 f3 f4 f5")
	q.takes(0, "f1 f2 f3 S2 f4 f5")
}

// TestFairDebt: what a session or an address used counts although it has nothing queued
// for a moment, and is forgiven when nothing at all is queued.
func TestFairDebt(t *testing.T) {
	for _, address := range []*quota{nil, new(quota)} {
		q := newQueueTest(t)
		var slow, fast line
		q.from(address, &slow, time.Millisecond, "S1")
		q.from(nil, &fast, time.Millisecond, "f1 f2 f3 f4 f5 f6")
		q.takes(4*time.Millisecond, "S1")
		q.from(address, &slow, time.Millisecond, "S2")
		q.takes(0, "f1 f2 f3 f4 S2 f5 f6")

		q.from(address, &slow, time.Millisecond, "S3")
		q.takes(time.Hour, "S3")
		q.from(address, &slow, time.Millisecond, "S4 S5")
		q.from(nil, &fast, time.Millisecond, "f7 f8")
		q.takes(0, "S4 f7 S5 f8")
	}
}

// TestFairRequests: requests without a session are told apart by their address.
func TestFairRequests(t *testing.T) {
	q := newQueueTest(t)
	many, one := new(quota), new(quota)
	for i := range 4 {
		q.from(many, nil, time.Millisecond, fmt.Sprint("m", i))
	}
	q.from(one, nil, time.Millisecond, "a")
	q.from(nil, nil, time.Millisecond, "x")
	q.takes(0, "m0 a x m1 m2 m3")
}

// TestBatchCost: a batch is bounded by the estimates of its tasks.
func TestBatchCost(t *testing.T) {
	q := newQueueTest(t)
	var l line
	q.from(nil, &l, MaxBatchCost/2, "a b c")
	q.from(nil, &l, 3*MaxBatchCost, "d")
	q.from(nil, &l, time.Millisecond, "e")
	for _, want := range []string{"a b", "c", "d", "e"} {
		var got []string
		q.Take(0)
		for t, ok := q.Next(false); ok; t, ok = q.Next(false) {
			got = append(got, t.Task.name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("a batch has %v, want %s", got, want)
		}
	}
}

// TestQueueIsShared: an address that fills its part of the queue blocks, and leaves room
// for others.
func TestQueueIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[*task, *quota](100)
		greedy, other := new(quota), new(quota)
		ctx, cancel := context.WithCancel(t.Context())
		var blocked atomic.Int32
		for range 100 {
			go func() {
				if q.Add(ctx, greedy, sized(1, nil)) != nil {
					blocked.Add(1)
				}
			}()
		}
		synctest.Wait()
		if q.bytes != 50 {
			t.Errorf("one address has filled %d bytes of 100, want 50", q.bytes)
		}
		if err := q.Add(t.Context(), other, sized(25, nil)); err != nil {
			t.Error(err)
		}
		cancel()
		synctest.Wait()
		if n := blocked.Load(); n != 50 {
			t.Errorf("%d tasks were not added, want 50", n)
		}
	})
}

// TestAddressesAreForgotten: many addresses that come once leave nothing behind.
func TestAddressesAreForgotten(t *testing.T) {
	q := newQueueTest(t)
	for i := range 3 * maxAddresses {
		q.from(new(quota), nil, time.Millisecond, fmt.Sprint(i))
		q.takes(time.Hour, fmt.Sprint(i))
	}
	if len(q.of) > maxAddresses {
		t.Errorf("%d addresses are remembered, want at most %d", len(q.of), maxAddresses)
	}
}

// TestFairModel: whatever the senders do, nothing is lost, the tasks of a line stay in
// order, and senders that always have tasks use the same time.
func TestFairModel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(rand.Uint64(), 1))
	q := newQueueTest(t)
	lines := make([]line, 5)
	quotas := []*quota{nil, nil, new(quota), new(quota), new(quota)}
	added, taken, used := make([]int, 5), make([]int, 5), make([]time.Duration, 5)
	const most = 8 * time.Millisecond
	for range 5000 {
		for i := range lines {
			for lines[i].tasks.Len() < 3 {
				q.from(quotas[i], &lines[i], time.Duration(rnd.IntN(int(most))), fmt.Sprint(i, "-", added[i]))
				added[i]++
			}
		}
		q.Take(0)
		next, _ := q.Next(false)
		var i, n int
		fmt.Sscanf(next.Task.name, "%d-%d", &i, &n)
		if n != taken[i] {
			t.Fatalf("line %d: took task %d, want %d", i, n, taken[i])
		}
		taken[i]++
		took := time.Duration(rnd.IntN(int(most)))
		used[i] += took
		q.Charge([]item{next}, []time.Duration{took})
	}
	if slices.Max(used)-slices.Min(used) > 3*most {
		t.Errorf("senders used %v, want about the same", used)
	}
}

// back puts tasks of a sender back, one for each word.
func (q queueTest) back(from *quota, l *line, est time.Duration, names string) {
	q.Helper()
	var tasks []*task
	for _, name := range strings.Fields(names) {
		tasks = append(tasks, &task{name})
	}
	if !q.PutBack(tasks, func(t *task) (*quota, item) { return from, item{t, l, 1, est, false} }) {
		q.Fatal("the queue is closed")
	}
}

// TestPutBack: tasks that are put back come before those that came later, of their sender
// and of all others.
func TestPutBack(t *testing.T) {
	q := newQueueTest(t)
	address, other := new(quota), new(quota)
	var session, next, bystander line
	q.from(address, &session, time.Millisecond, "s3 s4")
	q.from(address, &next, time.Millisecond, "n1")
	q.from(other, &bystander, time.Millisecond, "b1")
	q.back(address, &session, time.Millisecond, "s1 s2")
	q.takes(0, "s1 s2 n1 s3 s4 b1")
}

// TestPutBackTwice: what is put back while more of the same sender waits to be tried again
// comes before that.
func TestPutBackTwice(t *testing.T) {
	q := newQueueTest(t)
	var session line
	q.back(nil, &session, time.Millisecond, "s1 s2 s3")
	q.takes(0, "s1")
	q.back(nil, &session, time.Millisecond, "s1")
	q.takes(0, "s1 s2 s3")
}

// TestPutBackTakesTurns: after their lead, tasks that are put back take turns with those of
// other addresses. Those of their own address come after all of them.
func TestPutBackTakesTurns(t *testing.T) {
	q := newQueueTest(t)
	address, other := new(quota), new(quota)
	var session, next, bystander line
	q.from(address, &next, PutBackLead, "n1 n2")
	q.from(other, &bystander, PutBackLead, "b1 b2 b3")
	q.back(address, &session, PutBackLead, "s1 s2 s3 s4")
	q.takes(0, "s1 b1 s2 b2 s3 b3 s4 n1 n2")
}

// TestPutBackHasRoom: tasks that are put back take no room that others wait for, and a
// closed queue takes none.
func TestPutBackHasRoom(t *testing.T) {
	q := queueTest{t, New[*task, *quota](1)}
	q.back(new(quota), new(line), 10*time.Millisecond, strings.Repeat("s ", 100))
	if q.bytes != 0 || q.isFull() {
		t.Errorf("they fill %d bytes", q.bytes)
	}
	q.from(nil, new(line), time.Millisecond, "b")
	q.takes(0, "b"+strings.Repeat(" s", 100))
	if q.count != 0 || q.counted != 0 || q.bytes != 0 {
		t.Errorf("an empty queue counts %d tasks, %d of them for its bounds, with %d bytes", q.count, q.counted, q.bytes)
	}
	q.Close(errClosed)
	if q.PutBack([]*task{{}}, nil) {
		t.Error("a closed queue takes tasks")
	}
}

// TestSharedBatches: when several addresses have had tasks, the batches of one of them stay
// short for a while, since others may come again.
func TestSharedBatches(t *testing.T) {
	q := newQueueTest(t)
	address, other := new(quota), new(quota)
	var session, bystander line
	const est = time.Millisecond
	long, short := int(MaxBatchCost/est), int(sharedBatchCost/est)
	wants := func(when string, want int) {
		t.Helper()
		q.from(address, &session, est, strings.Repeat("s ", long-q.count))
		q.Take(0)
		got := 0
		for _, ok := q.Next(false); ok; _, ok = q.Next(false) {
			got++
		}
		if got != want {
			t.Errorf("%s a batch has %d tasks, want %d", when, got, want)
		}
	}
	wants("alone,", long)
	q.from(other, &bystander, est, "b")
	wants("with another address,", short)
	for range sharedBatches {
		wants("soon after,", short)
	}
	wants("later", long)
}
