package logged

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestRoom: while a layer is applied, large commits are let in up to a quarter of the next
// one, those that are still to come included.
func TestRoom(t *testing.T) {
	m := start(t, t.TempDir(), Options{FreezeBytes: 64 << 10})
	defer m.stop()
	now, cancel := context.WithCancel(t.Context())
	cancel() // whoever has to wait is told so
	room := func(bytes int64, want error) (left func()) {
		t.Helper()
		left, err := m.store.Room(now, bytes)
		if !errors.Is(err, want) {
			t.Fatalf("Room(%d) = %v, want %v", bytes, err, want)
		}
		return left
	}
	put := func(key string, bytes int) {
		t.Helper()
		if err := putTo(t, m.store, key, strings.Repeat("x", bytes)); err != nil {
			t.Fatal(err)
		}
	}
	left := room(64<<10, nil)
	room(1, context.Canceled)
	left()
	err := m.store.Paused(func() error {
		put("a", 64<<10) // it is frozen, and not applied
		left, other := room(10<<10, nil), room(10<<10, nil)
		room(1, context.Canceled)
		left()
		left = room(1, nil)
		put("b", 20<<10)
		left()
		other()
		room(1, context.Canceled)
		return nil
	})
	if err == nil {
		err = m.store.Apply()
	}
	if err != nil {
		t.Fatal(err)
	}
	room(1, nil)()

	// One that waits goes on when the layer is applied.
	waited := make(chan error)
	err = m.store.Paused(func() error {
		put("c", 64<<10)
		put("d", 20<<10)
		room(1, context.Canceled)
		go func() {
			left, err := m.store.Room(t.Context(), 1)
			if err == nil {
				left()
			}
			waited <- err
		}()
		return nil
	})
	if err := errors.Join(err, <-waited); err != nil {
		t.Fatal(err)
	}
}
