package sync

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/trace"
	"github.com/dogwooddb/dogwood/tree"
)

// recorded collects operations as lines, without what differs from run to run.
type recorded struct {
	mu  sync.Mutex
	ops []trace.Operation
}

func (r *recorded) tell(op trace.Operation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, op)
}

func (r *recorded) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for _, op := range r.ops {
		line := fmt.Sprintf("%s %s %d", op.Name, op.Path, op.Bytes)
		if op.Denied {
			line += " denied"
		}
		if op.Unindexed {
			line += " unindexed"
		}
		if op.Listeners > 0 {
			line += fmt.Sprintf(" to %d", op.Listeners)
		}
		if op.At.IsZero() || op.Took < 0 || op.Waited < 0 {
			line += " at no time"
		}
		lines = append(lines, line)
	}
	r.ops = nil
	return strings.Join(lines, "\n")
}

func TestWatchOperations(t *testing.T) {
	rs, err := rules.Parse(`{"rules":{"a":{".read":true,".write":true}}}`)
	if err != nil {
		t.Fatal(err)
	}
	db := openTest(t, Options{Rules: rs})
	var seen recorded
	stop := db.WatchOperations(seen.tell)
	expect := func(doing, want string) {
		t.Helper()
		if got := seen.take(); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", doing, got, want)
		}
	}

	c := connect(t, db, "s", 0)
	expect("connect", "concurrent-connect / 0")
	c.send(`{"r":1,"a":"p","b":{"p":"/a/b","d":"12"}}`)
	c.settle()
	expect("put", "realtime-write /a/b 4")
	c.send(`{"r":2,"a":"m","b":{"p":"/a","d":{"b":1,"c":null}}}`)
	c.settle()
	expect("merge, with a removal", "realtime-update /a 1")
	c.send(`{"r":3,"a":"p","b":{"p":"/a/b","d":2,"h":"x"}}`)
	c.settle()
	expect("put with a hash", "realtime-transaction /a/b 1")
	c.send(`{"r":4,"a":"p","b":{"p":"/other","d":2}}`)
	c.settle()
	expect("put that is denied", "realtime-write /other 1 denied")
	c.send(`{"r":5,"a":"q","b":{"p":"/other","h":""}}`)
	c.settle()
	expect("listen that is denied", "listener-listen /other 0 denied")
	c.send(`{"r":6,"a":"q","b":{"p":"/a","q":{"i":"n"},"t":1,"h":""}}`)
	c.settle()
	c.frames()
	if got := seen.take(); !strings.HasPrefix(got, "listener-listen /a ") || !strings.HasSuffix(got, " unindexed") {
		t.Errorf("listen: %s", got)
	}
	ctx := context.Background()
	if _, err := db.Write(ctx, Write{Caller: Admin, Update: update(t, "/a", `{"x":"y"}`), Base: tree.Root.Child("a")}); err != nil {
		t.Fatal(err)
	}
	if got := seen.take(); !strings.HasPrefix(got, "listener-broadcast /a ") || !strings.HasSuffix(got, " to 1\nrest-write /a 9") {
		t.Errorf("write by REST: %s", got)
	}
	if _, err := db.Get(ctx, Read{Caller: Admin, Path: tree.Root.Child("a")}); err != nil {
		t.Fatal(err)
	}
	expect("read by REST", "rest-read /a 9")
	c.session.Close()
	expect("close", "concurrent-disconnect / 0\nlistener-unlisten /a 0")

	if n := db.Stats().Watchers; n != 1 {
		t.Errorf("%d watchers, want 1", n)
	}
	stop()
	stop()
	get(t, db, "/a")
	expect("after stop", "")
}

func update(t *testing.T, path, json string) tree.Update {
	t.Helper()
	target, err := tree.ParseTarget(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := tree.ParseWrite(target, json, tree.Strict)
	if err != nil {
		t.Fatal(err)
	}
	return tree.Update{w}
}

// TestUnwatchedCostsNothing: a span of a write that nobody watches allocates
// nothing.
func TestUnwatchedCostsNothing(t *testing.T) {
	db := openTest(t, Options{})
	l := span{db: db.core, queued: time.Now()}
	w := &Write{}
	n := testing.AllocsPerRun(100, func() {
		_ = l.apply(func() error { return nil })
		l.finish(w, nil)
		db.watchers.Tell(trace.Operation{Name: trace.OpUnlisten})
	})
	if n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func TestTimings(t *testing.T) {
	db := openTest(t, Options{File: t.TempDir() + "/a.db"})
	set(t, db, "/a", "1")
	set(t, db, "/b", "1")
	got := db.Timings()
	for name, n := range map[string]uint64{
		"commits": got.Commits.Count(), "syncs": got.Syncs.Count(), "acks": got.Acks.Count(), "sizes": got.Sizes.Count(),
	} {
		if n < 2 {
			t.Errorf("%d %s after two writes", n, name)
		}
	}
}
