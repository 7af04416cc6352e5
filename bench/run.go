package bench

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/bench/connect"
)

// A Workload is a kind of load with its settings. Zero settings take their
// defaults. Package bench has the usual ones; isolation and soak have one each.
type Workload interface {
	// Name is what the workload is called on the command line.
	Name() string

	// Describe says what is done in a few words.
	Describe() string

	// About returns what is counted, and the rules document that the workload needs: "" if it
	// loads something without rules, where nothing is prepared.
	About() (unit, rules string)

	// WithDefaults returns the workload with all settings, or an error if one is wrong.
	WithDefaults() (Workload, error)

	// Drive prepares the data, calls Begin, and puts load on the server until the schedule
	// of the load ends or ctx does.
	Drive(ctx context.Context, r *Load) error
}

// A Target is a database on a server, with a credential for it.
type Target = connect.Target

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

// A Load is one workload under way.
//
// A workload drives it: it prepares its data, calls Begin, takes due times from
// the schedule until that ends, and tells the recorder of each operation with
// the time at which it was due. The schedule and the recorder may be used by
// any number of goroutines; mu guards what is added to the result.
type Load struct {
	Options
	*schedule
	*recorder
	Admin *connect.Admin
	phase atomic.Pointer[phase]

	mu        sync.Mutex
	measures  []Measure
	intervals []Interval
	trials    []Trial
	faulted   []string
	faulty    int    // faults, those that are not named among them
	before    usages // at the start of the load
}

// Run loads a target once. If ctx ends early the result has what was measured
// until then; before the load has begun, that is an error. An error comes
// without a result.
//
// Preparing is not measured, and what it changes in the database is put back
// afterwards unless the options keep it. A load that was interrupted still has
// a result, marked as partial, since a long run is not worth nothing because
// its end is missing.
func Run(ctx context.Context, w Workload, o Options) (Result, error) {
	w, err := w.WithDefaults()
	if err := errors.Join(err, o.check()); err != nil {
		return Result{}, fmt.Errorf("%s: %w", w.Name(), err)
	}
	unit, rules := w.About()
	r := NewLoad(o)
	defer r.report(unit)()
	if rules != "" {
		restore, err := r.Admin.Prepare(ctx, rules, o.Force, o.Keep)
		if err != nil {
			return Result{}, err
		}
		defer restore()
	}
	if err := w.Drive(ctx, r); err != nil && (ctx.Err() == nil || r.origin.IsZero()) {
		return Result{}, fmt.Errorf("%s: %w", w.Name(), err)
	}
	return r.result(w, ctx.Err() != nil), nil
}

// NewLoad returns a load that has not begun.
func NewLoad(o Options) *Load {
	s := &schedule{warmup: o.Warmup, length: o.Duration, count: o.Count}
	if o.Rate > 0 {
		s.every = max(1, time.Duration(float64(time.Second)/o.Rate))
	}
	r := &Load{Options: o, schedule: s, recorder: newRecorder(s), Admin: connect.NewAdmin(o.Target)}
	r.Enter("prepare")
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

// Begin starts the clock. Everything before it is preparation.
func (r *Load) Begin() {
	r.before = usagesOf(r.Target.PID)
	r.start()
	r.Enter("measure")
	if r.warmup > 0 {
		r.Enter("warm up")
		time.AfterFunc(r.warmup, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.before = usagesOf(r.Target.PID)
			r.Enter("measure")
		})
	}
}

// A phase is a part of a run.
type phase struct {
	name  string
	since time.Time
}

// Enter names the phase that begins.
func (r *Load) Enter(name string) { r.phase.Store(&phase{name, time.Now()}) }

// Measure adds a figure of the workload's own to the result.
func (r *Load) Measure(name string, value float64, unit string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.measures = append(r.measures, Measure{name, value, unit})
}

// report calls Progress until the returned function is called.
func (r *Load) report(unit string) (stop func()) {
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

// timed returns how long f took.
func timed(f func() error) (time.Duration, error) {
	began := time.Now()
	err := f()
	return time.Since(began), err
}

// AddTrial adds a trial to the result.
func (r *Load) AddTrial(t Trial) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trials = append(r.trials, t)
}

// Faults returns what was found wrong.
func (r *Load) Faults() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.faulted
}

// AddInterval adds an interval to the result and reports it.
func (r *Load) AddInterval(next Interval) {
	r.mu.Lock()
	next.Faults = r.faulty
	r.intervals = append(r.intervals, next)
	r.mu.Unlock()
	if r.Interval != nil {
		r.Interval(next)
	}
}

// maxFaults is how many faults a result names. There may be more.
const maxFaults = 20

// Fault notes that something is wrong which is not the end of the run.
func (r *Load) Fault(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.faulty++; r.faulty <= maxFaults {
		r.faulted = append(r.faulted, fmt.Sprintf(format, args...))
	}
}
