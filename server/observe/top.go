package observe

import (
	"encoding/json"
	"iter"
	"time"

	"github.com/dogwooddb/dogwood/server/metrics"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/sync/histogram"
	"github.com/dogwooddb/dogwood/sync/trace"
)

// TopEvery is how often an administrator's view of the server is refreshed.
const TopEvery = time.Second

// A Top is what a server did lately, as dogwood top shows it. The first one of a feed
// is about the whole time since the databases were opened, and has no rates.
type Top struct {
	Time        int64          `json:"time"`     // Unix milliseconds
	Interval    float64        `json:"interval"` // seconds that it is about; 0: of the first one
	Databases   int            `json:"databases"`
	Connections TopConnections `json:"connections"`
	Listens     int            `json:"listens"`
	QueuedWrite int            `json:"queuedWrites"`
	Rates       TopRates       `json:"perSecond"`
	Commit      TopLatency     `json:"commit"` // of batches
	Sync        TopLatency     `json:"sync"`   // the disk's part of it
	Write       TopLatency     `json:"write"`  // of writes, from the queue to the answer
	Log         TopLog         `json:"log"`
	Slow        []SlowClient   `json:"slow"` // those with the longest queues
	Paths       []HotPath      `json:"paths"`

	Definitions []TopDefinition `json:"definitions"` // of data documents: those that cost the most
}

// TopConnections are those that are open.
type TopConnections struct {
	WebSocket   int64 `json:"webSocket"`
	LongPoll    int64 `json:"longPoll"`
	EventStream int64 `json:"eventStream"`
}

// TopRates are counts per second.
type TopRates struct {
	Requests  float64 `json:"requests"`
	Reads     float64 `json:"reads"`
	Writes    float64 `json:"writes"`
	Denied    float64 `json:"denied"`
	Events    float64 `json:"events"`
	Reloads   float64 `json:"reloads"` // of views, because their clients were slow
	Refused   float64 `json:"refused"` // because of a bound
	BytesIn   float64 `json:"bytesIn"`
	BytesOut  float64 `json:"bytesOut"`
	Overflows float64 `json:"overflows"`
}

// A TopLog is the write-ahead log.
type TopLog struct {
	Bytes     int64      `json:"bytes"`
	Segments  int        `json:"segments"`
	Unapplied int64      `json:"unappliedBytes"` // memory of commits that are not in the files
	Oldest    float64    `json:"oldestSeconds"`  // age of the oldest of them
	Sync      TopLatency `json:"sync"`           // of writes to it
}

// A TopLatency is a distribution of times, in milliseconds.
type TopLatency struct {
	Count uint64  `json:"count"`
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
}

// A Source is what a View looks at.
type Source struct {
	Now     func() time.Time
	Metrics *metrics.Metrics
	Opened  iter.Seq2[string, *dsync.Database] // the databases that are open whenever it is ranged over
	Slow    func() []SlowClient
	Log     func() metrics.Log
	Totals  func() (dsync.Stats, dsync.Timings) // of all databases, also of those that were closed
}

// A View is one administrator's view of a server: what they were last told, to tell the
// difference.
//
// It is made for one reader, since rates are differences to what that reader was told
// last. The totals come from counters that exist in any case; only the hot paths need to
// be told of operations, and are as long as there is a view.
type View struct {
	of      Source
	hot     *hot
	watched map[string]watched // by database
	last    topCounts
}

// NewView returns a view that was told nothing yet. It is closed when it is not needed
// any longer.
func NewView(of Source) *View {
	return &View{of: of, hot: newHot(), watched: make(map[string]watched)}
}

// topCounts are the totals that rates are made of.
type topCounts struct {
	at       time.Time // zero: there are none
	stats    dsync.Stats
	timings  dsync.Timings
	log      metrics.Log
	requests uint64
	refused  uint64
	in, out  uint64

	activities map[string]map[string]declared.Activity // of definitions, of the databases that are open
}

// Close ends that the view is told of operations.
func (v *View) Close() {
	for _, w := range v.watched {
		w.stop()
	}
}

// A watched is a database that tells the hot paths its operations until stop is called.
type watched struct {
	db   *dsync.Database
	stop func()
}

// watch has the hot paths be told of all databases, also of those that were opened
// since the last tick.
func (v *View) watch() {
	for ns, db := range v.of.Opened {
		before, ok := v.watched[ns]
		if ok && before.db == db {
			continue
		}
		if ok { // it was closed and opened again
			before.stop()
		}
		v.watched[ns] = watched{db, db.WatchOperations(func(op trace.Operation) { v.hot.tell(ns, op) })}
	}
}

// Event returns the event of what happened since the last one.
func (v *View) Event() []byte {
	v.watch()
	data, err := json.Marshal(v.Next())
	if err != nil { // a rate that is no number: there is none
		return nil
	}
	return AppendEvent(nil, "top", data)
}

// Next returns what happened since it was called last.
func (v *View) Next() Top {
	now, databases := v.count()
	m := v.of.Metrics
	top := Top{
		Time:        v.of.Now().UnixMilli(),
		Databases:   databases,
		Connections: TopConnections{m.WebSockets.Now(), m.LongPolls.Now(), m.EventStreams.Now()},
		Listens:     now.stats.Listeners,
		QueuedWrite: now.stats.Queued,
		Commit:      latency(now.timings.Commits.Since(v.last.timings.Commits)),
		Sync:        latency(now.timings.Syncs.Since(v.last.timings.Syncs)),
		Write:       latency(now.timings.Acks.Since(v.last.timings.Acks)),
		Log: TopLog{now.log.Bytes, now.log.Segments, now.log.Unapplied, now.log.Oldest.Seconds(),
			latency(now.log.Syncs.Since(v.last.log.Syncs))},
		Slow: v.of.Slow(),
	}
	if !v.last.at.IsZero() {
		top.Interval = max(now.at.Sub(v.last.at), time.Microsecond).Seconds()
		top.Rates = now.since(v.last, top.Interval)
	}
	top.Paths = v.hot.tick(top.Interval)
	top.Definitions = now.definitions(v.last, top.Interval)
	v.last = now
	return top
}

func (v *View) count() (c topCounts, databases int) {
	m := v.of.Metrics
	c = topCounts{at: time.Now(), requests: m.Requests.Total(), refused: m.Refused.Total()}
	for _, traffic := range []*metrics.Traffic{&m.HTTP, &m.Sockets} {
		in, out := traffic.Bytes()
		c.in, c.out = c.in+in, c.out+out
	}
	c.activities = make(map[string]map[string]declared.Activity)
	for ns, db := range v.of.Opened {
		databases++
		c.activities[ns] = db.Stats().Definitions
	}
	c.stats, c.timings = v.of.Totals()
	c.log = v.of.Log()
	return c, databases
}

func (c topCounts) since(last topCounts, seconds float64) TopRates {
	rate := func(now, before uint64) float64 { return float64(now-min(now, before)) / seconds }
	a, b := c.stats, last.stats
	return TopRates{
		Requests:  rate(c.requests, last.requests),
		Reads:     rate(a.Reads, b.Reads),
		Writes:    rate(a.Writes, b.Writes),
		Denied:    rate(a.Denied, b.Denied),
		Events:    rate(a.Events, b.Events),
		Reloads:   rate(a.Resyncs, b.Resyncs),
		Overflows: rate(a.Overflows, b.Overflows),
		Refused:   rate(c.refused, last.refused),
		BytesIn:   rate(c.in, last.in),
		BytesOut:  rate(c.out, last.out),
	}
}

func latency(s histogram.Snapshot) TopLatency {
	return TopLatency{s.Count(), s.Quantile(0.5) * 1000, s.Quantile(0.99) * 1000}
}
