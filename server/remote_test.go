package server

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/server/peer"
)

// Behind a proxy, the log and dogwood top have the addresses of clients.
func TestRemotesAreTold(t *testing.T) {
	out := new(console)
	n := onSocket(t, Options{
		Dev:    true,
		Log:    slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Limits: Limits{PerAddress: AddressLimits{TrustedProxies: Loopback()}},
	})
	forwarded := http.Header{peer.HeaderForwardedFor: {"203.0.113.7"}}
	ws, status := n.handshake(forwarded)
	if status != 101 {
		t.Fatalf("handshake: %d", status)
	}
	defer ws.Close()
	if _, _, err := ws.ReadMessage(); err != nil { // the hello comes after the line
		t.Fatal(err)
	}
	r := httptest.NewRequest("GET", "/a.json?ns=test", nil)
	r.RemoteAddr, r.Header = "127.0.0.1:7", forwarded
	n.ServeHTTP(httptest.NewRecorder(), r)

	found := map[string]bool{}
	for text := range strings.Lines(out.String()) {
		var line struct{ Msg, Remote, Via string }
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		if line.Remote == "203.0.113.7" && strings.HasPrefix(line.Via, "127.0.0.1:") {
			found[line.Msg] = true
		}
	}
	if !found["request"] || !found["connection opened"] {
		t.Errorf("the address of the client is in the lines %v of\n%s", found, out)
	}
	for _, got := range n.rt.Clients() {
		if got.Remote != "203.0.113.7" || !strings.HasPrefix(got.Via, "127.0.0.1:") {
			t.Errorf("the connection is told as %+v", got)
		}
	}
	q := &request{s: n.Server, r: r, w: httptest.NewRecorder()}
	if got := streamClient(q); got.Remote != "203.0.113.7" || got.Via != "127.0.0.1:7" {
		t.Errorf("the event stream is told as %+v", got)
	}
}
