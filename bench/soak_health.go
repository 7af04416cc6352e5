package bench

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// Health is what grows in a server that leaks. Zeros are unknown.
type Health struct {
	ResidentMiB float64 `json:"residentMiB,omitempty"`
	HeapMiB     float64 `json:"heapMiB,omitempty"` // in use, garbage included
	Goroutines  float64 `json:"goroutines,omitempty"`
}

// health asks the server, by its metrics, and the system, by its process id.
func (s *soak) health(ctx context.Context) Health {
	h := Health{ResidentMiB: float64(usagesOf(s.Target.PID).server.resident) / (1 << 20)}
	// A server without metrics is judged by the rest.
	_ = s.admin.streamFrom(ctx, "/metrics", func(r io.Reader) error { return h.read(r) })
	return h
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

// A bound is how much of something there may be at the end, given how much there
// was early in the run. Servers breathe: they collect garbage when it is worth
// it, and clients come and go.
type bound struct {
	what   string
	unit   string
	of     func(Health) float64
	factor float64
	slack  float64
}

var bounds = []bound{
	{"resident memory", "MiB", func(h Health) float64 { return h.ResidentMiB }, 1.25, 32},
	{"heap", "MiB", func(h Health) float64 { return h.HeapMiB }, 1.25, 16},
	{"goroutines", "", func(h Health) float64 { return h.Goroutines }, 1.1, 20},
}

// minJudged is how long a run lasts at least for growth to be a fault: a server
// takes what it needs in its first minute.
const minJudged = 2 * time.Minute

// judge compares the last fifth of the run with its second one, by medians.
func (s *soak) judge() {
	short := len(s.readings) > 0 && s.readings[len(s.readings)-1].at < minJudged
	for _, b := range bounds {
		early, late := b.between(s.readings, 0.2, 0.4), b.between(s.readings, 0.8, 1)
		if early == 0 {
			continue
		}
		s.measure(b.what+" early", early, b.unit)
		s.measure(b.what+" late", late, b.unit)
		if !short && late > early*b.factor+b.slack {
			s.fault("%s grew from %.0f %s to %.0f; %.0f is allowed", b.what, early, b.unit, late, early*b.factor+b.slack)
		}
	}
}

// between returns the median in a part of the run, 0 if it is not known.
func (b bound) between(readings []reading, from, to float64) float64 {
	if len(readings) == 0 {
		return 0
	}
	end := readings[len(readings)-1].at
	var values []float64
	for _, r := range readings {
		if part := float64(r.at) / float64(max(end, time.Nanosecond)); part >= from && part <= to && b.of(r.Health) > 0 {
			values = append(values, b.of(r.Health))
		}
	}
	return MedianOf(values)
}

// leftGoroutines is how many more may be left when all clients have gone.
const leftGoroutines = 10

// compareGoroutines waits until the server has no more goroutines than before
// the load.
func (s *soak) compareGoroutines(ctx context.Context, before Health) {
	if before.Goroutines == 0 {
		return
	}
	var after Health
	_ = eventually(ctx, func() (bool, error) { // no function that asks fails
		s.admin.http.CloseIdleConnections()
		after = s.health(ctx)
		return after.Goroutines <= before.Goroutines+leftGoroutines, nil
	})
	s.measure("goroutines before", before.Goroutines, "")
	s.measure("goroutines after", after.Goroutines, "")
	if after.Goroutines > before.Goroutines+leftGoroutines {
		s.fault("%.0f goroutines are left after all clients have gone, there were %.0f before they came", after.Goroutines, before.Goroutines)
	}
}
