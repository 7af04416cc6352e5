package observe

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree"
)

// Bounds of a recording.
const (
	maxRecording = 100 << 20 // of the file; then it is kept as FILE.1 and begun anew
	maxRecorded  = 1 << 20   // of one decision
	maxRecordLag = 16 << 20  // of decisions that are not written yet
)

// A Recorder keeps the decisions of rules in a file, a line of JSON for each, so
// that other rules can be tried on them (dogwood rules diff --traffic):
//
//	{"time":…,"ns":"shop","op":"write","path":"/a","auth":{…},"value":1,"now":…,"allow":true,"rule":"/a/.write"}
//
// It holds what was written and the claims of the caller, but no credentials.
// A decision that is too large is left out, as is one that comes while too many
// wait for the disk: no operation waits for a Recorder.
//
// Decisions are made into lines where they happen, since a request is valid only then.
// One goroutine writes them. After the first error of the disk nothing more is written,
// and Close returns it; the server goes on.
type Recorder struct {
	name string
	max  int64 // maxRecording, except in tests

	mu      sync.Mutex
	changed sync.Cond // of queue and closed
	queue   [][]byte
	bytes   int
	missed  int
	closed  bool

	done chan error // gets what went wrong with writing, once

	file *os.File // the goroutine's
	size int64
}

// OpenRecorder opens a recording, to whose end decisions are added. Only its
// owner may read it.
func OpenRecorder(name string) (*Recorder, error) {
	r := &Recorder{name: name, max: maxRecording, done: make(chan error, 1)}
	r.changed.L = &r.mu
	if err := r.open(); err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	go func() { r.done <- r.run() }()
	return r, nil
}

func (r *Recorder) open() error {
	f, err := os.OpenFile(r.name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		err = f.Chmod(0o600)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r.file, r.size = f, info.Size()
	return nil
}

// Close writes what is queued and closes the file. The error also says how many
// decisions were left out.
func (r *Recorder) Close() error {
	r.mu.Lock()
	r.closed = true
	r.changed.Signal()
	r.mu.Unlock()
	err := <-r.done
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.missed > 0 {
		err = errors.Join(err, fmt.Errorf("%d decisions were left out", r.missed))
	}
	if err != nil {
		return fmt.Errorf("recording %s: %w", r.name, err)
	}
	return nil
}

// add records a decision.
func (r *Recorder) add(ns string, q *rules.Request, d rules.Decision) {
	line := recordLine(ns, q, d)
	r.mu.Lock()
	defer r.mu.Unlock()
	if line == nil || r.closed || r.bytes+len(line) > maxRecordLag {
		r.missed++
		return
	}
	r.queue = append(r.queue, line)
	r.bytes += len(line)
	r.changed.Signal()
}

// run writes what is queued until the recorder is closed. After an error it goes
// on taking, so that the error is the only one.
func (r *Recorder) run() (failed error) {
	for {
		lines, open := r.take()
		if !open {
			return errors.Join(failed, r.file.Close())
		}
		for _, line := range lines {
			if failed == nil {
				failed = r.write(line)
			}
		}
	}
}

func (r *Recorder) take() (lines [][]byte, open bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.queue) == 0 && !r.closed {
		r.changed.Wait()
	}
	lines, r.queue, r.bytes = r.queue, nil, 0
	return lines, len(lines) > 0
}

func (r *Recorder) write(line []byte) error {
	if r.size > 0 && r.size+int64(len(line)) > r.max {
		if err := errors.Join(r.file.Close(), os.Rename(r.name, r.name+".1"), r.open()); err != nil {
			return err
		}
	}
	n, err := r.file.Write(line)
	r.size += int64(n)
	return err
}

// A recorded is one line of a recording.
type recorded struct {
	Time   string                     `json:"time"`
	NS     string                     `json:"ns"`
	Op     string                     `json:"op"` // read, write or update
	Path   string                     `json:"path"`
	Auth   json.RawMessage            `json:"auth"`
	Query  map[string]any             `json:"query,omitempty"`
	Value  json.RawMessage            `json:"value,omitempty"`
	Values map[string]json.RawMessage `json:"values,omitempty"` // by target, of an update
	Now    int64                      `json:"now"`
	Allow  bool                       `json:"allow"`
	Rule   string                     `json:"rule,omitempty"`
}

// recordLine returns the line of a decision, nil if it is too large.
func recordLine(ns string, q *rules.Request, d rules.Decision) []byte {
	size, writes := len(q.Auth.JSON), q.All().Sent() // what follows from them follows again
	for _, w := range writes {
		size += len(w.Node.JSON()) + len(w.Path.Clean())
	}
	if size > maxRecorded {
		return nil
	}
	r := recorded{
		Time:  q.Now.UTC().Format(time.RFC3339Nano),
		NS:    ns,
		Op:    "read",
		Path:  q.Path.String(),
		Auth:  json.RawMessage("null"),
		Now:   q.Now.UnixMilli(),
		Allow: d.Allow,
		Rule:  d.Rule,
	}
	if !q.Auth.IsNull() {
		r.Auth = json.RawMessage(q.Auth.JSON)
	}
	switch {
	case q.Op == rules.OpRead:
		if !q.Plain {
			r.Query = recordedQuery(q.Query)
		}
	case len(writes) == 1:
		r.Op, r.Path, r.Value = "write", writes[0].Target.String(), json.RawMessage(writes[0].Node.JSON())
	default:
		r.Op, r.Path, r.Values = "update", "/", make(map[string]json.RawMessage, len(writes))
		for _, w := range writes {
			r.Values[w.Target.String()[1:]] = json.RawMessage(w.Node.JSON())
		}
	}
	line, err := json.Marshal(r)
	if err != nil {
		return nil
	}
	return append(line, '\n')
}

// recordedQuery returns a query as test files of rules write it. The key that a
// bound may have beside its value is left out: rules don't see it.
func recordedQuery(q tree.Query) map[string]any {
	m := make(map[string]any)
	switch order := q.Order(); order {
	case tree.ByKey:
		m["orderByKey"] = true
	case tree.ByValue:
		m["orderByValue"] = true
	case tree.ByPriority:
		m["orderByPriority"] = true
	default:
		m["orderByChild"] = json.RawMessage(tree.OrderWords(order))
	}
	bound := func(name string, b tree.Bound) {
		if b.Set {
			m[name] = json.RawMessage(b.Value.JSON())
		}
	}
	switch same := q.Start.Set && q.End.Set && q.Start.Value == q.End.Value; {
	case same && !q.Start.Exclusive && !q.End.Exclusive:
		bound("equalTo", q.Start)
	default:
		bound(pick(q.Start.Exclusive, "startAfter", "startAt"), q.Start)
		bound(pick(q.End.Exclusive, "endBefore", "endAt"), q.End)
	}
	if q.Limit > 0 {
		m[pick(q.FromLast, "limitToLast", "limitToFirst")] = q.Limit
	}
	return m
}

func pick(cond bool, yes, no string) string {
	if cond {
		return yes
	}
	return no
}
