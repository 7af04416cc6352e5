package sync

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/tree"
)

// TestCloseRefusesQueued: thousands of writes wait behind a batch when the database is
// closed. The batch ends; all others are refused and have no effect.
func TestCloseRefusesQueued(t *testing.T) {
	const writes = 5000
	synctest.Test(t, func(t *testing.T) {
		db, err := Open(Options{Rules: rules.Open(), ScrubEvery: -1})
		if err != nil {
			t.Fatal(err)
		}
		g := closeGate(t, db)
		var refused, carried atomic.Int64
		for range writes {
			w := putOf(t, "/a", "1")
			go func() {
				switch _, err := db.Write(context.Background(), w); {
				case errors.Is(err, fault.ErrClosed):
					refused.Add(1)
				case err == nil:
					carried.Add(1)
				default:
					t.Error(err)
				}
			}()
		}
		synctest.Wait()
		closed := make(chan error)
		go func() { closed <- db.Close() }()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("Close() did not wait for the batch that was being committed")
		default:
		}
		close(g.open)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if refused.Load() != writes {
			t.Errorf("%d writes were refused and %d carried out, want all %d refused", refused.Load(), carried.Load(), writes)
		}
	})
}

// TestCloseRefusesTheRestOfABatch: a batch that is under way ends with the task that was
// begun when the database was closed.
func TestCloseRefusesTheRestOfABatch(t *testing.T) {
	db, err := Open(Options{Rules: rules.Open(), ScrubEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	db.batchTime = 0 // each task is a batch
	first := closeGate(t, db)
	second := &gate{reached: make(chan struct{}), open: make(chan struct{})}
	third := &gate{reached: make(chan struct{}), open: make(chan struct{})}
	late := &syncWrite{writeTask: writeTask{write: putOf(t, "/a", "1")}}
	late.start()
	for _, task := range []task{second, third, late} {
		if err := db.add(t.Context(), task); err != nil {
			t.Fatal(err)
		}
	}
	close(third.open)
	close(first.open)
	<-second.reached
	if n := db.BeginClose(); n != 2 {
		t.Errorf("BeginClose() = %d, want 2: third and late", n)
	}
	close(second.open)
	if err := late.wait(t.Context()); !errors.Is(err, fault.ErrClosed) {
		t.Errorf("a task after the batch that was under way: %v, want %v", err, fault.ErrClosed)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// TestCloseTellsOutcome: a write whose context ends while the database is being closed
// does not fail with the error of the context, which would leave its outcome unknown.
func TestCloseTellsOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, err := Open(Options{Rules: rules.Open(), ScrubEvery: -1})
		if err != nil {
			t.Fatal(err)
		}
		g := closeGate(t, db)
		ctx, cancel := context.WithCancel(t.Context())
		written := make(chan error)
		go func() {
			_, err := db.Write(ctx, putOf(t, "/a", "1"))
			written <- err
		}()
		synctest.Wait()
		if n := db.BeginClose(); n != 1 {
			t.Errorf("BeginClose() = %d, want 1", n)
		}
		cancel()
		synctest.Wait()
		close(g.open)
		if err := <-written; !errors.Is(err, fault.ErrClosed) {
			t.Errorf("Write() = %v, want %v", err, fault.ErrClosed)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestCloseKeepsDisconnects: what a session left for its disconnect, and was not begun
// when the database was closed, is carried out at the next start.
func TestCloseKeepsDisconnects(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	db, err := Open(Options{File: file, Rules: rules.Open(), ScrubEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, db, "a", 1<<20)
	c.send(`{"r":1,"a":"o","b":{"p":"/left","d":true}}`)
	c.settle()
	g := closeGate(t, db)
	ended := make(chan error)
	go func() { ended <- db.runDisconnect(c.session) }() // as Session.Close does
	for !db.queue.HasTasks() {
		select {
		case <-t.Context().Done():
			t.Fatal("the disconnect was not queued")
		case <-time.After(time.Millisecond):
		}
	}
	if n := db.BeginClose(); n != 1 {
		t.Errorf("BeginClose() = %d, want 1", n)
	}
	close(g.open)
	if err := <-ended; !errors.Is(err, fault.ErrClosed) {
		t.Errorf("the disconnect: %v, want %v", err, fault.ErrClosed)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	again := openTest(t, Options{File: file})
	want(t, again, "/left", "true")
}

// TestCloseFinishesWhatIsQueued: while many write, the database is closed. Every
// write that was acknowledged is there afterwards, and every other one got
// ErrClosed and is not.
func TestCloseFinishesWhatIsQueued(t *testing.T) {
	file := filepath.Join(t.TempDir(), "db")
	db, err := Open(Options{File: file})
	if err != nil {
		t.Fatal(err)
	}
	const writers = 32
	acked := make([]int, writers) // how many of each writer's
	var done sync.WaitGroup
	for i := range writers {
		done.Go(func() {
			for n := 0; ; n++ {
				_, err := db.Write(context.Background(), putOf(t, fmt.Sprintf("/w%d/k%d", i, n), "true"))
				if errors.Is(err, fault.ErrClosed) {
					acked[i] = n
					return
				}
				if err != nil {
					t.Errorf("write %d of %d: %v", n, i, err)
					return
				}
			}
		})
	}
	for db.Stats().Writes < 500 {
		time.Sleep(time.Millisecond)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	done.Wait()

	db = openTest(t, Options{File: file})
	for i, n := range acked {
		l, err := db.Shallow(t.Context(), Read{Caller: Admin, Path: tree.Root.Child(fmt.Sprint("w", i))}, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		if l.Keys.Len() != n {
			t.Errorf("writer %d: %d writes are there, want the %d that were acknowledged", i, l.Keys.Len(), n)
		}
	}
}

// TestClosedDatabase: nothing works any more, on disk or in memory, and says so.
func TestClosedDatabase(t *testing.T) {
	for name, file := range map[string]string{"memory": "", "disk": filepath.Join(t.TempDir(), "db")} {
		t.Run(name, func(t *testing.T) {
			db, err := Open(Options{File: file})
			if err != nil {
				t.Fatal(err)
			}
			c := connect(t, db, "a", 0)
			c.send(`{"r":1,"a":"gauth","b":{"cred":"owner"}}`)
			c.send(`{"r":2,"a":"q","b":{"p":"/x","h":""}}`)
			c.frames()
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := db.Write(t.Context(), putOf(t, "/x", "1")); !errors.Is(err, fault.ErrClosed) {
				t.Errorf("Write() = %v, want %v", err, fault.ErrClosed)
			}
			read := Read{Caller: Admin, Path: tree.Root}
			if _, err := db.Get(t.Context(), read); !errors.Is(err, fault.ErrClosed) {
				t.Errorf("Get() = %v, want %v", err, fault.ErrClosed)
			}
			if _, err := db.Listen(t.Context(), read, "", outbox.New(outbox.EventStream, 0, func() {})); !errors.Is(err, fault.ErrClosed) {
				t.Errorf("Listen() = %v, want %v", err, fault.ErrClosed)
			}
			if err := db.SetRules(t.Context(), db.Rules()); !errors.Is(err, fault.ErrClosed) {
				t.Errorf("SetRules() = %v, want %v", err, fault.ErrClosed)
			}
			for i, request := range []string{
				`{"r":3,"a":"p","b":{"p":"/x","d":1}}`,
				`{"r":3,"a":"o","b":{"p":"/x","d":1}}`,
				`{"r":3,"a":"g","b":{"p":"/x"}}`,
				`{"r":3,"a":"q","b":{"p":"/x","h":""}}`,
			} {
				c.send(request)
				c.settle()
				if got := c.frames(); len(got) != 1 || !strings.Contains(got[0], `"s":"unavailable"`) {
					t.Errorf("request %d is answered %v, want unavailable", i, got)
				}
			}
			c.send(`{"r":4,"a":"unauth","b":{}}`)
			c.session.Close()
		})
	}
}
