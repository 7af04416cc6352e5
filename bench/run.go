package bench

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// A Workload is a kind of load with its settings. Zero settings take their
// defaults. The types of this package are the only workloads.
type Workload interface {
	// Name is what the workload is called on the command line.
	Name() string

	// Describe says what is done in a few words.
	Describe() string

	unit() string  // what is counted
	rules() string // the rules document that it needs
	withDefaults() Workload
	check() error // whether the settings make sense
	drive(ctx context.Context, r *run) error
}

// Options say how long and how hard to load.
type Options struct {
	Target Target

	Warmup   time.Duration // load that is not measured
	Duration time.Duration // measured load; 0 has no end but Count
	Count    int64         // measured operations; 0 is any number
	Rate     float64       // operations per second; 0 is as fast as answers come

	Force bool // load a database that is not empty
	Keep  bool // leave the data in it

	// Server, if not nil, is what answers at Target, and may be started again.
	Server Server

	// Attackers, if not nil, returns a process for the attackers of an Isolation, not yet
	// started: one that calls RunAttackers. Without it they are in this process, and the
	// latencies include the time that they take from the bystander.
	Attackers func() *exec.Cmd

	// Progress, if not nil, is called several times per second.
	Progress func(Progress)

	// Interval, if not nil, is called for each interval of a Soak when it ends.
	Interval func(Interval)
}

// Progress is how far a run has come.
type Progress struct {
	Phase string        // "prepare", "warm up" or "measure"
	Since time.Duration // the phase began
	Count int64         // measured operations so far
	Unit  string
}

// grace is how long answers are waited for after the last operation began.
const grace = 10 * time.Second

// A run is one workload under way.
type run struct {
	Options
	*schedule
	*recorder
	admin *admin
	phase atomic.Pointer[phase]

	mu        sync.Mutex
	measures  []Measure
	intervals []Interval
	trials    []Trial
	faults    []string
	faulty    int    // faults, those that are not named among them
	before    usages // at the start of the load
}

// Run loads a target once. If ctx ends early the result has what was measured
// until then; before the load has begun, that is an error. An error comes
// without a result.
func Run(ctx context.Context, w Workload, o Options) (Result, error) {
	w = w.withDefaults()
	if err := errors.Join(w.check(), o.check()); err != nil {
		return Result{}, fmt.Errorf("%s: %w", w.Name(), err)
	}
	r := newRun(o)
	defer r.report(w.unit())()
	restore, err := r.admin.prepare(ctx, w.rules(), o.Force, o.Keep)
	if err != nil {
		return Result{}, err
	}
	defer restore()
	if err := w.drive(ctx, r); err != nil && (ctx.Err() == nil || r.origin.IsZero()) {
		return Result{}, fmt.Errorf("%s: %w", w.Name(), err)
	}
	return r.result(w, ctx.Err() != nil), nil
}

func newRun(o Options) *run {
	s := &schedule{warmup: o.Warmup, length: o.Duration, count: o.Count}
	if o.Rate > 0 {
		s.every = max(1, time.Duration(float64(time.Second)/o.Rate))
	}
	r := &run{Options: o, schedule: s, recorder: newRecorder(s), admin: newAdmin(o.Target)}
	r.enter("prepare")
	return r
}

func (o Options) check() error {
	switch {
	case o.Duration < 0 || o.Count < 0 || o.Warmup < 0 || o.Rate < 0:
		return errors.New("durations, counts and rates cannot be negative")
	case o.Duration == 0 && o.Count == 0:
		return errors.New("neither a duration nor a count: it would never end")
	}
	return nil
}

// begin starts the clock. Everything before it is preparation.
func (r *run) begin() {
	r.before = usagesOf(r.Target.PID)
	r.start()
	r.enter("measure")
	if r.warmup > 0 {
		r.enter("warm up")
		time.AfterFunc(r.warmup, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.before = usagesOf(r.Target.PID)
			r.enter("measure")
		})
	}
}

// A phase is a part of a run.
type phase struct {
	name  string
	since time.Time
}

func (r *run) enter(name string) { r.phase.Store(&phase{name, time.Now()}) }

// measure adds a figure of the workload's own to the result.
func (r *run) measure(name string, value float64, unit string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.measures = append(r.measures, Measure{name, value, unit})
}

// report calls Progress until the returned function is called.
func (r *run) report(unit string) (stop func()) {
	if r.Progress == nil {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p := r.phase.Load()
				r.Progress(Progress{Phase: p.name, Since: time.Since(p.since), Count: r.inTime.Load(), Unit: unit})
			case <-quit:
				return
			}
		}
	}()
	return func() { close(quit); <-done }
}

// dialing is how many connections are made at a time.
const dialing = 32

// dialAll makes n connections and calls ready, if not nil, for each.
func (r *run) dialAll(ctx context.Context, n, buffer int, ready func(i int, c *conn) error) (conns []*conn, err error) {
	conns = make([]*conn, n)
	err = parallel(ctx, n, dialing, func(ctx context.Context, i int) error {
		c, err := dial(ctx, r.Target, buffer)
		if err != nil {
			return err
		}
		conns[i] = c
		if ready != nil {
			return ready(i, c)
		}
		return nil
	})
	if err != nil {
		closeAll(conns)
		return nil, err
	}
	return conns, nil
}

func closeAll(conns []*conn) {
	for _, c := range conns {
		if c != nil {
			c.close()
		}
	}
}

// parallel calls f for 0 to n-1, at most limit at a time, until one fails. It
// returns the first error.
func parallel(ctx context.Context, n, limit int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, limit) {
		wg.Go(func() {
			for i := int(next.Add(1) - 1); i < n && ctx.Err() == nil; i = int(next.Add(1) - 1) {
				if err := f(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}
