package soak

import (
	"context"
	"time"

	"github.com/dogwooddb/dogwood/bench"
)

// A bound is how much of something there may be at the end, given how much there
// was early in the run. Servers breathe: they collect garbage when it is worth
// it, and clients come and go.
type bound struct {
	what   string
	unit   string
	of     func(bench.Health) float64
	factor float64
	slack  float64
}

var bounds = []bound{
	{"resident memory", "MiB", func(h bench.Health) float64 { return h.ResidentMiB }, 1.25, 32},
	{"heap", "MiB", func(h bench.Health) float64 { return h.HeapMiB }, 1.25, 16},
	{"goroutines", "", func(h bench.Health) float64 { return h.Goroutines }, 1.1, 20},
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
		s.Measure(b.what+" early", early, b.unit)
		s.Measure(b.what+" late", late, b.unit)
		if !short && late > early*b.factor+b.slack {
			s.Fault("%s grew from %.0f %s to %.0f; %.0f is allowed", b.what, early, b.unit, late, early*b.factor+b.slack)
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
	return bench.MedianOf(values)
}

// leftGoroutines is how many more may be left when all clients have gone.
const leftGoroutines = 10

// compareGoroutines waits until the server has no more goroutines than before
// the load.
func (s *soak) compareGoroutines(ctx context.Context, before bench.Health) {
	if before.Goroutines == 0 {
		return
	}
	var after bench.Health
	_ = eventually(ctx, func() (bool, error) { // no function that asks fails
		s.Admin.CloseIdle()
		after = s.Health(ctx)
		return after.Goroutines <= before.Goroutines+leftGoroutines, nil
	})
	s.Measure("goroutines before", before.Goroutines, "")
	s.Measure("goroutines after", after.Goroutines, "")
	if after.Goroutines > before.Goroutines+leftGoroutines {
		s.Fault("%.0f goroutines are left after all clients have gone, there were %.0f before they came", after.Goroutines, before.Goroutines)
	}
}
