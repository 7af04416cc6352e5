package benchcmd

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dogwooddb/dogwood/bench"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

// printReport prints a report as a table for people.
func printReport(w io.Writer, r measured) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n%s\n\n", r.Workload, r.describe, machineLine(r.Machine))
	if len(r.Median.Trials) > 0 {
		return printTrials(w, b.String(), r.Runs)
	}
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "run\t%s/s\tp50 ms\tp90\tp99\tp99.9\tmax\tfailed\tserver cores\tµs each\tbench cores\t\n", r.Median.Unit)
	printRuns(t, "", r.Runs, r.Median)
	if r.Other != nil {
		printRuns(t, r.compared.label+" ", r.Against, *r.Other)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	printMeasures(&b, r)
	if r.Ratio != nil {
		fmt.Fprintf(&b, "\n"+r.compared.rate+", "+r.compared.p50, *r.Ratio*100, *r.P50)
		if *r.Time > 0 {
			fmt.Fprintf(&b, ", "+r.compared.time, *r.Time)
		}
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// printMeasures prints a line for each figure that is not in the table, with that of the
// other server behind it if it has one.
func printMeasures(w io.Writer, r measured) {
	var others map[string]float64
	if r.Other != nil {
		others = map[string]float64{memory: r.Other.ServerMiB}
		for _, m := range r.Other.Measures {
			others[m.Name] = m.Value
		}
	}
	for _, m := range append(slices.Clone(r.Median.Measures), bench.Measure{Name: memory, Value: r.Median.ServerMiB, Unit: "MiB"}) {
		if m.Name == memory && m.Value == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s: %s %s", m.Name, figure(m.Value), m.Unit)
		if other := others[m.Name]; other > 0 {
			fmt.Fprintf(w, " (%s %s)", r.compared.label, figure(other))
		}
	}
}

// memory is the name of a figure that every server has.
const memory = "server memory"

// printRuns prints a line for each run and, if there are several, one for their
// median.
func printRuns(w io.Writer, prefix string, runs []bench.Result, median bench.Result) {
	for i, r := range runs {
		name := prefix + strconv.Itoa(i+1)
		if r.Partial {
			name += " (interrupted)"
		}
		printRun(w, name, r)
	}
	if len(runs) > 1 {
		printRun(w, prefix+"median", median)
	}
}

func printRun(w io.Writer, name string, r bench.Result) {
	fmt.Fprintf(w, "%s\t%s\t", name, figure(r.PerSecond))
	for _, ms := range []float64{r.Latency.P50, r.Latency.P90, r.Latency.P99, r.Latency.P999, r.Latency.Max} {
		fmt.Fprintf(w, "%s\t", figure(ms))
	}
	fmt.Fprintf(w, "%d\t%s\t%s\t%s\t\n", r.Failed, known(r.ServerCores), known(r.ServerMicros), known(r.GeneratorCores))
}

// known prints a figure that may not be known.
func known(n float64) string {
	if n == 0 {
		return "-"
	}
	return figure(n)
}

// figure prints a number with three digits, or all that are before the point.
func figure(n float64) string {
	switch {
	case n >= 100:
		return thousands(strconv.FormatFloat(n, 'f', 0, 64))
	case n >= 10:
		return strconv.FormatFloat(n, 'f', 1, 64)
	case n >= 1:
		return strconv.FormatFloat(n, 'f', 2, 64)
	}
	return strconv.FormatFloat(n, 'f', 3, 64)
}

func thousands(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func machineLine(m bench.Machine) string {
	parts := []string{fmt.Sprintf("%d cores", m.Cores), m.System, m.Go}
	if m.Processor != "" {
		parts[0] += " (" + m.Processor + ")"
	}
	if m.SyncMs > 0 {
		parts = append(parts, "a sync takes "+figure(m.SyncMs)+" ms")
	}
	return strings.Join(parts, ", ")
}

// A progress is a line on a terminal that says how far a run is.
type progress struct {
	line  console.StatusLine
	title string
	total string
}

func newProgress(e *console.Env, name string, n, of int, o bench.Options) *progress {
	p := &progress{line: e.StatusLine(), title: name}
	if of > 1 {
		p.title += fmt.Sprintf(" %d/%d", n, of)
	}
	switch {
	case o.Count > 0:
		p.total = fmt.Sprintf("%s operations", thousands(strconv.FormatInt(o.Count, 10)))
	default:
		p.total = o.Duration.String()
	}
	return p
}

func (p *progress) show(at bench.Progress) {
	p.line.Show("%s (%s): %s %s, %s %s", p.title, p.total, at.Phase, at.Since.Round(100*time.Millisecond),
		thousands(strconv.FormatInt(at.Count, 10)), at.Unit)
}
