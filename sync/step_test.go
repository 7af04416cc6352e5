package sync

import (
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/sync/queue"
	"github.com/dogwooddb/dogwood/sync/quota"
)

// TestStepAfter: background work that is behind does a step after each batch. A sender that
// had no task in that batch goes first, once, and the next step does the work of both.
func TestStepAfter(t *testing.T) {
	d := &Database{core: &core{queue: queue.New[task, *quota.Quota](1 << 30)}}
	d.committer.db = d.core
	address, other := quota.New(quota.Limits{}), quota.New(quota.Limits{})
	var session, bystander line
	from := func(quota *quota.Quota, l *line, cost time.Duration, tasks int) {
		t.Helper()
		for range tasks {
			if err := d.queue.Add(t.Context(), quota, queue.Item[task]{Line: l, Size: 1, Cost: cost}); err != nil {
				t.Fatal(err)
			}
		}
	}
	takes := func(want ...*line) {
		t.Helper()
		for _, l := range want {
			d.queue.Take(0)
			item, _ := d.queue.Next(false)
			d.queue.Charge([]queue.Item[task]{item}, []time.Duration{item.Cost})
			if item.Line != l {
				t.Errorf("took a task of the other sender")
			}
		}
	}
	wants := func(when string, batches, want int) {
		t.Helper()
		if got := d.stepAfter(batches); got != want {
			t.Errorf("%s, after %d batches: a step of %d rows, want %d", when, batches, got, want)
		}
	}
	wants("not behind", workEvery-1, 0)
	wants("not behind", workEvery, workRows)
	d.behind = true
	from(address, &session, time.Millisecond, 3)
	takes(&session)
	wants("the same sender goes on", 1, behindRows)
	from(other, &bystander, time.Microsecond, 2)
	wants("a sender has come", 1, 0)
	takes(&bystander)
	wants("its batch is done", 2, 2*behindRows)
	takes(&bystander)
	wants("the other one has waited", 1, 0)
	wants("and waits again", 2, 2*behindRows)
	takes(&session, &session)
	wants("all is done", 1, behindRows)
}
