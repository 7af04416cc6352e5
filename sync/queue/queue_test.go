package queue

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A task of these tests has a name.
type task struct{ name string }

type (
	item  = Item[*task]
	line  = Line[*task]
	quota struct{ _ int } // an address
)

var errClosed = errors.New("closed")

// sized is a task of which only the size matters.
func sized(size int64, l *line) item {
	return item{Task: new(task), Line: l, Size: size, Cost: TaskCost}
}

// add queues tasks of one sender.
func add(t *testing.T, q *Queue[*task, *quota], sizes ...int64) {
	t.Helper()
	l := new(line)
	for _, size := range sizes {
		if err := q.Add(t.Context(), nil, sized(size, l)); err != nil {
			t.Fatalf("add %d: %v", size, err)
		}
	}
}

// take takes a whole batch.
func take(q *Queue[*task, *quota], wait time.Duration) (batch []item, open bool) {
	_, open = q.Take(wait)
	for t, ok := q.Next(false); ok; t, ok = q.Next(false) {
		batch = append(batch, t)
	}
	return batch, open
}

func TestQueueTakesInOrder(t *testing.T) {
	q := New[*task, *quota](1 << 20)
	add(t, q, 1, 2, 3)
	tasks, open := take(q, Forever)
	if len(tasks) != 3 || !open || tasks[0].Size != 1 || tasks[2].Size != 3 {
		t.Errorf("take() = %v, %v, want [1 2 3], true", tasks, open)
	}
	if tasks, open := take(q, 0); len(tasks) != 0 || !open {
		t.Errorf("take(0) of an empty queue = %v, %v, want [], true", tasks, open)
	}
}

func TestQueueWaitsForTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[*task, *quota](1 << 20)
		began := time.Now()
		if tasks, open := take(q, time.Minute); len(tasks) != 0 || !open || time.Since(began) != time.Minute {
			t.Errorf("take(1m) of an empty queue = %v, %v after %v", tasks, open, time.Since(began))
		}
		time.AfterFunc(time.Second, func() { add(t, q, 1) })
		began = time.Now()
		if tasks, open := take(q, time.Minute); len(tasks) != 1 || !open || time.Since(began) != time.Second {
			t.Errorf("take(1m) = %v, %v after %v, want the task of the first second", tasks, open, time.Since(began))
		}
		time.AfterFunc(time.Second, func() { q.Close(errClosed) })
		if tasks, open := take(q, time.Minute); len(tasks) != 0 || open {
			t.Errorf("take(1m) of a queue that is closed = %v, %v, want [], false", tasks, open)
		}
	})
}

// TestQueueBatch: a batch is bounded in count and in bytes, and a task that is
// larger than that comes alone.
func TestQueueBatch(t *testing.T) {
	q := New[*task, *quota](1 << 40)
	add(t, q, slices.Repeat([]int64{1}, maxBatchTasks+1)...)
	for _, want := range []int{maxBatchTasks, 1} {
		if tasks, _ := take(q, Forever); len(tasks) != want {
			t.Errorf("take() gave %d tasks, want %d", len(tasks), want)
		}
	}
	add(t, q, MaxBatchBytes+1, MaxBatchBytes-1, 1, 1)
	for _, want := range []int{1, 2, 1} {
		if tasks, _ := take(q, Forever); len(tasks) != want {
			t.Errorf("take() gave %d tasks, want %d", len(tasks), want)
		}
	}
	if q.bytes != 0 {
		t.Errorf("an empty queue counts %d bytes, want 0", q.bytes)
	}
}

// TestQueueIsBounded: who adds to a full queue waits for room.
func TestQueueIsBounded(t *testing.T) {
	t.Run("bytes", func(t *testing.T) {
		q := New[*task, *quota](100)
		add(t, q, 1000) // larger than the bound, but nothing else waits
		waits(t, q, 1)
		add(t, q, 60, 40)
		waits(t, q, 1)
	})
	t.Run("count", func(t *testing.T) {
		q := New[*task, *quota](1 << 40)
		for range MaxTasks {
			add(t, q, 1)
		}
		waits(t, q, 1)
	})
}

// waits checks that a task is not added until something was taken, which takes
// everything that the test had added.
func waits(t *testing.T, q *Queue[*task, *quota], size int64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		added := false
		inside := New[*task, *quota](q.maxBytes) // made here: a bubble owns its channels and waiters
		inside.addresses, inside.count, inside.counted, inside.bytes = q.addresses, q.count, q.counted, q.bytes
		go func() {
			add(t, inside, size)
			added = true
		}()
		synctest.Wait()
		if added {
			t.Error("a task was added to a full queue")
		}
		take(inside, Forever)
		synctest.Wait()
		if !added {
			t.Error("a task still waits although there is room")
		}
		if _, _, n := inside.Waiting(); n != 1 {
			t.Errorf("%d tasks are counted that waited, want 1", n)
		}
	})
	q.addresses, q.count, q.counted, q.bytes = schedule{}, 0, 0, 0
}

func TestQueueAddEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[*task, *quota](1)
		add(t, q, 1)
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error, 2)
		go func() { errs <- q.Add(ctx, nil, sized(1, nil)) }()
		synctest.Wait()
		cancel()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("add() = %v, want %v", err, context.Canceled)
		}
		if err := q.Add(ctx, nil, sized(1, nil)); !errors.Is(err, context.Canceled) {
			t.Errorf("add() to a full queue with a cancelled context = %v, want %v", err, context.Canceled)
		}
		if tasks, _ := take(q, Forever); len(tasks) != 1 {
			t.Errorf("take() gave %d tasks, want only the first", len(tasks))
		}
	})
}

// TestQueueClose: a closed queue hands out what is left, once, and refuses senders.
func TestQueueClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[*task, *quota](1)
		add(t, q, 1)
		errs := make(chan error)
		go func() { errs <- q.Add(t.Context(), nil, sized(1, nil)) }()
		synctest.Wait()
		if left := q.Close(errClosed); len(left) != 1 {
			t.Errorf("close() = %v, want the task that waits", left)
		}
		if err := <-errs; !errors.Is(err, errClosed) {
			t.Errorf("add() = %v, want %v", err, errClosed)
		}
		if err := q.Add(t.Context(), nil, sized(1, nil)); !errors.Is(err, errClosed) {
			t.Errorf("add() to a closed queue = %v, want %v", err, errClosed)
		}
		if tasks, open := take(q, Forever); len(tasks) != 0 || open {
			t.Errorf("take() of a closed queue = %v, %v, want [], false", tasks, open)
		}
	})
}

// TestQueueLosesNothing has many goroutines add to a small queue.
func TestQueueLosesNothing(t *testing.T) {
	const adders, each = 16, 200
	q := New[*task, *quota](50)
	var done sync.WaitGroup
	for range adders {
		done.Go(func() {
			for range each {
				add(t, q, 7)
			}
		})
	}
	got := 0
	for got < adders*each {
		tasks, _ := take(q, Forever)
		got += len(tasks)
	}
	done.Wait()
	if got != adders*each || q.bytes != 0 || q.count != 0 {
		t.Errorf("took %d tasks, %d are left with %d bytes; want %d, 0, 0", got, q.count, q.bytes, adders*each)
	}
}

// TestQueueGathers: who takes a batch lets others that are ready add to it first.
func TestQueueGathers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that nobody adds meanwhile by chance
	const rounds, writers = 20, 10
	q := New[*task, *quota](1 << 20)
	batches := 0
	for range rounds {
		for range writers {
			go q.Add(t.Context(), nil, sized(1, nil))
		}
		for got := 0; got < writers; batches++ {
			tasks, _ := take(q, Forever)
			got += len(tasks)
		}
	}
	if batches > 2*rounds { // now and then the scheduler has its own order
		t.Errorf("%d batches for %d rounds of %d writers", batches, rounds, writers)
	}
}

// TestQueueSharesBatches: a batch is shorter if several addresses wait when it begins.
func TestQueueSharesBatches(t *testing.T) {
	for addresses, want := range map[int]int{1: 8, 2: 4} {
		q := New[*task, *quota](1 << 40)
		lines := make([]line, addresses)
		for i := range 8 {
			if err := q.Add(t.Context(), nil, sized(sharedBatchBytes/4, &lines[i%addresses])); err != nil {
				t.Fatal(err)
			}
		}
		if tasks, _ := take(q, 0); len(tasks) != want {
			t.Errorf("a batch of %d addresses has %d tasks, want %d", addresses, len(tasks), want)
		}
	}
}

// TestQueueGrowsABatch: tasks that come while a batch is applied join it if it may grow,
// but no more of them than it began with.
func TestQueueGrowsABatch(t *testing.T) {
	for grow, want := range map[bool]int{false: 3, true: 6} {
		q := New[*task, *quota](1 << 20)
		add(t, q, 1, 1, 1)
		q.Take(0)
		add(t, q, slices.Repeat([]int64{1}, 10)...)
		taken := 0
		for _, ok := q.Next(grow); ok; _, ok = q.Next(grow) {
			taken++
		}
		if taken != want {
			t.Errorf("growing %t: a batch that began with 3 tasks has %d, want %d", grow, taken, want)
		}
	}
}

// TestQueueAdmitsInTurn: who waits for room is added as soon as there is some, in the
// order in which they came, those of each address in turn. Nobody overtakes them.
func TestQueueAdmitsInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[*task, *quota](100)
		add(t, q, 100)
		var lines [2]line
		for i, size := range []int64{10, 11, 12, 20} { // the last one is of another address
			task := sized(size, &lines[i/3])
			task.Cost = maxVisit
			go func() { _ = q.Add(t.Context(), nil, task) }()
			synctest.Wait()
		}
		if q.count != 1 {
			t.Fatalf("%d tasks are in a full queue, want 1", q.count)
		}
		take(q, 0)
		synctest.Wait()
		if q.count != 4 || q.blocked.Len() > 0 {
			t.Errorf("%d tasks wait to be taken, want 4", q.count)
		}
		var sizes []int64
		tasks, _ := take(q, 0)
		for _, task := range tasks {
			sizes = append(sizes, task.Size)
		}
		if want := []int64{10, 20, 11, 12}; !slices.Equal(sizes, want) {
			t.Errorf("taken: %v, want %v", sizes, want)
		}
	})
}

// TestQueueForgetsWhoLeft: a task of a sender that does not wait any longer is not
// added, and those behind it are.
func TestQueueForgetsWhoLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[*task, *quota](100)
		add(t, q, 90)
		var l line
		ctx, leave := context.WithCancel(t.Context())
		large, small := make(chan error, 1), make(chan error, 1)
		go func() { large <- q.Add(ctx, nil, sized(50, &l)) }()
		synctest.Wait()
		go func() { small <- q.Add(t.Context(), nil, sized(5, &l)) }()
		synctest.Wait()
		if len(small) > 0 {
			t.Fatal("a task overtakes one of the same sender")
		}
		leave()
		if err := <-large; !errors.Is(err, context.Canceled) {
			t.Errorf("add() = %v, want %v", err, context.Canceled)
		}
		if err := <-small; err != nil || q.count != 2 {
			t.Errorf("add() = %v, and %d tasks wait, want none and 2", err, q.count)
		}
	})
}

// TestQueueAdmitsAll: everybody who waits for room is added in the end, also behind many
// whose tasks do not fit.
func TestQueueAdmitsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[*task, *quota](100)
		add(t, q, 50)
		sizes := append(slices.Repeat([]int64{60}, 3*maxPassed), 1)
		for _, size := range sizes {
			go func() { _ = q.Add(t.Context(), nil, sized(size, nil)) }()
			synctest.Wait()
		}
		taken := 0
		for range 1 + len(sizes) {
			tasks, _ := take(q, 0)
			taken += len(tasks)
		}
		if taken != 1+len(sizes) || q.blocked.Len() > 0 {
			t.Errorf("%d of %d tasks were taken, and %d senders wait", taken, 1+len(sizes), q.blocked.Len())
		}
	})
}

// TestQueuePassesLargeTasks: tasks that do not fit keep none out that does, however many they
// are, also in a queue that never runs empty.
func TestQueuePassesLargeTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[*task, *quota](100)
		add(t, q, 50, 20)
		for _, size := range append(slices.Repeat([]int64{200}, 3*maxPassed), 60) {
			go func() { _ = q.Add(t.Context(), nil, sized(size, nil)) }()
			synctest.Wait()
		}
		for range 8 {
			q.Take(0)
			q.Next(false)
			add(t, q, 20)
		}
		synctest.Wait()
		if q.blocked.Len() != 3*maxPassed {
			t.Errorf("%d senders wait, want those of the large tasks", q.blocked.Len())
		}
		q.Close(errClosed)
	})
}
