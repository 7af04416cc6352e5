package remote

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/server/observe"
)

// writeTopLines prints a second as a few lines. Each begins with its subject.
func writeTopLines(w io.Writer, v observe.Top) error {
	var b bytes.Buffer
	at := time.UnixMilli(v.Time).UTC().Format(time.RFC3339)
	n, r := v.Connections, v.Rates
	fmt.Fprintf(&b, "%s connections %d websocket %d long-poll %d event-stream %d listens %d\n",
		at, n.WebSocket+n.LongPoll+n.EventStream, n.WebSocket, n.LongPoll, n.EventStream, v.Listens)
	fmt.Fprintf(&b, "%s reads/s %.0f writes/s %.0f events/s %.0f requests/s %.0f denied/s %.0f refused/s %.0f in/s %s out/s %s\n",
		at, r.Reads, r.Writes, r.Events, r.Requests, r.Denied, r.Refused, console.FormatBytes(int64(r.BytesIn)), console.FormatBytes(int64(r.BytesOut)))
	fmt.Fprintf(&b, "%s commit p50 %s p99 %s sync p99 %s write p99 %s queued %d\n",
		at, formatMillis(v.Commit.P50), formatMillis(v.Commit.P99), formatMillis(v.Sync.P99), formatMillis(v.Write.P99), v.QueuedWrite)
	fmt.Fprintf(&b, "%s log %s segments %d sync p99 %s unapplied %s oldest %s\n",
		at, console.FormatBytes(v.Log.Bytes), v.Log.Segments, formatMillis(v.Log.Sync.P99), console.FormatBytes(v.Log.Unapplied), formatMillis(1000*v.Log.Oldest))
	for _, s := range v.Slow {
		fmt.Fprintf(&b, "%s slow %s\n", at, slowText(s))
	}
	for _, p := range v.Paths {
		fmt.Fprintf(&b, "%s path %s %s writes/s %.1f reads/s %.1f events/s %.1f\n", at, console.Printable(p.Namespace), console.Printable(p.Path), p.Writes, p.Reads, p.Events)
	}
	for _, d := range v.Definitions {
		fmt.Fprintf(&b, "%s definition %s writes/s %.1f touches/s %.1f skipped/s %.1f share %.2f%%\n",
			at, console.Printable(d.Namespace+" "+d.Definition), d.Writes, d.Touches, d.Skipped, 100*d.Share)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func slowText(s observe.SlowClient) string {
	return console.Printable(fmt.Sprintf("%s %s %s %s %s in %d", s.Connection, s.Remote, s.Namespace, s.Transport, console.FormatBytes(int64(s.Bytes)), s.Messages))
}

// formatMillis writes a time as people read it; 0 is none.
func formatMillis(ms float64) string {
	switch {
	case ms == 0:
		return "-"
	case ms < 10:
		return fmt.Sprintf("%.2fms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.0fms", ms)
	}
	return fmt.Sprintf("%.1fs", ms/1000)
}

// drawTop draws a second on a terminal, over the one before.
func drawTop(w io.Writer, title string, v observe.Top) error {
	const home, clear, endOfLine = "\x1b[H", "\x1b[J", "\x1b[K\n"
	page := bytes.ReplaceAll([]byte(console.Shown(string(topPage(title, v)))), []byte("\n"), []byte(endOfLine))
	_, err := fmt.Fprintf(w, "%s%s%s", home, page, clear)
	return err
}

// topPage is a second as a page of tables.
func topPage(title string, v observe.Top) []byte {
	var b bytes.Buffer
	n, r := v.Connections, v.Rates
	fmt.Fprintf(&b, "%s   %s\n\n", title, time.UnixMilli(v.Time).Format(time.TimeOnly))
	fmt.Fprintf(&b, "connections  %d WebSocket, %d long poll, %d event stream      listens  %d      databases  %d\n",
		n.WebSocket, n.LongPoll, n.EventStream, v.Listens, v.Databases)
	fmt.Fprintf(&b, "per second   %.0f writes, %.0f reads, %.0f events, %.0f requests; %s in, %s out\n",
		r.Writes, r.Reads, r.Events, r.Requests, console.FormatBytes(int64(r.BytesIn)), console.FormatBytes(int64(r.BytesOut)))
	fmt.Fprintf(&b, "             %.0f denied by rules, %.0f refused, %.0f overflows, %.0f views reloaded\n", r.Denied, r.Refused, r.Overflows, r.Reloads)
	fmt.Fprintf(&b, "commit       p50 %s  p99 %s   (disk p99 %s)      write  p50 %s  p99 %s      queued  %d\n",
		formatMillis(v.Commit.P50), formatMillis(v.Commit.P99), formatMillis(v.Sync.P99), formatMillis(v.Write.P50), formatMillis(v.Write.P99), v.QueuedWrite)
	fmt.Fprintf(&b, "log          %s in %d segments, sync p99 %s      not applied  %s, oldest %s\n",
		console.FormatBytes(v.Log.Bytes), v.Log.Segments, formatMillis(v.Log.Sync.P99), console.FormatBytes(v.Log.Unapplied), formatMillis(1000*v.Log.Oldest))
	t := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	if len(v.Slow) > 0 {
		fmt.Fprintf(t, "\nWAITING FOR\tADDRESS\tDATABASE\tTRANSPORT\tBYTES\tMESSAGES\n")
		for _, s := range v.Slow {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d\n", console.Printable(s.Connection), console.Printable(s.Remote), console.Printable(s.Namespace), s.Transport, console.FormatBytes(int64(s.Bytes)), s.Messages)
		}
	}
	t.Flush() // into memory: cannot fail
	if len(v.Paths) > 0 {
		fmt.Fprintf(t, "\nWRITES/S\tREADS/S\tLISTENS/S\tEVENTS/S\tBYTES/S\tPATH\n")
		for _, p := range v.Paths {
			fmt.Fprintf(t, "%.1f\t%.1f\t%.1f\t%.1f\t%s\t%s\n", p.Writes, p.Reads, p.Listens, p.Events, console.FormatBytes(int64(p.Bytes)), console.Printable(p.Namespace+":"+p.Path))
		}
	}
	t.Flush()
	if len(v.Definitions) > 0 {
		fmt.Fprintf(t, "\nWRITES/S\tTOUCHES/S\tSKIPPED/S\tSHARE\tDEFINITION\n")
		for _, d := range v.Definitions {
			fmt.Fprintf(t, "%.1f\t%.1f\t%.1f\t%.2f%%\t%s\n", d.Writes, d.Touches, d.Skipped, 100*d.Share, console.Printable(d.Namespace+":"+d.Definition))
		}
	}
	t.Flush()
	return b.Bytes()
}
