package metrics

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/dogwooddb/dogwood/sync/histogram"
)

// maxScrapes bounds how many ask for the metrics at a time. A scrape visits all
// databases. Without a bound, scrapes that are slower than their interval would
// pile up.
const maxScrapes = 4

// Handler returns what answers Prometheus: the server's own counts, those that read
// returns, and those of the Go runtime and the process.
func (m *Metrics) Handler(read func() Source) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(&collector{m, read}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes, Registry: r})
}

// A collector makes metrics of Prometheus from counts when it is asked to.
//
// It implements the collector of Prometheus instead of registering counters
// there: the engine must not know Prometheus, and a metric per database would
// have to be registered and taken out as databases come and go.
type collector struct {
	*Metrics
	read func() Source
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, f := range families {
		ch <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	s := c.read()
	w := writer(ch)
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

func (c *collector) server(w writer, s Source) {
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
	w.add(databases, float64(s.open()))
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
func (c *collector) requests(w writer) {
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

// A writer sends metrics to a scrape.
type writer chan<- prometheus.Metric

func (w writer) add(f *family, v float64, labels ...string) {
	w <- prometheus.MustNewConstMetric(f.desc, f.kind, v, labels...)
}

func (w writer) histogram(f *family, s histogram.Snapshot, labels ...string) {
	buckets := make(map[float64]uint64, len(s.Bounds))
	var below uint64
	for i, bound := range s.Bounds {
		below += s.Counts[i]
		buckets[bound] = below
	}
	w <- prometheus.MustNewConstHistogram(f.desc, s.Count(), s.Sum, buckets, labels...)
}

func (w writer) database(d Database) {
	for _, f := range ofDatabases {
		w.add(f.family, f.value(&d), d.Namespace)
	}
}
