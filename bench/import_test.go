package bench

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// A rowServer holds the rows of a workload, as far as the tests need it.
type rowServer struct {
	*httptest.Server
	imported, deleted, reads, writes atomic.Int64
	rows                             atomic.Pointer[map[string]map[string]any]
	starts                           int
}

func newRowServer(t *testing.T) *rowServer {
	s := &rowServer{}
	s.rows.Store(new(map[string]map[string]any))
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *rowServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := "null"
	switch path := strings.TrimSuffix(r.URL.Path, ".json"); {
	case path == "/metrics":
		w.WriteHeader(http.StatusNotFound)
	case path == RowsPath && r.Method == "PUT":
		var rows map[string]map[string]any
		if err := json.NewDecoder(r.Body).Decode(&rows); err != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
		s.imported.Add(1)
		s.rows.Store(&rows)
	case path == RowsPath && r.Method == "DELETE":
		s.deleted.Add(1)
		s.rows.Store(new(map[string]map[string]any))
	case path == RowsPath:
		if len(*s.rows.Load()) > 0 {
			answer = `{"k":true}`
		}
	case strings.HasPrefix(path, RowsPath):
		key, _, leaf := strings.Cut(strings.TrimPrefix(path, RowsPath+"/"), "/")
		if _, ok := (*s.rows.Load())[key]; !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		if leaf {
			s.writes.Add(1)
		} else {
			s.reads.Add(1)
		}
	}
	_, _ = io.WriteString(w, answer)
}

func (s *rowServer) target() Target { return Target{URL: s.URL, Secret: "x"} }

func (s *rowServer) Stop() error { return nil }

func (s *rowServer) Start(context.Context) (Target, error) {
	s.starts++
	return s.target(), nil
}

func TestImport(t *testing.T) {
	s := newRowServer(t)
	res, err := Run(t.Context(), Import{Rows: Rows{50}, Sockets: 3}, Options{Target: s.target(), Server: s, Count: 40, Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(*s.rows.Load()); n != 50 || s.imported.Load() != 1 || s.starts != 1 {
		t.Errorf("%d rows in %d imports, %d starts, want 50, 1 and 1", n, s.imported.Load(), s.starts)
	}
	if res.Failed != 0 || res.Count != 40 || s.reads.Load() < 20 || s.writes.Load() < 5 {
		t.Errorf("%d requests, %d failed (%s), %d reads, %d writes", res.Count, res.Failed, res.Reason, s.reads.Load(), s.writes.Load())
	}
	for _, name := range []string{"file", "import", "stop", "start to first read"} {
		if res.value(name) == 0 {
			t.Errorf("nothing is said about %q: %+v", name, res.Measures)
		}
	}
}

func TestDelete(t *testing.T) {
	s := newRowServer(t)
	res, err := Run(t.Context(), Delete{Rows{20}}, Options{Target: s.target(), Count: 3, Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	if res.Count != 3 || res.Failed != 0 || s.deleted.Load() != 3 || s.imported.Load() != 3 {
		t.Errorf("%d deletes, %d failed; the server had %d after %d loads", res.Count, res.Failed, s.deleted.Load(), s.imported.Load())
	}
	if res.value("acknowledged after") == 0 || res.value("load") == 0 {
		t.Errorf("measures: %+v", res.Measures)
	}
}

// A server that refuses ends the run with a reason, and no goroutine goes on waiting.
func TestDeleteRefused(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "DELETE" {
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = io.WriteString(w, map[bool]string{true: "null", false: "{ }"}[r.URL.Path == "/.json"])
	}))
	defer s.Close()
	_, err := Run(t.Context(), Delete{Rows{20}}, Options{Target: Target{URL: s.URL, Secret: "x"}, Count: 3, Keep: true})
	if err == nil || !strings.Contains(err.Error(), "DELETE: status 403") {
		t.Errorf("Run = %v", err)
	}
}

func TestImportNeedsAdministrator(t *testing.T) {
	s := newRowServer(t)
	for _, w := range []Workload{Import{Rows: Rows{5}}, Delete{Rows{5}}} {
		_, err := Run(t.Context(), w, Options{Target: Target{URL: s.URL}, Count: 1, Keep: true})
		if err == nil || !strings.Contains(err.Error(), "administrator") {
			t.Errorf("%s without a credential: %v", w.Name(), err)
		}
	}
	stopped := errors.New("stuck")
	_, err := Run(t.Context(), Import{Rows: Rows{5}}, Options{Target: s.target(), Server: stuckServer{stopped}, Count: 1, Keep: true})
	if !errors.Is(err, stopped) {
		t.Errorf("Run with a server that does not stop = %v", err)
	}
}

type stuckServer struct{ err error }

func (s stuckServer) Stop() error                           { return s.err }
func (s stuckServer) Start(context.Context) (Target, error) { return Target{}, s.err }
