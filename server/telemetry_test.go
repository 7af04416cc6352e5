package server

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dogwooddb/dogwood/server/telemetry"
)

// A receivedSpan is a span as a collector decodes it.
type receivedSpan struct {
	TraceID      string `json:"traceId"`
	SpanID       string `json:"spanId"`
	ParentSpanID string `json:"parentSpanId"`
	Name         string
	Kind         int
	Start        json.Number `json:"startTimeUnixNano"`
	End          json.Number `json:"endTimeUnixNano"`
	Attributes   []struct {
		Key   string
		Value struct{ StringValue, IntValue string }
	}
	Status struct{ Code int }
}

func (s receivedSpan) get(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.StringValue + a.Value.IntValue
		}
	}
	return ""
}

// A spanReceiver is an HTTP server that takes OTLP as JSON, as a collector does.
type spanReceiver struct {
	*httptest.Server
	mu    sync.Mutex
	spans []receivedSpan
	text  string // of all requests
}

func newSpanReceiver(t *testing.T) *spanReceiver {
	r := new(spanReceiver)
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var body struct {
			ResourceSpans []struct {
				Resource   struct{ Attributes []any }
				ScopeSpans []struct{ Spans []receivedSpan }
			}
		}
		text, _ := io.ReadAll(q.Body)
		if err := json.Unmarshal(text, &body); err != nil || q.URL.Path != "/v1/traces" || q.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %v: %v in %s", q.URL, q.Header, err, text)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.text += string(text)
		for _, rs := range body.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				r.spans = append(r.spans, ss.Spans...)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"partialSuccess":{}}`)
	}))
	return r
}

// TestSpans: each request and each realtime operation is a span at the collector, with the
// method, the database and the status, and with nothing of paths, queries and tokens.
func TestSpans(t *testing.T) {
	receiver := newSpanReceiver(t)
	defer receiver.Close() // before the goroutines that are left are looked for
	spans, err := telemetry.New(telemetry.Options{Endpoint: receiver.URL, Sample: 1, Version: "v1", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	n := onSocket(t, Options{Dev: true, Spans: spans})
	ts := &testServer{Server: n.Server, t: t}
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	traced := bearer("owner")
	traced.Set("Traceparent", parent)
	ts.record(call{"PUT", "/hidden/path.json?ns=test", traced, `"secret value"`}, 200)
	ts.record(call{"GET", "/hidden/path.json?ns=test&auth=" + unsigned(`{"sub":"hidden-user"}`), nil, ""}, 200)
	ts.record(call{"GET", "/hidden/path.json?ns=hidden_name!", nil, ""}, 400)
	ts.record(call{"BREW", "/hidden/path.json?ns=test", nil, ""}, 405)
	ts.record(call{"GET", "/healthz", nil, ""}, 200)
	ts.record(call{"PUT", "/.settings/rules.json?ns=test", bearer("owner"), `{"rules":{"hidden":{".read":true,".write":true}}}`}, 200)
	c := n.connect("")
	c.request("p", `{"p":"/hidden/path","d":1}`)
	c.next()
	c.request("p", `{"p":"/denied","d":1}`)
	c.next()
	c.request("g", `{"p":"/hidden/path","q":{}}`)
	c.next()
	spans.Close()

	receiver.mu.Lock()
	defer receiver.mu.Unlock()
	var got []string
	ids := make(map[string]bool)
	for _, s := range receiver.spans {
		got = append(got, strings.Join([]string{s.Name, s.get("http.request.method"), s.get("db.namespace"), s.get("http.response.status_code") + s.get("dogwood.status")}, " "))
		if ids[s.SpanID] || len(s.TraceID) != 32 || len(s.SpanID) != 16 || s.Start == "" || s.End < s.Start {
			t.Errorf("span %+v", s)
		}
		ids[s.SpanID] = true
		if fromParent := s.ParentSpanID == "00f067aa0ba902b7" && s.TraceID == "4bf92f3577b34da6a3ce929d0e0e4736"; fromParent != (s.Name == "PUT rest_write") {
			t.Errorf("span %+v has the wrong parent", s)
		}
	}
	for _, want := range []string{"PUT rest_write PUT test 200", "GET rest_read GET test 200", "GET rest_read GET  400", "_OTHER rest_write _OTHER  405",
		"realtime-write  test ok", "realtime-write  test denied", "realtime-read  test ok", "concurrent-connect  test ok"} {
		if !slices.Contains(got, want) {
			t.Errorf("there is no span %q among\n%s", want, strings.Join(got, "\n"))
		}
	}
	for _, hidden := range []string{"hidden", "denied.json", "secret value", "owner", "healthz", "eyJ"} {
		if strings.Contains(receiver.text, hidden) {
			t.Errorf("the collector is told %q", hidden)
		}
	}
	page := ts.record(call{"GET", "/metrics", bearer("owner"), ""}, 200).Body.String()
	if !strings.Contains(page, `dogwood_spans_total{result="sent"}`) || strings.Contains(page, "dogwood_spans_total{result=\"sent\"} 0\n") {
		t.Error("the metrics do not count the spans")
	}
}
