package limit

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestJoint: callers that come while a result is made get the next one together, after a rest.
func TestJoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j Joint
		made, failed := 0, errors.New("failed")
		do := func() error {
			made++
			time.Sleep(time.Millisecond)
			if made > 1 {
				return failed
			}
			return nil
		}
		began := time.Now()
		var all sync.WaitGroup
		call := func(want error) {
			all.Go(func() {
				if err := j.Do(do); err != want {
					t.Errorf("Do = %v, want %v", err, want)
				}
			})
		}
		call(nil)
		synctest.Wait()
		for range 100 {
			call(failed)
		}
		all.Wait()
		if d := time.Since(began); made != 2 || d != (rests+2)*time.Millisecond {
			t.Errorf("%d results were made in %s, want 2 in %d ms", made, d, rests+2)
		}
	})
}

// A panic is the end of one result. Its other callers get an error, and the next one is made.
func TestJointAfterPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j Joint
		first, release := make(chan struct{}), make(chan struct{})
		go j.Do(func() error { close(first); <-release; return nil })
		<-first
		got := make(chan error, 1)
		go func() {
			defer func() { _ = recover() }()
			_ = j.Do(func() error { panic("defect") })
		}()
		synctest.Wait()
		go func() { got <- j.Do(nil) }()
		synctest.Wait()
		close(release)
		if err := <-got; err != errNoResult {
			t.Errorf("Do = %v, want %v", err, errNoResult)
		}
		if err := j.Do(func() error { return nil }); err != nil {
			t.Error(err)
		}
	})
}
