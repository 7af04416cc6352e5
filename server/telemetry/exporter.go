// Package telemetry sends spans of requests and operations to a collector of OpenTelemetry:
// OTLP over HTTP, as JSON.
//
// Spans wait in a bounded queue, and one goroutine sends them in batches. A span that finds the queue
// full, or that the collector does not take, is dropped and counted: no request waits for a
// collector. The SDK of OpenTelemetry is not used, since a server makes one kind of span and
// needs nothing else of it.
//
// Its nouns: a Span is a value that the caller fills and adds, an Exporter the queue with the
// goroutine. There is no context to carry spans through the program: a request has no spans
// inside its own, so each span is complete when it is made.
package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of what is sent.
const (
	MaxQueue = 4096 // spans that wait
	maxBatch = 512  // of one request to the collector
	every    = 2 * time.Second
	timeout  = 10 * time.Second // of one request
	maxReply = 64 << 10         // of an answer that is read
	tellOnce = time.Minute      // least time between two log lines about rejected spans
)

// Options say where spans go. Log is required. Paths is an option because keys can tell
// about users; the query of a request, which may have credentials, is never part of a span.
type Options struct {
	Endpoint string  // of the collector, such as http://localhost:4318; /v1/traces is added
	Sample   float64 // the part of traces that is sent, from 0 to 1
	Paths    bool    // spans have the paths of requests and operations
	Version  string  // of the program
	Log      *slog.Logger
}

// An Exporter sends spans. Its methods may be called by several goroutines at once. Of a nil
// Exporter only Counts, Paths, Request and Close may be called: Request takes nothing, so Add is
// not reached.
//
// New starts the goroutine, and Close waits for it. The channel spans is the queue and is never
// closed, since Add may run at any time. batch and told belong to the goroutine alone.
type Exporter struct {
	o         Options
	url       string
	threshold uint64 // ids below it are sampled
	client    *http.Client
	ctx       context.Context    // of all requests to the collector
	cancel    context.CancelFunc // by Close, when its second is over

	spans chan Span     // the queue, of MaxQueue
	stop  chan struct{} // closed by Close
	once  sync.Once     // of Close
	done  chan struct{} // closed by run at its end

	sent, dropped atomic.Uint64 // never fall; metrics show them
	told          time.Time     // when the log was told that spans are dropped; of the goroutine
}

// New returns an exporter. It does not look for the collector, which may come later: a server
// starts without it, and spans are dropped until it answers.
func New(o Options) (*Exporter, error) {
	u, err := url.Parse(o.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("not the address of a collector, such as http://localhost:4318")
	}
	if u.User != nil {
		return nil, errors.New("the address must not have a password: all users of a machine can read command lines")
	}
	if !(o.Sample >= 0 && o.Sample <= 1) {
		return nil, fmt.Errorf("the part of traces to send is %v, and must be from 0 to 1", o.Sample)
	}
	if !strings.HasSuffix(u.Path, "/v1/traces") {
		u = u.JoinPath("v1", "traces")
	}
	e := &Exporter{o: o, url: u.String(), threshold: thresholdOf(o.Sample), spans: make(chan Span, MaxQueue), stop: make(chan struct{}), done: make(chan struct{})}
	e.client = &http.Client{
		Timeout:   timeout,
		Transport: http.DefaultTransport.(*http.Transport).Clone(),
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // spans go where they were meant to go
		},
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	go e.run()
	return e, nil
}

// thresholdOf returns below which number of 63 bits an id is sampled. The whole part has a
// threshold above all of them; 0 samples nothing.
func thresholdOf(part float64) uint64 {
	if part >= 1 {
		return math.MaxInt64 + 1
	}
	return uint64(part * (1 << 63))
}

// Counts returns how many spans were taken by the collector, and how many were dropped.
func (e *Exporter) Counts() (sent, dropped uint64) {
	if e == nil {
		return 0, 0
	}
	return e.sent.Load(), e.dropped.Load()
}

// Paths reports whether spans have paths.
func (e *Exporter) Paths() bool { return e != nil && e.o.Paths }

// Add queues a span, or drops it if the queue is full. It does not wait.
func (e *Exporter) Add(s Span) {
	select {
	case e.spans <- s:
	default:
		e.dropped.Add(1)
	}
}

// Close sends what waits, for a second at most, and drops the rest. Spans that come later are
// dropped, too, but not counted as long as they fit into the queue: no goroutine reads it then.
// So Close comes after the server. It may be called several times.
func (e *Exporter) Close() {
	if e == nil {
		return
	}
	e.once.Do(func() {
		close(e.stop)
		late := time.AfterFunc(time.Second, e.cancel)
		<-e.done
		late.Stop()
		e.cancel()
		e.client.CloseIdleConnections()
	})
}

func (e *Exporter) run() {
	defer close(e.done)
	tick := time.NewTicker(every)
	defer tick.Stop()
	batch := make([]Span, 0, maxBatch)
	for {
		select {
		case s := <-e.spans:
			if batch = append(batch, s); len(batch) == maxBatch {
				batch = e.send(batch)
			}
		case <-tick.C:
			batch = e.send(batch)
		case <-e.stop:
			e.drain(batch)
			return
		}
	}
}

// drain sends what waits. When the second of Close is over, requests fail at once, and so the
// rest is counted as dropped.
func (e *Exporter) drain(batch []Span) {
	for {
		select {
		case s := <-e.spans:
			if batch = append(batch, s); len(batch) == maxBatch {
				batch = e.send(batch)
			}
		default:
			e.send(batch)
			return
		}
	}
}

// send sends a batch and returns an empty one. A batch that the collector does not take is not
// sent again: what comes meanwhile would be dropped instead. It clears the batch, since spans hold
// texts that the next batch may not overwrite for long.
func (e *Exporter) send(batch []Span) []Span {
	if len(batch) == 0 {
		return batch
	}
	rejected, err := e.post(appendRequest(nil, e.o.Version, batch))
	if err != nil {
		rejected = uint64(len(batch))
	}
	rejected = min(rejected, uint64(len(batch)))
	e.sent.Add(uint64(len(batch)) - rejected)
	if rejected > 0 {
		e.dropped.Add(rejected)
		if now := time.Now(); now.Sub(e.told) >= tellOnce {
			e.told = now
			e.o.Log.Warn("the collector of OpenTelemetry does not take spans: they are dropped", "endpoint", e.url, "dropped", e.dropped.Load(), "err", err)
		}
	}
	clear(batch)
	return batch[:0]
}

// post sends a request and returns how many of its spans the collector has rejected. An error
// means all of them. The answer is read even if its status is bad: the connection is kept then.
func (e *Exporter) post(body []byte) (rejected uint64, err error) {
	r, err := http.NewRequestWithContext(e.ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "dogwood/"+e.o.Version)
	resp, err := e.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	switch {
	case resp.StatusCode/100 != 2:
		return 0, fmt.Errorf("it answered %s", resp.Status)
	case err != nil:
		return 0, err
	}
	return rejectedIn(text), nil
}
