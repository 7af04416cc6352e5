package bench

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/bench/connect"
)

func TestParseStatus(t *testing.T) {
	const status = "Name:\tdog wood\nVmHWM:\t   12340 kB\nVmRSS:\t   10000 kB\nRssAnon:\t    5 kB\nThreads:\t7\n"
	if got, want := parseStatus([]byte(status)), (memory{most: 12340 << 10, own: 5 << 10}); got != want {
		t.Errorf("parseStatus = %+v, want %+v", got, want)
	}
	if got := parseStatus([]byte("VmHWM: many kB\nRssAnon")); got != (memory{}) {
		t.Errorf("parseStatus of nonsense = %+v", got)
	}
	if got := memoryOf(0); got != (memory{}) {
		t.Errorf("memoryOf no process = %+v", got)
	}
	if got := memoryOf(os.Getpid()); runtime.GOOS == "linux" && (got.own <= 0 || got.most < got.own) {
		t.Errorf("memoryOf this process = %+v", got)
	}
}

// The most that was seen counts, and a server without metrics is judged by its
// process alone.
func TestWatchMemory(t *testing.T) {
	for _, c := range []struct {
		metrics string
		status  int
		heap    float64
	}{
		{"go_memstats_heap_inuse_bytes 3.145728e+06\n", http.StatusOK, 3},
		{"no such page", http.StatusNotFound, 0},
	} {
		asked := make(chan struct{}, 100)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.metrics)
			asked <- struct{}{}
		}))
		target := Target{URL: s.URL, PID: os.Getpid()}
		r := &Load{Options: Options{Target: target}, Admin: connect.NewAdmin(target)}
		ctx, cancel := context.WithCancel(t.Context())
		w, err := r.watchMemory(ctx, func() error { <-asked; <-asked; return nil }) // the first answer was read
		cancel()
		s.Close()
		if err != nil || w.heap != c.heap {
			t.Errorf("heap = %v, %v, want %v", w.heap, err, c.heap)
		}
		w.measure(r, "test")
		want := 0
		if runtime.GOOS == "linux" {
			want += 2
		}
		if c.heap > 0 {
			want++
		}
		if len(r.measures) != want {
			t.Errorf("measures %+v, want %d of them", r.measures, want)
		}
	}
}

func TestHealth(t *testing.T) {
	var h Health
	err := h.read(strings.NewReader("# HELP go_goroutines Number.\ngo_goroutines 42\ngo_memstats_heap_inuse_bytes 2.097152e+06\n" +
		"x{a=\"b c\"} 3\nprocess_resident_memory_bytes 1048576\ngo_goroutines_other 7\nbroken\n"))
	if want := (Health{ResidentMiB: 1, HeapMiB: 2, Goroutines: 42}); err != nil || h != want {
		t.Errorf("health = %+v, %v, want %+v", h, err, want)
	}
}
