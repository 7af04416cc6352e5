package demo

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/explain"
)

// Bounds of what is remembered.
const (
	maxDecisions = 200
	maxReport    = 32 << 10 // bytes of one report; a longer one loses its values, then its steps
	maxPaths     = 20       // of one write
)

// decisions are the last ones that were heard about one database, numbered from 1.
type decisions struct {
	namespace string

	mu   sync.Mutex
	last int64             // number of the newest
	ring []json.RawMessage // at number % maxDecisions
}

// A decision is how the rules decided one operation, as the page gets it.
type decision struct {
	Number int64          `json:"n"`
	Time   int64          `json:"time"` // milliseconds since 1970
	UID    string         `json:"uid"`  // "" is nobody
	Paths  []string       `json:"paths"`
	Report explain.Report `json:"report"`
}

// Hear takes note of a decision. The request is only valid during the call, which
// does not block. Decisions about other databases are left out.
func (d *Demo) Hear(namespace string, q *rules.Request, t *rules.Trace) {
	if namespace == d.decisions.namespace {
		d.decisions.add(q, t)
	}
}

func (d *decisions) add(q *rules.Request, t *rules.Trace) {
	one := decision{Time: time.Now().UnixMilli(), UID: q.Auth.UID, Paths: pathsOf(q)}
	one.Report = explain.NewReport(q, t, explain.Options{Values: true})
	d.mu.Lock()
	defer d.mu.Unlock()
	one.Number = d.last + 1
	text, err := one.encode(q, t)
	if err != nil {
		return // a report has nothing that JSON cannot say
	}
	d.last++
	if d.ring == nil {
		d.ring = make([]json.RawMessage, maxDecisions)
	}
	d.ring[d.last%maxDecisions] = text
}

// encode returns the decision with as much of its report as fits.
func (one *decision) encode(q *rules.Request, t *rules.Trace) (json.RawMessage, error) {
	text, err := json.Marshal(one)
	if err != nil || len(text) <= maxReport {
		return text, err
	}
	one.Report = explain.NewReport(q, t, explain.Options{Deciding: true})
	if text, err = json.Marshal(one); err != nil || len(text) <= maxReport {
		return text, err
	}
	one.Report.Steps = []explain.StepReport{}
	return json.Marshal(one)
}

// pathsOf returns what an operation reads or writes, the first maxPaths of it.
func pathsOf(q *rules.Request) []string {
	if q.Op == rules.OpRead {
		return []string{q.Path.String()}
	}
	paths := make([]string, 0, min(len(q.Writes), maxPaths))
	for _, w := range q.Writes[:min(len(q.Writes), maxPaths)] {
		paths = append(paths, w.Target.String())
	}
	return paths
}

// after returns the decisions that are newer than number n, oldest first, and the
// number of the newest. A number that was never given is one of a server before this.
func (d *decisions) after(n int64) (list []json.RawMessage, last int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n < 0 || n > d.last {
		n = 0
	}
	list = []json.RawMessage{}
	for i := max(n, d.last-maxDecisions) + 1; i <= d.last; i++ {
		list = append(list, d.ring[i%maxDecisions])
	}
	return list, d.last
}

// serve answers GET /demo/decisions?after=N.
func (d *decisions) serve(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
	if err != nil {
		http.Error(w, "after must be a number", http.StatusBadRequest)
		return
	}
	list, last := d.after(n)
	body, err := json.Marshal(map[string]any{"last": last, "decisions": list})
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(body) // the client has left
}
