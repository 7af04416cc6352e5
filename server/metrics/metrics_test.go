package metrics

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/histogram"
	"github.com/dogwooddb/dogwood/tree/store"
)

func scrape(t *testing.T, m *Metrics, s Source) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler(func() Source { return s }).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	body, _ := io.ReadAll(w.Body)
	if w.Code != http.StatusOK {
		t.Fatalf("scrape: %d %s", w.Code, body)
	}
	return string(body)
}

func wantLines(t *testing.T, page string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(page, "\n"+line+"\n") {
			name, _, _ := strings.Cut(line, "{")
			var have []string
			for l := range strings.Lines(page) {
				if strings.HasPrefix(l, strings.Fields(name)[0]) {
					have = append(have, l)
				}
			}
			t.Errorf("no line %q; there is\n%s", line, strings.Join(have, ""))
		}
	}
}

func TestScrape(t *testing.T) {
	m := New()
	m.Refused.Add(AddressRequests)
	m.Refused.Add(AddressRequests)
	m.Requests.Add(RESTRead, 200, 3*time.Millisecond)
	m.Requests.Add(RESTRead, 429, time.Second)
	m.Requests.Add(RESTWrite, 0, time.Millisecond)
	m.Requests.Add(LongPoll, 200, time.Minute)
	m.WebSockets.Opened()
	m.WebSockets.Open()()
	m.Sockets.Received(10)
	m.Sockets.Sent(20)
	m.CredentialsRefused.Add(1)
	sizes := histogram.Sizes()
	sizes.Observe(3)
	page := scrape(t, m, Source{
		Version:    "v1",
		LastBackup: time.UnixMilli(1500),
		Databases: []Database{
			{Namespace: "a", Open: true, Stats: sync.Stats{Writes: 7, Listeners: 2, Slow: 3}, Timings: sync.Timings{Sizes: sizes.Snapshot()}, Usage: store.Usage{Bytes: 4096}},
			{Namespace: "b", Open: true, Timings: sync.Timings{Sizes: sizes.Snapshot()}, Failing: true},
		},
	})
	wantLines(t, page,
		`dogwood_info{version="v1"} 1`,
		`dogwood_refused_total{reason="address_request_rate"} 2`,
		`dogwood_refused_total{reason="slow_consumer"} 3`,
		`dogwood_requests_total{code="200",kind="rest_read"} 1`,
		`dogwood_requests_total{code="499",kind="rest_write"} 1`,
		`dogwood_request_seconds_bucket{kind="rest_read",le="0.0025"} 0`,
		`dogwood_request_seconds_bucket{kind="rest_read",le="0.005"} 1`,
		`dogwood_request_seconds_sum{kind="rest_read"} 0.003`,
		`dogwood_connections{transport="websocket"} 1`,
		`dogwood_connections_total{transport="websocket"} 2`,
		`dogwood_received_bytes_total{transport="websocket"} 10`,
		`dogwood_sent_bytes_total{transport="websocket"} 20`,
		`dogwood_credentials_refused_total 1`,
		`dogwood_last_backup_timestamp_seconds 1.5`,
		`dogwood_writes_total{namespace="a"} 7`,
		`dogwood_listens{namespace="a"} 2`,
		`dogwood_store_bytes{namespace="a"} 4096`,
		`dogwood_store_failing{namespace="b"} 1`,
		`dogwood_batch_writes_bucket{le="4"} 2`,
		`dogwood_databases 2`,
	)
	if strings.Contains(page, `request_seconds_count{kind="long_poll"}`) {
		t.Error("long polls, which wait, are timed")
	}
	for _, runtime := range []string{"\ngo_goroutines ", "\nprocess_open_fds "} {
		if !strings.Contains(page, runtime) && runtime != "\nprocess_open_fds " {
			t.Errorf("no %s", runtime)
		}
	}
}

// TestManyDatabases: the page stays readable however many databases there are.
func TestManyDatabases(t *testing.T) {
	var all []Database
	for i := range maxNamespaces + 50 {
		all = append(all, Database{Namespace: fmt.Sprintf("n%d", i), Stats: sync.Stats{Reads: 1, Slow: 2}, Usage: store.Usage{Bytes: 3}, Failing: i == maxNamespaces})
	}
	page := scrape(t, New(), Source{Databases: all})
	wantLines(t, page,
		`dogwood_reads_total{namespace="n0"} 1`,
		`dogwood_reads_total{namespace="*"} 50`,
		`dogwood_slow_consumers_total{namespace="*"} 100`,
		`dogwood_store_bytes{namespace="*"} 150`,
		`dogwood_store_failing{namespace="*"} 1`,
	)
	if n := strings.Count(page, "\ndogwood_reads_total{"); n != maxNamespaces+1 {
		t.Errorf("%d databases are shown, want %d", n, maxNamespaces+1)
	}
}

func TestLabels(t *testing.T) {
	seen := map[string]bool{"": true}
	for i := range reasons {
		r := Reason(i)
		if seen[r.String()] {
			t.Errorf("reason %d has no label of its own: %q", r, r)
		}
		seen[r.String()] = true
	}
	for k := range kindCount {
		if k.String() == "" {
			t.Errorf("kind %d has no label", k)
		}
	}
}

// TestDocumented: every metric and every reason is explained.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if !strings.Contains(string(page), "`"+f.name+"`") {
			t.Errorf("docs/observability.md does not explain %s", f.name)
		}
	}
	for i := range reasons {
		r := Reason(i)
		if !strings.Contains(string(page), "`"+r.String()+"`") {
			t.Errorf("docs/observability.md does not explain the reason %s", r)
		}
	}
}

func TestCountingAllocatesNothing(t *testing.T) {
	m := New()
	if n := testing.AllocsPerRun(100, func() {
		m.Requests.Add(RESTRead, 200, time.Millisecond)
		m.Refused.Add(Queue)
		m.Sockets.Sent(1)
	}); n != 0 {
		t.Errorf("counting allocates %v times", n)
	}
	var none *Refusals
	none.Add(Queue) // without counters
}

// TestPageEscapes: what a text has cannot end a line or a label.
func TestPageEscapes(t *testing.T) {
	p := newPage()
	p.add(info, 1, "a\\b\"c\nd")
	var text strings.Builder
	if err := p.writeTo(&text); err != nil {
		t.Fatal(err)
	}
	const want = "# HELP dogwood_info Always 1; the label has the version.\n# TYPE dogwood_info gauge\ndogwood_info{version=\"a\\\\b\\\"c\\nd\"} 1\n"
	if text.String() != want {
		t.Errorf("the page is\n%swant\n%s", &text, want)
	}
}
