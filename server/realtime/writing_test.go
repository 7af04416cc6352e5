package realtime

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// TestWritingMissesNothing: whatever was said before want is seen by a writer after it, and
// there is never more than one writer, or caller that holds its place.
func TestWritingMissesNothing(t *testing.T) {
	const speakers, each = 4, 5_000
	var w writing
	var said, heard, ownSaid, heardOwn atomic.Int64
	var writers atomic.Int32
	var write func()
	alone := func(do func()) {
		if writers.Add(1) != 1 {
			t.Error("two writers at a time")
		}
		do()
		runtime.Gosched()
		writers.Add(-1)
		if w.goesOn() {
			go write()
		}
	}
	write = func() {
		alone(func() {
			w.begin()
			heard.Store(said.Load())
			heardOwn.Store(ownSaid.Load())
		})
	}
	synctest.Test(t, func(t *testing.T) {
		for i := range speakers {
			go func() {
				for range each {
					what := uint32(dirty)
					if i == 0 {
						ownSaid.Add(1)
						what |= own
					}
					said.Add(1)
					if w.want(what) {
						go write()
					}
				}
			}()
		}
		go func() {
			for range each {
				if w.hold() {
					alone(func() {})
				}
				runtime.Gosched()
			}
		}()
		w.wait()
		synctest.Wait()
	})
	if heard.Load() != speakers*each || heardOwn.Load() != each {
		t.Errorf("%d of %d were heard, %d of %d of the socket itself", heard.Load(), speakers*each, heardOwn.Load(), each)
	}
}

// TestWritingBegins: a writer looks for more than events only if it has to.
func TestWritingBegins(t *testing.T) {
	var w writing
	expect := func(doing string, want bool) {
		t.Helper()
		if got := w.begin(); got != want {
			t.Errorf("%s: begin() = %v, want %v", doing, got, want)
		}
	}
	w.want(dirty)
	expect("a socket that is not live", true)
	w.state.Or(live)
	w.want(dirty)
	expect("an event", false)
	w.want(dirty | own)
	w.want(dirty)
	expect("a ping and an event", true)
	expect("nothing since", false)
}

// TestWritingEnds: the end of the writing is waited for as long as there is a writer.
func TestWritingEnds(t *testing.T) {
	for name, end := range map[string]func(w *writing){
		"idle": func(w *writing) {
			for w.goesOn() {
			}
		},
		"failed": func(w *writing) { w.end() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var w writing
				if !w.want(dirty) || w.want(dirty|own) {
					t.Fatal("a writer is to be found once")
				}
				var waited atomic.Bool
				go func() {
					w.wait()
					waited.Store(true)
				}()
				synctest.Wait()
				if waited.Load() {
					t.Error("the wait is over before the writing")
				}
				end(&w)
				synctest.Wait()
				if !waited.Load() {
					t.Error("the wait goes on")
				}
			})
		})
	}
	var over writing
	over.want(dirty)
	over.end()
	over.wait()
	if over.want(dirty) {
		t.Error("something is to be written when writing is over")
	}
	new(writing).wait()
}
