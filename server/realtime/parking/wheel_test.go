package parking

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// A socket of these tests.
type socket struct {
	spoke  Spoke[socket]
	called int
}

func (s *socket) Spoke() *Spoke[socket] { return &s.spoke }
func (s *socket) TimeIsUp(time.Time)    { s.called++ }

// Whatever is added, moved and removed, and however late the wheel turns: a socket is due at
// the first tick that is not before its time.
func TestWheel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Wheel[socket, *socket]
		defer func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.timer.Stop()
		}()
		r := rand.New(rand.NewPCG(1, 2))
		sockets := make([]socket, 50)
		w.Add(&sockets[0], time.Now()) // begins the ticks
		w.Remove(&sockets[0])
		began, now := time.Now(), time.Now()
		want := make(map[*socket]time.Time)
		for range 20_000 {
			s := &sockets[r.IntN(len(sockets))]
			switch r.IntN(4) {
			case 0, 1:
				at := now.Add(time.Duration(r.Int64N(int64(120*time.Second))) - 5*time.Second)
				w.Add(s, at)
				next := began.Add(now.Sub(began).Truncate(Tick) + Tick)
				want[s] = later(at, next)
			case 2:
				w.Remove(s)
				delete(want, s)
			case 3:
				now = now.Add(time.Duration(r.Int64N(int64(3 * Tick))))
				if r.IntN(100) == 0 {
					now = now.Add(1000 * time.Second)
				}
				wantDue(t, &w, now, began, want)
			}
			if w.count != len(want) {
				t.Fatalf("%d sockets in the wheel, want %d", w.count, len(want))
			}
		}
	})
}

// wantDue turns a wheel.
func wantDue(t *testing.T, w *Wheel[socket, *socket], now, began time.Time, want map[*socket]time.Time) {
	t.Helper()
	tick := began.Add(now.Sub(began).Truncate(Tick))
	for _, s := range w.due(now) {
		at, ok := want[s]
		if !ok || at.After(tick) {
			t.Fatalf("a socket is due at %s, want %s, %v", tick.Sub(began), at.Sub(began), ok)
		}
		delete(want, s)
	}
	for _, at := range want {
		if !at.After(tick) {
			t.Fatalf("a socket is not due at %s, want %s", tick.Sub(began), at.Sub(began))
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// The timer runs while there are sockets, and no longer.
func TestWheelTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Wheel[socket, *socket]
		s := new(socket)
		waits := func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return s.spoke.on
		}
		runs := func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.runs
		}
		for range 3 {
			w.Add(s, time.Now().Add(25*time.Second))
			time.Sleep(25*time.Second - time.Millisecond)
			synctest.Wait()
			if !waits() {
				t.Error("a socket was called early")
			}
			time.Sleep(time.Millisecond)
			synctest.Wait()
			if waits() {
				t.Error("a socket was not called")
			}
			time.Sleep(Tick)
			synctest.Wait()
			if runs() {
				t.Error("the timer runs for nothing")
			}
		}
	})
}
