package logged

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// TestRoom: while a layer is applied, large commits are let in up to a quarter of the next
// one, those that are still to come included.
func TestRoom(t *testing.T) {
	s := &Store{active: new(kv.Layer), speed: speed{freeze: 64 << 10}, aging: time.NewTimer(time.Hour)}
	now, cancel := context.WithCancel(t.Context())
	cancel() // what has to wait is told so
	room := func(bytes int64, want error) (left func()) {
		t.Helper()
		left, err := s.Room(now, bytes)
		if !errors.Is(err, want) {
			t.Fatalf("Room(%d) = %v, want %v", bytes, err, want)
		}
		return left
	}
	commit := func(bytes int) {
		t.Helper()
		var own kv.Layer
		own.Set(kv.Rows, []byte("k"), make([]byte, bytes))
		s.active.Add(&own)
	}
	left := room(64<<10, nil)
	room(1, context.Canceled)
	left()

	commit(64 << 10)
	s.toFreeze()
	left, other := room(10<<10, nil), room(10<<10, nil)
	room(1, context.Canceled)
	left()
	left = room(1, nil)
	commit(20 << 10)
	left()
	other()
	room(1, context.Canceled)

	waited := make(chan error)
	go func() {
		left, err := s.Room(t.Context(), 1)
		if err == nil {
			left()
		}
		waited <- err
	}()
	s.newEpoch(true) // it was applied
	if err := <-waited; err != nil {
		t.Fatal(err)
	}

	// After applying failed, commits come and get the error.
	s.toFreeze()
	commit(20 << 10)
	room(1, context.Canceled)
	s.mu.Lock()
	s.endWait()
	s.mu.Unlock()
	room(1, nil)()
	if s.room.coming != 0 {
		t.Errorf("%d bytes are still to come", s.room.coming)
	}
}
