package bench

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// A Result has the figures of one run, or the median of several.
type Result struct {
	Workload string   `json:"workload"`
	Settings Workload `json:"settings"`
	Unit     string   `json:"unit"` // what Count and PerSecond count

	Seconds   float64 `json:"seconds"` // that were measured
	Count     int64   `json:"count"`
	PerSecond float64 `json:"perSecond"`
	Latency   Latency `json:"latencyMs"`

	Failed int64  `json:"failed"`
	Reason string `json:"reason,omitempty"` // of one failure

	Measures []Measure `json:"measures,omitempty"`

	Intervals []Interval `json:"intervals,omitempty"` // of a Soak
	Trials    []Trial    `json:"trials,omitempty"`    // of an Isolation; the first is without an attack
	Faults    []string   `json:"faults,omitempty"`    // the first ones of what a Soak or an Isolation found wrong

	ServerCores    float64 `json:"serverCores,omitempty"`    // processor time per time; 0 is unknown
	ServerMicros   float64 `json:"serverMicros,omitempty"`   // processor time per operation; 0 is unknown
	ServerMiB      float64 `json:"serverMiB,omitempty"`      // resident at the end; 0 is unknown
	GeneratorCores float64 `json:"generatorCores,omitempty"` // of this process

	Partial bool `json:"partial,omitempty"` // it was interrupted
}

// A Measure is a figure that only one workload has.
type Measure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

func (r *Load) result(w Workload, partial bool) Result {
	ended := r.Now()
	h, failed, reason := r.sum()
	unit, _ := w.About()
	res := Result{
		Workload: w.Name(), Settings: w, Unit: unit,
		Count: h.TotalCount(), Latency: latencyOf(h),
		Failed: failed, Reason: reason, Partial: partial,
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	res.Measures, res.Intervals, res.Trials, res.Faults = r.measures, r.intervals, r.trials, r.faulted
	window := r.window(ended, partial)
	if r.origin.IsZero() || window <= 0 {
		return res
	}
	res.Seconds = window.Seconds()
	res.PerSecond = float64(r.inTime.Load()) / window.Seconds()
	used := usagesOf(r.Target.PID)
	since := used.at.Sub(r.before.at).Seconds()
	res.ServerCores = used.server.since(r.before.server, since)
	res.ServerMicros = res.ServerCores * since / float64(max(1, res.Count)) * 1e6
	res.GeneratorCores = used.generator.since(r.before.generator, since)
	res.ServerMiB = float64(used.server.resident) / (1 << 20)
	return res
}

// window is how long was measured: the time that was asked for, or, if a count or an
// interruption ended it before, until the end.
func (r *Load) window(ended time.Duration, partial bool) time.Duration {
	end := r.end()
	if partial && (end == 0 || ended < end) {
		return ended - r.warmup
	}
	if r.count > 0 && r.measured.Load() >= r.count || end == 0 {
		return time.Duration(r.last.Load()) - r.warmup
	}
	return end - r.warmup
}

// Median returns the result whose figures are each the median of those of the
// given results, which must be of one workload. Each figure is a median of its
// own, so a result may have figures of several runs. A mean would let one run
// in which the machine did something else decide.
func Median(results []Result) Result {
	if len(results) == 0 {
		return Result{}
	}
	of := func(f func(*Result) float64) float64 {
		values := make([]float64, len(results))
		for i := range results {
			values[i] = f(&results[i])
		}
		return MedianOf(values)
	}
	m := results[0]
	m.Seconds = of(func(r *Result) float64 { return r.Seconds })
	m.Count = int64(of(func(r *Result) float64 { return float64(r.Count) }))
	m.PerSecond = of(func(r *Result) float64 { return r.PerSecond })
	m.ServerCores = of(func(r *Result) float64 { return r.ServerCores })
	m.ServerMicros = of(func(r *Result) float64 { return r.ServerMicros })
	m.ServerMiB = of(func(r *Result) float64 { return r.ServerMiB })
	m.GeneratorCores = of(func(r *Result) float64 { return r.GeneratorCores })
	m.Latency = Latency{
		P50:  of(func(r *Result) float64 { return r.Latency.P50 }),
		P90:  of(func(r *Result) float64 { return r.Latency.P90 }),
		P99:  of(func(r *Result) float64 { return r.Latency.P99 }),
		P999: of(func(r *Result) float64 { return r.Latency.P999 }),
		Max:  of(func(r *Result) float64 { return r.Latency.Max }),
		Mean: of(func(r *Result) float64 { return r.Latency.Mean }),
	}
	m.Measures = slices.Clone(m.Measures)
	for i := range m.Measures {
		m.Measures[i].Value = of(func(r *Result) float64 { return r.value(m.Measures[i].Name) })
	}
	m.Failed, m.Partial = 0, false
	for _, r := range results {
		m.Failed += r.Failed
		m.Partial = m.Partial || r.Partial
		m.Reason = cmp.Or(r.Reason, m.Reason)
	}
	return m
}

// value returns the measure of a name.
func (r *Result) value(name string) float64 {
	for _, m := range r.Measures {
		if m.Name == name {
			return m.Value
		}
	}
	return 0
}

// MedianOf returns the median of values, which it sorts; 0 if there are none.
func MedianOf(values []float64) float64 {
	sort.Slice(values, func(i, j int) bool { return values[i] < values[j] })
	n := len(values)
	switch {
	case n == 0:
		return 0
	case n%2 == 1:
		return values[n/2]
	}
	return (values[n/2-1] + values[n/2]) / 2
}

// A Trial has the figures of the bystander during one attack.
type Trial struct {
	Attack  string  `json:"attack"`
	Writes  Latency `json:"writesMs"`
	Reads   Latency `json:"readsMs"`
	Failed  int64   `json:"failed"` // operations of the bystander
	Reason  string  `json:"reason,omitempty"`
	Sent    int64   `json:"sent"`    // requests of the attacker
	Refused int64   `json:"refused"` // those that the server refused or cut
	MiB     float64 `json:"mib"`     // most memory of the server without the mapped file; 0 is unknown
}

// An Interval is a part of a long run.
type Interval struct {
	End     float64 `json:"end"`     // seconds since the load began
	Seconds float64 `json:"seconds"` // how long it was

	Posts      int64   `json:"posts"`
	Deliveries int64   `json:"deliveries"`
	Post       Latency `json:"postMs"`     // from when it was due to its acknowledgement
	Delivery   Latency `json:"deliveryMs"` // to its arrival at a follower

	Reconnects int64 `json:"reconnects"`
	Exports    int64 `json:"exports"`
	Backups    int64 `json:"backups"`

	Health  Health  `json:"server"` // at the end
	FileMiB float64 `json:"fileMiB,omitempty"`
	Faults  int     `json:"faults"` // so far
}
