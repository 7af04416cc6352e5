package telemetry

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/internal/leaktest"
	"github.com/dogwooddb/dogwood/sync/trace"
	"github.com/dogwooddb/dogwood/tree"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A collector is one as far as an exporter can see.
type collector struct {
	t        *testing.T
	status   int
	reply    string
	requests chan exportRequest
}

func (c *collector) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost || r.URL.String() != "http://collector:4318/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
		c.t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
	}
	var body exportRequest
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil {
		c.t.Error(err)
	}
	select {
	case c.requests <- body:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: c.status, Status: http.StatusText(c.status), Body: io.NopCloser(strings.NewReader(c.reply)), Request: r}, nil
}

func (c *collector) exporter(o Options) *Exporter {
	o.Endpoint, o.Log = "http://collector:4318", slog.New(slog.DiscardHandler)
	e, err := New(o)
	if err != nil {
		c.t.Fatal(err)
	}
	e.client.Transport = c
	return e
}

func spansOf(r exportRequest) []sentSpan { return r.ResourceSpans[0].ScopeSpans[0].Spans }

// TestBatches: spans go out after a time, or when there are many. Those that the collector refuses, or
// that find the queue full, are counted and not sent again.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{t: t, status: 200, requests: make(chan exportRequest)}
		e := c.exporter(Options{Sample: 1})
		add := func(n int) {
			for range n {
				s, ok := e.Request("")
				if !ok {
					t.Fatal("a trace is not sampled")
				}
				e.Add(s)
			}
			synctest.Wait()
		}
		wants := func(n int, sent, dropped uint64) {
			t.Helper()
			if got := len(spansOf(<-c.requests)); got != n {
				t.Errorf("a request has %d spans, want %d", got, n)
			}
			synctest.Wait()
			if s, d := e.Counts(); s != sent || d != dropped {
				t.Errorf("%d are sent and %d dropped, want %d and %d", s, d, sent, dropped)
			}
		}
		began := time.Now()
		add(3)
		wants(3, 3, 0)
		if took := time.Since(began); took != every {
			t.Errorf("they were sent after %s", took)
		}
		c.reply = `{"partialSuccess":{"rejectedSpans":"2"}}`
		add(3)
		wants(3, 4, 2)
		c.reply, c.status = "", 503
		add(1)
		wants(1, 4, 3)
		c.status = 200
		add(maxBatch)     // is being sent
		add(MaxQueue + 5) // for which there is no room
		if _, dropped := e.Counts(); dropped != 8 {
			t.Errorf("%d were dropped, want 8", dropped)
		}
		for range MaxQueue/maxBatch + 1 {
			if got := len(spansOf(<-c.requests)); got != maxBatch {
				t.Errorf("a request has %d spans", got)
			}
			synctest.Wait()
		}
		add(2)
		go func() { <-c.requests }()
		e.Close()
		if sent, dropped := e.Counts(); sent != 4+maxBatch+MaxQueue+2 || dropped != 8 {
			t.Errorf("at the end %d are sent and %d dropped", sent, dropped)
		}
	})
}

// TestCloseIsBounded: a collector that does not answer delays the end by a second.
func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{t: t, status: 200, requests: make(chan exportRequest)}
		e := c.exporter(Options{Sample: 1})
		s, _ := e.Request("")
		e.Add(s)
		began := time.Now()
		e.Close()
		e.Close()
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %s", took)
		}
		if sent, dropped := e.Counts(); sent != 0 || dropped != 1 {
			t.Errorf("%d are sent and %d dropped", sent, dropped)
		}
	})
}

// TestParents: a valid traceparent of the W3C gives the trace; another one is ignored.
func TestParents(t *testing.T) {
	const valid = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	e := &Exporter{threshold: thresholdOf(1)}
	s, ok := e.Request(valid)
	if out := spansOfBody(t, s); !ok || out.TraceID != "4bf92f3577b34da6a3ce929d0e0e4736" || out.ParentID != "00f067aa0ba902b7" || len(out.SpanID) != 16 || out.SpanID == out.ParentID {
		t.Errorf("%v %+v", ok, out)
	}
	if _, ok := e.Request(strings.TrimSuffix(valid, "1") + "0"); ok {
		t.Error("a trace that is not sampled by its caller is sent")
	}
	if s, ok := e.Request("01" + valid[2:] + "-more"); !ok || s.parent == [8]byte{} {
		t.Error("a later version is not read")
	}
	for _, bad := range []string{"", "x", valid + "-more", strings.ToUpper(valid), "ff" + valid[2:], valid[:54], strings.Replace(valid, "-", "_", 1),
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", strings.Replace(valid, "4b", "g0", 1)} {
		s, ok := e.Request(bad)
		if out := spansOfBody(t, s); !ok || out.ParentID != "" || out.TraceID == "4bf92f3577b34da6a3ce929d0e0e4736" {
			t.Errorf("%q: %v %+v", bad, ok, out)
		}
	}
}

func spansOfBody(t *testing.T, s Span) sentSpan {
	var r exportRequest
	if err := json.Unmarshal(appendRequest(nil, "v1", []Span{s}), &r); err != nil {
		t.Fatal(err)
	}
	return spansOf(r)[0]
}

// TestSampling: the part that is asked for is sent, decided by the trace and not by its caller.
func TestSampling(t *testing.T) {
	for part, most := range map[float64][2]int{0: {0, 0}, 0.25: {300, 700}, 1: {2000, 2000}} {
		e, n := &Exporter{threshold: thresholdOf(part)}, 0
		for range 2000 {
			if _, ok := e.Request(""); ok {
				n++
			}
		}
		if n < most[0] || n > most[1] {
			t.Errorf("of 2000 traces with %v, %d are sampled", part, n)
		}
	}
	e := &Exporter{threshold: thresholdOf(0.5)}
	if _, ok := e.Request("00-4bf92f3577b34da6ffffffffffffffff-00f067aa0ba902b7-01"); ok {
		t.Error("a caller had its trace sampled")
	}
	if _, ok := e.Request("00-4bf92f3577b34da60000000000000001-00f067aa0ba902b7-01"); !ok {
		t.Error("a trace below the part is not sampled")
	}
}

// TestOperations: operations of realtime clients are spans, without their paths unless they are
// asked for.
func TestOperations(t *testing.T) {
	path, err := tree.ParsePath("/users/" + strings.Repeat("a", 700))
	if err != nil {
		t.Fatal(err)
	}
	for _, paths := range []bool{false, true} {
		e := &Exporter{o: Options{Paths: paths}, threshold: thresholdOf(1), spans: make(chan Span, 10)}
		tell := e.Operations("shop")
		tell(trace.Operation{Name: trace.OpRESTRead, Path: path})
		tell(trace.Operation{Name: trace.OpBroadcast, Path: path})
		tell(trace.Operation{Name: trace.OpWrite, Path: path, At: time.Unix(100, 0), Took: time.Second, Waited: time.Millisecond, Bytes: 7, Denied: true, Failed: true})
		if len(e.spans) != 1 {
			t.Fatalf("there are %d spans", len(e.spans))
		}
		out := spansOfBody(t, <-e.spans)
		text, _ := json.Marshal(out.Attributes)
		for _, want := range []string{`{"key":"db.namespace","value":{"stringValue":"shop"}}`, `{"key":"dogwood.status","value":{"stringValue":"denied"}}`, `{"key":"dogwood.bytes","value":{"intValue":"7"}}`, `"dogwood.waited_us"`} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s lacks %s", text, want)
			}
		}
		if strings.Contains(string(text), "users") != paths || len(text) > 1200 {
			t.Errorf("with paths %v: %s", paths, text)
		}
		if out.Begin != "99000000000" || out.End != "100000000000" || out.Name != trace.OpWrite {
			t.Errorf("%+v", out)
		}
	}
}

// TestEndpoints: what is no address of a collector is refused.
func TestEndpoints(t *testing.T) {
	for _, bad := range []string{"", "localhost:4318", "ftp://x", "http://", "http://u:p@x", "http://x/?token=1", "http://x/#a"} {
		if e, err := New(Options{Endpoint: bad, Sample: 1}); err == nil {
			e.Close()
			t.Errorf("%q is taken", bad)
		}
	}
	for _, part := range []float64{-0.1, 1.1} {
		if e, err := New(Options{Endpoint: "http://x", Sample: part}); err == nil {
			e.Close()
			t.Errorf("%v is taken", part)
		}
	}
	for from, want := range map[string]string{"http://x": "http://x/v1/traces", "http://x/": "http://x/v1/traces", "https://x/otel/": "https://x/otel/v1/traces", "http://x/v1/traces": "http://x/v1/traces"} {
		e, err := New(Options{Endpoint: from, Sample: 1})
		if err != nil {
			t.Fatal(err)
		}
		if e.Close(); e.url != want {
			t.Errorf("%s is %s", from, e.url)
		}
	}
}

// TestRedirects: spans go to no other host than that of the flag.
func TestRedirects(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer other.Close()
	first := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer first.Close()
	e, err := New(Options{Endpoint: first.URL, Sample: 1, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := e.Request("")
	e.Add(s)
	e.Close()
	if sent, dropped := e.Counts(); sent != 0 || dropped != 1 {
		t.Errorf("%d are sent and %d dropped", sent, dropped)
	}
}
