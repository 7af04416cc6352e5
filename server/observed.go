package server

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/observe"
	"github.com/dogwooddb/dogwood/server/telemetry"
)

// slowRequest is how long a request may take before the log mentions it.
const slowRequest = time.Second

// An observed is the answer to a request, and its body, as they are counted. It is
// the http.ResponseWriter of all handlers.
//
// It is made once for each request and reaches handlers as their ResponseWriter, so
// counting and logging cost no further allocation, and no handler can forget them.
type observed struct {
	http.ResponseWriter
	s       *Server
	r       *http.Request
	body    io.ReadCloser
	kind    metrics.Kind
	status  int // 0: not answered yet
	in, out int
	began   time.Time
	id      [1]string // value of its header
	request request   // what the answer is to
}

// ServeHTTP answers one request, counts it and logs it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o := &observed{ResponseWriter: w, s: s, r: r, began: time.Now()}
	r.Trailer = nil // the names that are announced; see observedBody
	if r.Body != nil && r.Body != http.NoBody {
		o.body = r.Body
		r = r.WithContext(r.Context()) // a copy: how net/http treats what is left unread depends on the body it made
		r.Body = (*observedBody)(o)
	}
	o.id[0] = observe.RequestID(r.Header)
	w.Header()[observe.HeaderRequestID] = o.id[:]
	s.underWay.Add(1)
	defer o.end()
	s.serve(o, r)
}

// end counts the request, and has the log say what it was.
func (o *observed) end() {
	o.s.underWay.Add(-1)
	took := time.Since(o.began)
	m := o.s.metrics
	m.Requests.Add(o.kind, o.status, took)
	m.HTTP.Received(o.in)
	m.HTTP.Sent(o.out)
	if o.s.opts.Spans != nil && o.kind != metrics.Health {
		o.trace(took)
	}
	level, count := o.level(took)
	if ctx := o.r.Context(); o.s.log.Enabled(ctx, level) {
		o.log(context.WithoutCancel(ctx), level, took, count)
	}
}

// level returns the level of the line about the request, and how many requests the line stands
// for. Clients can make requests that are slow or fail, so there are not too many such lines.
func (o *observed) level(took time.Duration) (level slog.Level, count uint64) {
	line := &o.s.lines.failed
	if o.status < http.StatusInternalServerError {
		if took <= slowRequest || !o.kind.Timed() {
			return slog.LevelDebug, 1
		}
		line = &o.s.lines.slow
	}
	count, ok := line.Often(time.Since(o.s.began))
	if !ok {
		return slog.LevelDebug, 1
	}
	return slog.LevelInfo, count
}

// trace makes the span of the request.
func (o *observed) trace(took time.Duration) {
	spans := o.s.opts.Spans
	s, ok := spans.Request(o.r.Header.Get("Traceparent"))
	if !ok {
		return
	}
	method := o.r.Method
	if !knownMethods[method] {
		method = "_OTHER" // as the conventions have it: a method is a text of the client
	}
	s.Name = method + " " + o.kind.String()
	s.Begin, s.End = o.began, o.began.Add(took)
	s.Failed = o.status >= http.StatusInternalServerError
	s.Attributes = []telemetry.Attribute{
		telemetry.Text("http.request.method", method),
		telemetry.Number("http.response.status_code", int64(o.status)),
		telemetry.Text("db.system.name", "dogwood"),
		telemetry.Text("dogwood.kind", o.kind.String()),
		telemetry.Text("dogwood.request", observe.RequestOf(o)),
		telemetry.Number("dogwood.received_bytes", int64(o.in)),
		telemetry.Number("dogwood.sent_bytes", int64(o.out)),
	}
	if o.request.space != nil { // another name is a text of the client
		s.Attributes = append(s.Attributes, telemetry.Text("db.namespace", o.request.ns))
	}
	if spans.Paths() {
		s.Attributes = append(s.Attributes, telemetry.Text("url.path", observe.Clipped(o.r.URL.EscapedPath())))
	}
	spans.Add(s)
}

// knownMethods are those that a span names.
var knownMethods = map[string]bool{
	http.MethodGet: true, http.MethodHead: true, http.MethodPut: true, http.MethodPost: true,
	http.MethodPatch: true, http.MethodDelete: true, http.MethodOptions: true,
}

func (o *observed) log(ctx context.Context, level slog.Level, took time.Duration, count uint64) {
	path := o.r.URL.EscapedPath() // not the query, which may have credentials
	attrs := []slog.Attr{
		slog.String("request", observe.RequestOf(o)),
		slog.String("method", o.r.Method),
		slog.String("path", observe.Clipped(path)),
		slog.String("kind", o.kind.String()),
		slog.Int("status", o.status),
		slog.Duration("took", took),
		slog.Int("in", o.in),
		slog.Int("out", o.out),
	}
	attrs = append(attrs, o.s.peers.Remote(o.r).Attrs()...)
	if count > 1 {
		attrs = append(attrs, slog.Uint64("count", count))
	}
	o.s.log.LogAttrs(ctx, level, "request", attrs...)
}

// is says what the request is for.
func (o *observed) is(pattern string, method string) {
	o.kind = kindOf(pattern, method)
	if o.kind == metrics.RESTRead && wantsEvents(o.r.Header) {
		o.kind = metrics.EventStream
	}
}

// kindOf returns what requests are for that match a pattern of the table of routes.
func kindOf(pattern, method string) metrics.Kind {
	switch {
	case strings.HasPrefix(pattern, "/.ws"):
		return metrics.WebSocket
	case strings.HasPrefix(pattern, "/.lp"):
		return metrics.LongPoll
	case isFeed(pattern):
		return metrics.EventStream
	case strings.HasPrefix(pattern, "/.settings/"), strings.HasPrefix(pattern, "/.inspect/"):
		return metrics.Management
	case pattern == "/token":
		return metrics.Token
	case isProbe(pattern), pattern == pathMetrics:
		return metrics.Health
	case pattern == pathBatch:
		return metrics.RESTRead
	case pattern != "*.json":
		return metrics.Other
	case method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions:
		return metrics.RESTRead
	}
	return metrics.RESTWrite
}

// WriteHeader implements http.ResponseWriter.
func (o *observed) WriteHeader(status int) {
	if o.status == 0 && status >= http.StatusOK { // others announce it
		o.status = status
	}
	o.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (o *observed) Write(p []byte) (int, error) {
	if o.status == 0 {
		o.status = http.StatusOK
	}
	n, err := o.ResponseWriter.Write(p)
	o.out += n
	return n, err
}

// Hijack implements http.Hijacker. The handler that takes over the connection answers with
// status 101.
func (o *observed) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(o.ResponseWriter).Hijack()
	if err == nil {
		o.status = http.StatusSwitchingProtocols
	}
	return conn, rw, err
}

// Unwrap is called by http.ResponseController.
func (o *observed) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// An observedBody is the body of the request. At its end net/http has added the trailers of a
// chunked body to the request: at most 4 KiB of text, but fifty times that in memory if the
// names are short. No handler needs them. So they are forgotten at once, and need no meter.
type observedBody observed

// Read implements io.Reader.
func (b *observedBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	b.in += n
	if err != nil {
		b.r.Trailer = nil
	}
	return n, err
}

// Close implements io.Closer.
func (b *observedBody) Close() error { return b.body.Close() }
