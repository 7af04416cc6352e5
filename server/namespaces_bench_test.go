package server

import (
	"fmt"
	"net/http"
	"testing"
)

// BenchmarkOpenMany opens a server's 1,000 databases, which were closed and have some data.
// Commits and syncs take most of the time on a disk: set TMPDIR to one.
func BenchmarkOpenMany(b *testing.B) {
	const many = 1000
	dir := b.TempDir()
	s := newTest(b, Options{Dir: dir, Dev: true, Limits: Limits{MaxNamespaces: many}})
	ts := &testServer{Server: s, t: b}
	name := func(i int) string { return fmt.Sprintf("db%d", i) }
	for i := range many {
		ts.record(call{http.MethodPut, "/a.json?ns=" + name(i), bearer("owner"), `{"b":{"name":"Jack","n":5}}`}, http.StatusOK)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := New(Options{Dir: dir, Dev: true})
		if err != nil {
			b.Fatal(err)
		}
		for i := range many {
			if err := s.Open(name(i)); err != nil {
				b.Fatal(err)
			}
		}
		b.StopTimer()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*many), "ms/open")
}
