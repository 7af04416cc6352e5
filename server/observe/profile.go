package observe

import (
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/dogwooddb/dogwood/sync/trace"
	"github.com/dogwooddb/dogwood/tree"
)

// maxProfiled bounds the operations that wait for a profile to be sent. Others are
// left out, and counted.
const maxProfiled = 4096

// A Profile is the operations that are to be sent to one administrator.
//
// The committer appends under a mutex, and the goroutine of the request takes
// everything at once. A reader that is too slow loses operations and is told
// how many, because the other choice is to make all clients wait for one
// administrator.
type Profile struct {
	now  func() time.Time
	wake chan struct{} // has an element if there may be some

	mu      sync.Mutex
	waiting []trace.Operation
	dropped int
}

// NewProfile returns a profile without operations.
func NewProfile(now func() time.Time) *Profile {
	return &Profile{now: now, wake: make(chan struct{}, 1)}
}

// Woken has an element if operations may be waiting.
func (p *Profile) Woken() <-chan struct{} { return p.wake }

// Tell takes an operation. It is called by the committer, and does not wait.
func (p *Profile) Tell(op trace.Operation) {
	p.mu.Lock()
	if len(p.waiting) < maxProfiled {
		p.waiting = append(p.waiting, op)
	} else {
		p.dropped++
	}
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *Profile) take() (ops []trace.Operation, dropped int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ops, dropped = p.waiting, p.dropped
	p.waiting, p.dropped = nil, 0
	return ops, dropped
}

// Events returns the events of the operations that wait.
func (p *Profile) Events() (events []byte) {
	ops, dropped := p.take()
	for _, op := range ops {
		events = AppendEvent(events, "log", profiled(op))
	}
	if dropped > 0 {
		data, _ := json.Marshal(struct { // of numbers and a name: cannot fail
			Name      string `json:"name"`
			Dropped   int    `json:"dropped"`
			Timestamp int64  `json:"timestamp"`
		}{"dropped", dropped, p.now().UnixMilli()})
		events = AppendEvent(events, "dropped", data)
	}
	return events
}

// profiled returns the data of an operation. Times are in milliseconds, with
// fractions, which those of the hosted service do not have.
func profiled(op trace.Operation) []byte {
	m := map[string]any{"name": op.Name, "timestamp": op.At.UnixMilli()}
	switch op.Name {
	case trace.OpConnect, trace.OpDisconnect:
	default:
		describe(m, op)
	}
	data, err := json.Marshal(m)
	if err != nil { // a bound of a query that is no JSON: there is none
		return []byte(`{"name":"unknown"}`)
	}
	return data
}

func describe(m map[string]any, op trace.Operation) {
	path := []string{}
	for key := range op.Path.Keys() {
		path = append(path, key)
	}
	m["path"] = path
	m["millis"] = millis(op.Took)
	switch op.Name {
	case trace.OpUnlisten:
		m["querySet"] = []any{profiledQuery(op.Query)}
		return
	case trace.OpBroadcast:
		m["bytes"], m["clientsUpdated"] = op.Bytes, op.Listeners
		return
	case trace.OpListen, trace.OpRead, trace.OpRESTRead:
		m["querySet"], m["unIndexed"] = []any{profiledQuery(op.Query)}, op.Unindexed
	default:
		m["pendingTime"] = millis(op.Waited)
	}
	m["bytes"], m["allowed"] = op.Bytes, !op.Denied
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// profiledQuery returns a query as reports show it: $key and the like stand for
// what is no child, and index tells the child.
func profiledQuery(q tree.Query) map[string]any {
	if q.IsAll() {
		return map[string]any{}
	}
	m := recordedQuery(q)
	for _, name := range []string{"orderByKey", "orderByValue", "orderByPriority", "orderByChild"} {
		delete(m, name)
	}
	switch order := q.Order(); {
	case order == tree.ByKey, order == tree.ByValue, order == tree.ByPriority:
		m["orderBy"] = "$" + order[1:]
	case tree.IsListOrder(order):
		m["orderBy"] = json.RawMessage(order)
	default:
		m["orderBy"], m["index"] = order, map[string]any{"path": strings.Split(order, "/")}
	}
	return m
}
