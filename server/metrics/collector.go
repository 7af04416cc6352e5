package metrics

import (
	"maps"
	"net/http"
	"slices"
	"strconv"

	library "github.com/VictoriaMetrics/metrics"
)

// maxScrapes bounds how many ask for the metrics at a time. A scrape visits all
// databases. Without a bound, scrapes that are slower than their interval would
// pile up.
const maxScrapes = 4

// Handler returns what answers Prometheus: the server's own counts, those that read
// returns, and those of the Go runtime and the process.
func (m *Metrics) Handler(read func() Source) http.Handler {
	scrapes := make(chan struct{}, maxScrapes)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case scrapes <- struct{}{}:
			defer func() { <-scrapes }()
		default:
			http.Error(w, "too many requests for the metrics at a time", http.StatusServiceUnavailable)
			return
		}
		p := newPage()
		(&collector{m, read}).collect(p)
		w.Header().Set("Content-Type", contentType)
		if p.writeTo(w) == nil {
			library.WriteProcessMetrics(w)
		}
	})
}

// A collector makes metrics of Prometheus from counts when it is asked to.
//
// The counts are not registered anywhere: the engine must not know Prometheus, and a metric
// for each database would have to be registered and taken out as databases come and go.
type collector struct {
	*Metrics
	read func() Source
}

func (c *collector) collect(w *page) {
	s := c.read()
	c.server(w, s)
	c.requests(w)
	for _, d := range named(s.Databases) {
		w.database(d)
	}
	_, timings := s.Sum()
	w.histogram(commitSeconds, timings.Commits)
	w.histogram(syncSeconds, timings.Syncs)
	w.histogram(logSync, s.Log.Syncs)
	w.histogram(ackSeconds, timings.Acks)
	w.histogram(batchWrites, timings.Sizes)
}

func (c *collector) server(w *page, s Source) {
	w.add(info, 1, s.Version)
	for _, t := range []struct {
		name string
		c    *Connected
	}{{"websocket", &c.WebSockets}, {"long_poll", &c.LongPolls}, {"event_stream", &c.EventStreams}} {
		w.add(connections, float64(t.c.Now()), t.name)
		w.add(connectionsTotal, float64(t.c.Total()), t.name)
	}
	for _, t := range []struct {
		name string
		t    *Traffic
	}{{"http", &c.HTTP}, {"websocket", &c.Sockets}} {
		in, out := t.t.Bytes()
		w.add(receivedBytes, float64(in), t.name)
		w.add(sentBytes, float64(out), t.name)
	}
	stats, _ := s.Sum()
	for i, label := range reasons {
		r := Reason(i)
		n := c.Refused.Of(r)
		switch r {
		case SlowConsumer:
			n += stats.Slow // those whom the engine gave up
		case Queue:
			n += stats.Waits
		}
		w.add(refused, float64(n), label)
	}
	w.add(credentialsRefused, float64(c.CredentialsRefused.Load()))
	w.add(heldBytes, float64(s.BodyBytes), "bodies")
	w.add(heldBytes, float64(s.WorkBytes), "work")
	w.add(heldBytes, float64(s.AnswerBytes), "answers")
	w.add(heldBytes, float64(s.ViewBytes), "views")
	w.add(heldBytes, float64(s.WaitingBytes), "waiting")
	w.add(heldBytes, float64(s.PendingBytes), "disconnects")
	w.add(bulkRunning, float64(s.RunningImports), "import")
	w.add(bulkRunning, float64(s.RunningExports), "export")
	w.add(backups, float64(s.BackupsDone), "done")
	w.add(backups, float64(s.BackupsFailed), "failed")
	if !s.LastBackup.IsZero() {
		w.add(lastBackup, float64(s.LastBackup.UnixMilli())/1000)
		w.add(lastBackupBytes, float64(s.LastBackupBytes))
	}
	w.add(spans, float64(s.SpansSent), "sent")
	w.add(spans, float64(s.SpansDropped), "dropped")
	w.add(databases, float64(s.open()))
	certificates(w, s)
	disks(w, s)
}

func certificates(w *page, s Source) {
	for _, host := range slices.Sorted(maps.Keys(s.Certificates)) {
		until := 0.0 // an alert on the end of a certificate is one on a missing one, too
		if at := s.Certificates[host]; !at.IsZero() {
			until = float64(at.Unix())
		}
		w.add(certificateEnd, until, host)
	}
}

// disks shows the space on disks, and the log, which takes some of it.
func disks(w *page, s Source) {
	for _, d := range s.Disks {
		w.add(diskFree, float64(d.Free), d.Use)
		w.add(diskSize, float64(d.Size), d.Use)
		w.add(diskLeast, float64(d.Least), d.Use)
		w.add(diskShort, oneIf(d.Short), d.Use)
	}
	w.add(logBytes, float64(s.Log.Bytes))
	w.add(logSegments, float64(s.Log.Segments))
	w.add(logUnapplied, float64(s.Log.Unapplied))
	w.add(logOldest, s.Log.Oldest.Seconds())
}

// requests shows the combinations that there were. The times of all kinds are there
// from the start.
func (c *collector) requests(w *page) {
	for kind := range kindCount {
		for status := minStatus; status <= maxStatus; status++ {
			if n := c.Requests.Of(kind, status); n > 0 {
				w.add(requests, float64(n), kind.String(), strconv.Itoa(status))
			}
		}
		if h := c.Requests.took[kind]; h != nil {
			w.histogram(requestSeconds, h.Snapshot(), kind.String())
		}
	}
}
