package benchcmd

import (
	"fmt"
	"io"
	"time"

	"github.com/dogwooddb/dogwood/bench"
)

// An intervalPrinter prints the intervals of a long run as they end, below one
// heading.
type intervalPrinter struct {
	w        io.Writer
	progress *progress
	begun    bool
}

func (p *intervalPrinter) print(i bench.Interval) {
	p.progress.line.Clear()
	const form = "%8s %8s %8s %8s %8s %9s %8s %8s %6s %7s %7s %8s %9s %10s %6s\n"
	if !p.begun {
		p.begun = true
		fmt.Fprintf(p.w, form, "after", "posts/s", "p50 ms", "p99", "max", "events/s", "p99 ms", "max",
			"joins", "exports", "backups", "RSS MiB", "heap MiB", "goroutines", "faults")
	}
	fmt.Fprintf(p.w, form, (time.Duration(i.End * float64(time.Second))).Round(time.Second),
		figure(float64(i.Posts)/i.Seconds), figure(i.Post.P50), figure(i.Post.P99), figure(i.Post.Max),
		figure(float64(i.Deliveries)/i.Seconds), figure(i.Delivery.P99), figure(i.Delivery.Max),
		fmt.Sprint(i.Reconnects), fmt.Sprint(i.Exports), fmt.Sprint(i.Backups),
		known(i.Health.ResidentMiB), known(i.Health.HeapMiB), known(i.Health.Goroutines), fmt.Sprint(i.Faults))
}
