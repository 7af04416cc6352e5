package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/bench/connect"
)

// A memory is what a process takes of the machine's memory, in bytes. It is zero
// where the system does not tell.
type memory struct {
	most int64 // resident at any time, pages of mapped files among them
	own  int64 // resident now without those: heap, stacks
}

// memoryOf reads /proc/PID/status.
func memoryOf(pid int) memory {
	if pid <= 0 {
		return memory{}
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return memory{}
	}
	return parseStatus(status)
}

func parseStatus(status []byte) (m memory) {
	for line := range bytes.Lines(status) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		kib, err := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(value), []byte("kB")))), 10, 64)
		if err != nil {
			continue
		}
		switch string(name) {
		case "VmHWM":
			m.most = kib << 10
		case "RssAnon":
			m.own = kib << 10
		}
	}
	return m
}

// How often a memoryWatch looks.
const (
	watchEvery  = 20 * time.Millisecond
	metricsEach = 10 // of these looks; a server works for its metrics
)

// A memoryWatch notes the most that the server takes while something goes on.
// The most is noted and not the end, since memory is given back when the load
// is over.
type memoryWatch struct {
	admin *connect.Admin
	pid   int
	most  int64   // resident
	own   int64   // most of it that was not the mapped file
	heap  float64 // most heap in use that the server told of, in MiB
}

// watchMemory watches the server while f runs.
func (r *Load) watchMemory(ctx context.Context, f func() error) (memoryWatch, error) {
	w := memoryWatch{admin: r.Admin, pid: r.Target.PID}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.watch(ctx)
	}()
	err := f()
	cancel()
	<-done
	w.look()
	return w, err
}

// OwnMemory returns the most memory that the server takes while f runs, without pages of
// mapped files, in MiB; 0 is unknown.
func (r *Load) OwnMemory(ctx context.Context, f func() error) (mib float64, err error) {
	w, err := r.watchMemory(ctx, f)
	return float64(w.own) / (1 << 20), err
}

// Health asks the server, by its metrics, and the system, by its process id.
func (r *Load) Health(ctx context.Context) Health {
	h := Health{ResidentMiB: float64(usagesOf(r.Target.PID).server.resident) / (1 << 20)}
	// A server without metrics is judged by the rest.
	_ = r.Admin.StreamFrom(ctx, "/metrics", func(r io.Reader) error { return h.read(r) })
	return h
}

func (w *memoryWatch) watch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for n := 0; ; n++ {
		w.look()
		if n%metricsEach == 0 {
			w.ask(ctx)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (w *memoryWatch) look() {
	m := memoryOf(w.pid)
	w.most, w.own = max(w.most, m.most), max(w.own, m.own)
}

// ask asks the server itself. One that has no metrics is judged by the rest.
func (w *memoryWatch) ask(ctx context.Context) {
	var h Health
	if w.admin.StreamFrom(ctx, "/metrics", h.read) == nil {
		w.heap = max(w.heap, h.HeapMiB)
	}
}

// measure adds what was seen to the result.
func (w *memoryWatch) measure(r *Load, during string) {
	for _, m := range []struct {
		name string
		mib  float64
	}{
		{"resident", float64(w.most) / (1 << 20)},
		{"resident without the file", float64(w.own) / (1 << 20)},
		{"heap in use", w.heap},
	} {
		if m.mib > 0 {
			r.Measure("most "+m.name+", "+during, m.mib, "MiB")
		}
	}
}

// Health is what grows in a server that leaks. Zeros are unknown.
type Health struct {
	ResidentMiB float64 `json:"residentMiB,omitempty"`
	HeapMiB     float64 `json:"heapMiB,omitempty"` // in use, garbage included
	Goroutines  float64 `json:"goroutines,omitempty"`
}

// read takes what it knows from metrics in the text format of Prometheus.
func (h *Health) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		name, text, _ := bytes.Cut(lines.Bytes(), []byte(" "))
		value, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
		if err != nil || math.IsNaN(value) {
			continue
		}
		switch string(name) {
		case "go_goroutines":
			h.Goroutines = value
		case "go_memstats_heap_inuse_bytes":
			h.HeapMiB = value / (1 << 20)
		case "process_resident_memory_bytes":
			h.ResidentMiB = value / (1 << 20)
		}
	}
	return lines.Err()
}
