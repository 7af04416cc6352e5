package observe

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Of many denied operations only some are reported; the others are counted.
func TestReporterIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // a timer writes, too
		var out strings.Builder
		note := func(format string, n int) func() {
			return func() {
				mu.Lock()
				defer mu.Unlock()
				fmt.Fprintf(&out, format, n)
			}
		}
		r := NewReporter(func(n int) { note("%d left out ", n)() })
		report := func(n int) {
			for i := range n {
				if r.Take() {
					r.Add(note("%d ", i))
				}
				synctest.Wait()
			}
		}
		want := func(text string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if got := strings.TrimSpace(out.String()); got != text {
				t.Errorf("reports are %q, want %q", got, text)
			}
			out.Reset()
		}
		report(MaxReports + 5)
		want("0 1 2 3 4 5 6 7 8 9")
		time.Sleep(reportsPeriod)
		want("5 left out")
		report(1)
		want("0")
		if !r.canTake() {
			t.Error("a second report was not taken")
		}
		report(MaxReports)
		r.Close()
		want("0 1 2 3 4 5 6 7 8 1 left out")
		if r.Take() {
			t.Error("a closed reporter takes a report")
		}
	})
}

// Reports that are not read delay no operation.
func TestReporterDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked, written := make(chan struct{}), 0
		r := NewReporter(func(int) {})
		for range 3 {
			for range 2 * MaxReports {
				if r.Take() {
					r.Add(func() { <-blocked; written++ })
				}
			}
			time.Sleep(reportsPeriod)
		}
		close(blocked)
		r.Close()
		if written < MaxReports || written > 2*MaxReports {
			t.Errorf("%d reports were written", written)
		}
	})
}
