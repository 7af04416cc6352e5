package server

import (
	"net/http"
	"regexp"
	"strconv"
	"testing"

	"github.com/dogwooddb/dogwood/server/observe"
)

// TestLogMetrics: metrics and dogwood top show the log, and what is not yet applied.
func TestLogMetrics(t *testing.T) {
	ts := serveTest(t, Options{Dir: t.TempDir(), Dev: true})
	metric := func(name string) float64 {
		t.Helper()
		r := ts.do(call{http.MethodGet, "/metrics", bearer("owner"), ""})
		m := regexp.MustCompile(`(?m)^dogwood_` + name + ` (\S+)$`).FindStringSubmatch(r.body)
		if r.StatusCode != http.StatusOK || m == nil {
			t.Fatalf("there is no metric %s: %d", name, r.StatusCode)
		}
		v, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	view := observe.NewView(ts.viewed())
	defer view.Close()
	if top := view.Next(); top.Log.Bytes != 0 || top.Log.Segments != 0 {
		t.Errorf("a new server has a log: %+v", top.Log)
	}
	ts.record(call{http.MethodPut, "/a.json?ns=a", bearer("owner"), `"text"`}, http.StatusOK)
	if bytes, segments := metric("log_bytes"), metric("log_segments"); bytes < 4096 || segments != 1 {
		t.Errorf("after a write the log has %v bytes in %v segments", bytes, segments)
	}
	if n := metric("log_sync_seconds_count"); n != 2 {
		t.Errorf("%v syncs after the first write, want 2: the log is told that the file needs it", n)
	}
	l := ts.spaces.measuredLog()
	if shown := metric("log_unapplied_bytes"); l.Unapplied > 0 && shown == 0 {
		t.Error("no metric shows what is not applied")
	}
	if top := view.Next(); top.Log.Segments != 1 || top.Log.Sync.Count != 2 {
		t.Errorf("dogwood top shows %+v", top.Log)
	}
	ts.record(call{http.MethodGet, "/.settings/backup?ns=a", bearer("owner"), ""}, http.StatusOK)
	if bytes, age := metric("log_unapplied_bytes"), metric("log_oldest_unapplied_seconds"); bytes != 0 || age != 0 {
		t.Errorf("after a backup, which applies all: %v bytes that are %v s old are not applied", bytes, age)
	}
}
