package bench

import (
	"os"
	"testing"
	"time"
)

func TestMedianOf(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1}, 5}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 2, 3}, 2.5}} {
		if got := MedianOf(c.values); got != c.want {
			t.Errorf("MedianOf(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}

// Each figure has its own median, failures add up.
func TestMedian(t *testing.T) {
	result := func(rate, p50, load float64, failed int64) Result {
		r := Result{Workload: "x", PerSecond: rate, Latency: Latency{P50: p50}, Failed: failed, Measures: []Measure{{"load", load, "s"}}}
		if failed > 0 {
			r.Reason = "denied"
		}
		return r
	}
	in := []Result{result(10, 3, 7, 0), result(30, 1, 9, 2), result(20, 2, 8, 1)}
	m := Median(in)
	if m.PerSecond != 20 || m.Latency.P50 != 2 || m.value("load") != 8 || m.Failed != 3 || m.Reason != "denied" {
		t.Errorf("Median = %+v", m)
	}
	if in[0].value("load") != 7 || m.value("nothing") != 0 {
		t.Errorf("Median changed its input: %+v", in[0])
	}
	if m := Median(nil); m.Workload != "" {
		t.Errorf("Median of nothing = %+v", m)
	}
}

func TestWindow(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name            string
		warmup, length  time.Duration
		count, measured int64
		last, ended     time.Duration
		partial         bool
		want            time.Duration
	}{
		{"time", s, 10 * s, 0, 0, 11 * s, 12 * s, false, 10 * s},
		{"interrupted", s, 10 * s, 0, 0, 3 * s, 4 * s, true, 3 * s},
		{"interrupted while waiting for the last answers", s, 10 * s, 0, 0, 11 * s, 12 * s, true, 10 * s},
		{"count", 0, 0, 5, 6, 2 * s, 3 * s, false, 2 * s},
		{"count before time", s, 10 * s, 5, 6, 3 * s, 4 * s, false, 2 * s},
		{"time before count", s, 10 * s, 500, 6, 11 * s, 12 * s, false, 10 * s},
	} {
		r := NewLoad(Options{Warmup: c.warmup, Duration: c.length, Count: c.count})
		r.measured.Store(c.measured)
		r.last.Store(int64(c.last))
		if got := r.window(c.ended, c.partial); got != c.want {
			t.Errorf("%s: window %s, want %s", c.name, got, c.want)
		}
	}
}

func TestParseStat(t *testing.T) {
	const text = "42 (a) b (c) S 1 1 1 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 9 0 100 200000 3 18446744073709551615"
	got, err := parseStat([]byte(text))
	if want := (usage{cpu: 3 * time.Second, resident: 3 * int64(os.Getpagesize())}); err != nil || got != want {
		t.Errorf("parseStat = %+v, %v, want %+v", got, err, want)
	}
	for _, bad := range []string{"", "42 (x) S 1", "42 (x) S 1 1 1 0 -1 1 1 0 0 0 x 50 0 0 20 0 9 0 100 2 3 4"} {
		if got, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("parseStat(%q) = %+v", bad, got)
		}
	}
}

func TestMachine(t *testing.T) {
	m, err := ThisMachine(t.TempDir())
	if err != nil || m.Cores < 1 || m.Go == "" || m.SyncMs <= 0 {
		t.Errorf("ThisMachine = %+v, %v", m, err)
	}
	if m, err := ThisMachine(""); err != nil || m.SyncMs != 0 {
		t.Errorf("ThisMachine without a directory = %+v, %v", m, err)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	for _, w := range []Workload{
		Set{Connections: -1}, Set{InFlight: maxInFlight + 1}, Set{Size: 3}, Chat{Rooms: 1000, Members: 1000}, Chat{Rules: "locked"},
		Fanout{Subscribers: -1}, Idle{Connections: MaxConnections + 1}, Shallow{Sockets: -1}, Query{Over: "telegraph"}, RESTGet{Sockets: -1}, RESTPut{Size: 1},
	} {
		if _, err := w.WithDefaults(); err == nil {
			t.Errorf("%+v is accepted", w)
		}
	}
	for _, o := range []Options{{}, {Count: -1}, {Duration: -1}, {Duration: 1, Rate: -1}, {Duration: 1, Warmup: -1}} {
		if _, err := Run(t.Context(), Set{}, o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// A result names some faults and knows that there are more.
func TestFaultsAreBounded(t *testing.T) {
	r := &Load{}
	for i := range 100 {
		r.Fault("fault %d", i)
	}
	if len(r.faulted) != maxFaults || r.faulty != 100 || r.faulted[1] != "fault 1" {
		t.Errorf("%d faults are named, %d counted, the second is %q", len(r.faulted), r.faulty, r.faulted[1])
	}
}
