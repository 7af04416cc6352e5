package sync

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

// A namedTask is a task with a name and an estimate.
type namedTask struct {
	sizedTask
	name string
	est  time.Duration
}

func (t namedTask) cost() time.Duration { return t.est }

// A queueTest adds named tasks to a queue and takes them.
type queueTest struct {
	*testing.T
	*queue
}

func newQueueTest(t *testing.T) queueTest { return queueTest{t, newQueue(1 << 30)} }

// from adds tasks of a sender, one for each word.
func (q queueTest) from(quota *Quota, l *line, est time.Duration, names string) {
	q.Helper()
	for _, name := range strings.Fields(names) {
		t := sentTask{namedTask{1, name, est}, quota, l}
		if err := q.add(q.Context(), costedTask{t, est}); err != nil {
			q.Fatal(err)
		}
	}
}

// A costedTask shows the cost of what it holds.
type costedTask struct {
	sentTask
	est time.Duration
}

func (t costedTask) cost() time.Duration { return t.est }

func nameOf(t queuedTask) string { return t.task.(costedTask).task.(namedTask).name }

// takes takes one task after the other and charges for each what it took, its estimate
// if that is 0.
func (q queueTest) takes(took time.Duration, want string) {
	q.Helper()
	var names []string
	for range strings.Fields(want) {
		q.take(0)
		t, ok := q.next(false)
		if !ok {
			break
		}
		spent := took
		if took == 0 {
			spent = t.cost
		}
		q.charge([]queuedTask{t}, []time.Duration{spent})
		names = append(names, nameOf(t))
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
	const visit = int(maxVisit / costTask)
	times := func(n int, name string) string { return strings.TrimSpace(strings.Repeat(name+" ", n)) }
	for _, quota := range []*Quota{nil, NewQuota(QuotaLimits{})} {
		q := newQueueTest(t)
		var a, b, c line
		q.from(quota, &a, costTask, times(2*visit, "a"))
		q.from(quota, &b, costTask, times(2*visit, "b"))
		q.takes(0, times(visit, "a")+" "+times(visit, "b")+" a")
		q.takes(time.Second, "a")
		q.from(quota, &c, costTask, "c")
		q.takes(0, times(visit, "b")+" c "+times(visit-2, "a"))
	}
}

// TestFairVisitsOfMany: the visits of many sessions are shorter, so that each comes as soon.
func TestFairVisitsOfMany(t *testing.T) {
	q := newQueueTest(t)
	lines := make([]line, maxRound/costTask)
	for i := range lines {
		q.from(nil, &lines[i], costTask, "x x x")
	}
	for range lines {
		q.takes(0, "x")
	}
	for i := range lines {
		if left := len(lines[i].tasks) - lines[i].head; left != 2 {
			t.Fatalf("session %d has %d tasks left, want 2", i, left)
		}
	}
}

// TestFairAddresses: the sessions of one address share one turn.
func TestFairAddresses(t *testing.T) {
	q := newQueueTest(t)
	many, one := NewQuota(QuotaLimits{}), NewQuota(QuotaLimits{})
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
	for _, quota := range []*Quota{nil, NewQuota(QuotaLimits{})} {
		q := newQueueTest(t)
		var slow, fast line
		q.from(quota, &slow, time.Millisecond, "S1")
		q.from(nil, &fast, time.Millisecond, "f1 f2 f3 f4 f5 f6")
		q.takes(4*time.Millisecond, "S1")
		q.from(quota, &slow, time.Millisecond, "S2")
		q.takes(0, "f1 f2 f3 f4 S2 f5 f6")

		q.from(quota, &slow, time.Millisecond, "S3")
		q.takes(time.Hour, "S3")
		q.from(quota, &slow, time.Millisecond, "S4 S5")
		q.from(nil, &fast, time.Millisecond, "f7 f8")
		q.takes(0, "S4 f7 S5 f8")
	}
}

// TestFairRequests: requests without a session are told apart by their address.
func TestFairRequests(t *testing.T) {
	q := newQueueTest(t)
	many, one := NewQuota(QuotaLimits{}), NewQuota(QuotaLimits{})
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
	q.from(nil, &l, maxBatchCost/2, "a b c")
	q.from(nil, &l, 3*maxBatchCost, "d")
	q.from(nil, &l, time.Millisecond, "e")
	for _, want := range []string{"a b", "c", "d", "e"} {
		var got []string
		q.take(0)
		for t, ok := q.next(false); ok; t, ok = q.next(false) {
			got = append(got, nameOf(t))
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
		q := newQueue(100)
		greedy, other := NewQuota(QuotaLimits{}), NewQuota(QuotaLimits{})
		ctx, cancel := context.WithCancel(t.Context())
		var blocked atomic.Int32
		for range 100 {
			go func() {
				if q.add(ctx, sentTask{sizedTask(1), greedy, nil}) != nil {
					blocked.Add(1)
				}
			}()
		}
		synctest.Wait()
		if q.bytes != 50 {
			t.Errorf("one address has filled %d bytes of 100, want 50", q.bytes)
		}
		if err := q.add(t.Context(), sentTask{sizedTask(25), other, nil}); err != nil {
			t.Error(err)
		}
		cancel()
		synctest.Wait()
		if n := blocked.Load(); n != 50 {
			t.Errorf("%d tasks were not added, want 50", n)
		}
	})
}

// TestPartiesAreForgotten: many addresses that come once leave nothing behind.
func TestPartiesAreForgotten(t *testing.T) {
	q := newQueueTest(t)
	for i := range 3 * maxParties {
		q.from(NewQuota(QuotaLimits{}), nil, time.Millisecond, fmt.Sprint(i))
		q.takes(time.Hour, fmt.Sprint(i))
	}
	if len(q.of) > maxParties {
		t.Errorf("%d addresses are remembered, want at most %d", len(q.of), maxParties)
	}
}

// TestFairModel: whatever the senders do, nothing is lost, the tasks of a line stay in
// order, and senders that always have tasks use the same time.
func TestFairModel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(rand.Uint64(), 1))
	q := newQueueTest(t)
	lines := make([]line, 5)
	quotas := []*Quota{nil, nil, NewQuota(QuotaLimits{}), NewQuota(QuotaLimits{}), NewQuota(QuotaLimits{})}
	added, taken, used := make([]int, 5), make([]int, 5), make([]time.Duration, 5)
	const most = 8 * time.Millisecond
	for range 5000 {
		for i := range lines {
			for lines[i].head+3 > len(lines[i].tasks) {
				q.from(quotas[i], &lines[i], time.Duration(rnd.IntN(int(most))), fmt.Sprint(i, "-", added[i]))
				added[i]++
			}
		}
		q.take(0)
		next, _ := q.next(false)
		var i, n int
		fmt.Sscanf(nameOf(next), "%d-%d", &i, &n)
		if n != taken[i] {
			t.Fatalf("line %d: took task %d, want %d", i, n, taken[i])
		}
		taken[i]++
		took := time.Duration(rnd.IntN(int(most)))
		used[i] += took
		q.charge([]queuedTask{next}, []time.Duration{took})
	}
	if slices.Max(used)-slices.Min(used) > 3*most {
		t.Errorf("senders used %v, want about the same", used)
	}
}

// back puts tasks of a sender back, one for each word.
func (q queueTest) back(quota *Quota, l *line, est time.Duration, names string) {
	q.Helper()
	var tasks []task
	for _, name := range strings.Fields(names) {
		tasks = append(tasks, costedTask{sentTask{namedTask{1, name, est}, quota, l}, est})
	}
	if !q.putBack(tasks) {
		q.Fatal("the queue is closed")
	}
}

// TestPutBack: tasks that are put back come before those that came later, of their sender
// and of all others.
func TestPutBack(t *testing.T) {
	q := newQueueTest(t)
	address, other := NewQuota(QuotaLimits{}), NewQuota(QuotaLimits{})
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
	address, other := NewQuota(QuotaLimits{}), NewQuota(QuotaLimits{})
	var session, next, bystander line
	q.from(address, &next, putBackLead, "n1 n2")
	q.from(other, &bystander, putBackLead, "b1 b2 b3")
	q.back(address, &session, putBackLead, "s1 s2 s3 s4")
	q.takes(0, "s1 b1 s2 b2 s3 b3 s4 n1 n2")
}

// TestPutBackHasRoom: tasks that are put back take no room that others wait for, and a
// closed queue takes none.
func TestPutBackHasRoom(t *testing.T) {
	q := queueTest{t, newQueue(1)}
	quota := NewQuota(QuotaLimits{})
	q.back(quota, new(line), 10*time.Millisecond, strings.Repeat("s ", 100))
	if q.bytes != 0 || q.isFull() {
		t.Errorf("they fill %d bytes", q.bytes)
	}
	q.from(nil, new(line), time.Millisecond, "b")
	q.takes(0, "b"+strings.Repeat(" s", 100))
	if q.count != 0 || q.counted != 0 || q.bytes != 0 {
		t.Errorf("an empty queue counts %d tasks, %d of them for its bounds, with %d bytes", q.count, q.counted, q.bytes)
	}
	q.close()
	if q.putBack([]task{namedTask{}}) {
		t.Error("a closed queue takes tasks")
	}
}

// TestStepAfter: background work that is behind does a step after each batch. A sender that
// had no task in that batch goes first, once, and the next step does the work of both.
func TestStepAfter(t *testing.T) {
	q := newQueueTest(t)
	address, other := NewQuota(QuotaLimits{}), NewQuota(QuotaLimits{})
	var session, bystander line
	d := &Database{queue: q.queue}
	wants := func(when string, batches, want int) {
		t.Helper()
		if got := d.stepAfter(batches); got != want {
			t.Errorf("%s, after %d batches: a step of %d rows, want %d", when, batches, got, want)
		}
	}
	wants("not behind", workEvery-1, 0)
	wants("not behind", workEvery, workRows)
	d.behind = true
	q.from(address, &session, time.Millisecond, "s1 s2 s3")
	q.takes(0, "s1")
	wants("the same sender goes on", 1, behindRows)
	q.from(other, &bystander, time.Microsecond, "b1 b2")
	wants("a sender has come", 1, 0)
	q.takes(0, "b1")
	wants("its batch is done", 2, 2*behindRows)
	q.takes(0, "b2")
	wants("the other one has waited", 1, 0)
	wants("and waits again", 2, 2*behindRows)
	q.takes(0, "s2 s3")
	wants("all is done", 1, behindRows)
}

// TestSharedBatches: when several addresses have had tasks, the batches of one of them stay
// short for a while, since others may come again.
func TestSharedBatches(t *testing.T) {
	q := newQueueTest(t)
	address, other := NewQuota(QuotaLimits{}), NewQuota(QuotaLimits{})
	var session, bystander line
	const est = time.Millisecond
	long, short := int(maxBatchCost/est), int(sharedBatchCost/est)
	wants := func(when string, want int) {
		t.Helper()
		q.from(address, &session, est, strings.Repeat("s ", long-q.count))
		q.take(0)
		got := 0
		for _, ok := q.next(false); ok; _, ok = q.next(false) {
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
