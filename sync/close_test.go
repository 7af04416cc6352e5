package sync

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/rules"
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
				case errors.Is(err, ErrClosed):
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
	if err := late.wait(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("a task after the batch that was under way: %v, want %v", err, ErrClosed)
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
		if err := <-written; !errors.Is(err, ErrClosed) {
			t.Errorf("Write() = %v, want %v", err, ErrClosed)
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
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Errorf("the disconnect: %v, want %v", err, ErrClosed)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	again := openTest(t, Options{File: file})
	want(t, again, "/left", "true")
}
