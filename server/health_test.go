package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/dogwooddb/dogwood/server/peer"
	dsync "github.com/dogwooddb/dogwood/sync"
)

// operations makes a call on the listener for operations.
func (ts *testServer) operations(method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	ts.Operations().ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

func TestHealth(t *testing.T) {
	ts := serveTest(t, Options{Namespaces: []string{"a"}, Dir: filepath.Join(t.TempDir(), "data")})
	if err := ts.Open("a"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pathHealth, pathReady} {
		if r := ts.do(call{"GET", path, nil, ""}); r.StatusCode != 200 || r.body != "ok\n" || r.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("GET %s: %d %q %v", path, r.StatusCode, r.body, r.Header)
		}
		if r := ts.do(call{"HEAD", path, nil, ""}); r.StatusCode != 200 {
			t.Errorf("HEAD %s: %d", path, r.StatusCode)
		}
		if r := ts.do(call{"PUT", path, nil, "1"}); r.StatusCode != 405 {
			t.Errorf("PUT %s: %d, want 405", path, r.StatusCode)
		}
	}
	if err := ts.shutdown(); err != nil {
		t.Fatal(err)
	}
	if w := ts.record(call{method: "GET", target: pathReady}, 503); w.Body.String() != "the server is shutting down\n" {
		t.Errorf("while it stops: %q", w.Body)
	}
	ts.record(call{method: "GET", target: pathHealth}, 200)
	if w := ts.operations("GET", pathReady); w.Code != 503 {
		t.Errorf("operations, while it stops: %d", w.Code)
	}
}

// A health check is not refused because its address asks too much, has a connection too many
// or is behind a proxy.
func TestProbesAreNotBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tn := townTest(t, AddressLimits{
			Connections: 1, RequestRate: 1, RequestBurst: 1,
			TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		})
		defer tn.shutdown()
		held, err := tn.dialFrom(t.Context(), "198.51.100.1")
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		for _, c := range []struct {
			name, peer string
			header     http.Header
			surplus    bool
		}{
			{"one connection too many", "198.51.100.1", nil, true},
			{"behind a proxy", "10.0.0.1", http.Header{peer.HeaderForwardedFor: {"198.51.100.1"}}, false},
		} {
			ts := tn.at(c.peer)
			ts.do(call{"GET", "/a.json", c.header, noBody})
			wantTooMany(t, c.name, ts.do(call{"GET", "/a.json", c.header, noBody}))
			for _, path := range []string{pathHealth, pathReady} {
				if r := ts.do(call{"GET", path, c.header, noBody}); r.StatusCode != 200 || c.surplus != r.Close {
					t.Errorf("%s, GET %s: %d, closed %t, want 200", c.name, path, r.StatusCode, r.Close)
				}
			}
		}
	})
}

// openFull opens the database a, which cannot store writes.
func (ts *testServer) openFull() {
	ts.t.Helper()
	db, err := dsync.Open(dsync.Options{Change: fullLog{}})
	if err != nil {
		ts.t.Fatal(err)
	}
	ns, err := ts.spaces.find("a")
	if err != nil {
		ts.t.Fatal(err)
	}
	ns.db.Store(db)
}

// TestReadyTogether: however many clients ask at a time, the databases are looked at once.
func TestReadyTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := new(console)
		log := slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug}))
		ts := pipeTest(t, Options{Namespaces: []string{"a"}, AdminSecrets: []string{"sesame"}, Log: log})
		defer ts.shutdown()
		ts.openFull()
		ts.do(call{"PUT", "/x.json", bearer("sesame"), "1"})
		busy := make(chan struct{})
		go ts.readiness.Do(func() error { <-busy; return nil })
		synctest.Wait()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if err := ts.Ready(t.Context()); err != errStorage {
					t.Errorf("Ready = %v, want %v", err, errStorage)
				}
			})
		}
		synctest.Wait()
		close(busy)
		all.Wait()
		if n := strings.Count(out.String(), `msg="not ready"`); n != 1 {
			t.Errorf("the databases were looked at %d times", n)
		}
	})
}

// A database whose store fails makes the server not ready; the answer says no more.
func TestNotReady(t *testing.T) {
	ts := serveTest(t, Options{Namespaces: []string{"a"}, AdminSecrets: []string{"sesame"}})
	ts.openFull()
	if r := ts.do(call{"GET", pathReady, nil, ""}); r.StatusCode != 200 {
		t.Errorf("before a write: %d", r.StatusCode)
	}
	ts.do(call{"PUT", "/x.json", http.Header{"Authorization": {"Bearer sesame"}}, "1"})
	if r := ts.do(call{"GET", pathReady, nil, ""}); r.StatusCode != 503 || r.body != "storage\n" {
		t.Errorf("after a write that could not be stored: %d %q", r.StatusCode, r.body)
	}
	if w := ts.operations("GET", pathMetrics); !strings.Contains(w.Body.String(), "\ndogwood_store_failing{namespace=\"a\"} 1\n") {
		t.Error("the metrics do not say that it fails")
	}
}

// fullLog takes nothing.
type fullLog struct{}

func (fullLog) Append(context.Context, string, uint64, []byte) (uint64, error) {
	return 0, errors.New("disk full")
}
