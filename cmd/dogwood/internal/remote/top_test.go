package remote

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/server/observe"
)

var aSecond = observe.Top{
	Time:        1700000000000,
	Interval:    1,
	Databases:   2,
	Connections: observe.TopConnections{WebSocket: 3, LongPoll: 1},
	Listens:     7,
	Rates:       observe.TopRates{Writes: 12.4, Reads: 5, BytesOut: 2_500_000},
	Commit:      observe.TopLatency{Count: 9, P50: 1.234, P99: 45},
	Write:       observe.TopLatency{Count: 12, P99: 2500},
	Log:         observe.TopLog{Bytes: 16 << 20, Segments: 1, Unapplied: 4100, Oldest: 2.5},
	Slow:        []observe.SlowClient{{Connection: "c7", Remote: "10.0.0.1:5", Namespace: "shop", Transport: "websocket", Bytes: 4096, Messages: 12}},
	Paths:       []observe.HotPath{{Namespace: "shop", Path: "/a/\x1b[31m\u202ex", Writes: 12.4}},
	Definitions: []observe.TopDefinition{{Namespace: "shop", Definition: "sizes", Touches: 12, Writes: 3.4, Share: 0.0123}},
}

func TestTopLines(t *testing.T) {
	var b bytes.Buffer
	if err := writeTopLines(&b, aSecond); err != nil {
		t.Fatal(err)
	}
	want := `2023-11-14T22:13:20Z connections 4 websocket 3 long-poll 1 event-stream 0 listens 7
2023-11-14T22:13:20Z reads/s 5 writes/s 12 events/s 0 requests/s 0 denied/s 0 refused/s 0 in/s 0 B out/s 2.5 MB
2023-11-14T22:13:20Z commit p50 1.23ms p99 45ms sync p99 - write p99 2.5s queued 0
2023-11-14T22:13:20Z log 16.8 MB segments 1 sync p99 - unapplied 4.1 kB oldest 2.5s
2023-11-14T22:13:20Z slow c7 10.0.0.1:5 shop websocket 4.1 kB in 12
2023-11-14T22:13:20Z path shop /a/\u001b[31m\u202ex writes/s 12.4 reads/s 0.0 events/s 0.0
2023-11-14T22:13:20Z definition shop sizes writes/s 3.4 touches/s 12.0 skipped/s 0.0 share 1.23%
`
	if got := b.String(); got != want {
		t.Errorf("lines:\n%s\nwant:\n%s", got, want)
	}
}

// Texts that clients chose cannot move the cursor of the terminal, and each line clears the
// rest of the line before it.
func TestDrawTop(t *testing.T) {
	var b bytes.Buffer
	if err := drawTop(&b, "http://localhost:9000/", aSecond); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if strings.ContainsAny(page, "\u202e") || strings.Contains(page, "\x1b[31m") {
		t.Error("a path moves the cursor, or turns text around")
	}
	if lines := strings.Count(page, "\n"); strings.Count(page, "\x1b[K\n") != lines || !strings.HasPrefix(page, "\x1b[H") || !strings.HasSuffix(page, "\x1b[J") {
		t.Errorf("page %q", page)
	}
	for _, want := range []string{"3 WebSocket, 1 long poll", "listens  7", "12 writes, 5 reads", "p99 45ms", "c7", "4.1 kB", "shop:/a/", "1.23%", "shop:sizes"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
}

// A refused profile gives its reason.
func TestTopIsFull(t *testing.T) {
	full := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"error":"8 profiles are running; there can be no more at a time."}`)
	}))
	defer full.Close()
	f := client.Flags{URL: full.URL}
	c, err := f.Client()
	if err != nil {
		t.Fatal(err)
	}
	err = followTop(t.Context(), c, func([]byte, observe.Top) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "8 profiles are running") {
		t.Errorf("top ends with %v", err)
	}
}
