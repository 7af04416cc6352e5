package server

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A sink takes an answer and keeps nothing of it.
type sink struct{ header http.Header }

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }
func (s *sink) WriteHeader(int)             {}

func (s *sink) SetReadDeadline(time.Time) error  { return nil }
func (s *sink) SetWriteDeadline(time.Time) error { return nil }

// restCall returns what makes the server answer one request again and again.
func restCall(t testing.TB, method, target, body string) func() {
	s := newTest(t, Options{Dev: true})
	ts := &testServer{Server: s, t: t}
	ts.record(call{"PUT", "/a/b.json", nil, `{"name":"Jack","n":5}`}, 200)
	r := localRequest(method, target, nil)
	w := &sink{make(http.Header)}
	return func() {
		clear(w.header)
		if body != "" {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		}
		s.ServeHTTP(w, r)
	}
}

// TestRESTAllocations bounds what the server adds to the allocations of net/http.
// The race detector adds one or two of its own.
func TestRESTAllocations(t *testing.T) {
	for _, c := range []struct {
		method, body string
		max          float64
	}{{"GET", "", 19}, {"PUT", `{"n":1}`, 52}} {
		answer := restCall(t, c.method, "/a/b.json?ns=fake-server", c.body)
		if got := testing.AllocsPerRun(200, answer); got > c.max {
			t.Errorf("%s makes %v allocations, want at most %v", c.method, got, c.max)
		} else {
			t.Logf("%s makes %v allocations", c.method, got)
		}
	}
}

// BenchmarkREST is a request in memory, without net/http.
func BenchmarkREST(b *testing.B) {
	for _, c := range []struct{ method, body string }{{"GET", ""}, {"PUT", `{"n":1}`}} {
		b.Run(c.method, func(b *testing.B) {
			answer := restCall(b, c.method, "/a/b.json?ns=fake-server", c.body)
			b.ReportAllocs()
			for b.Loop() {
				answer()
			}
		})
	}
}
