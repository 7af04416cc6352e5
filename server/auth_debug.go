package server

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/explain"
)

// This file explains the decisions of the rules in a header, for requests with a token that
// has debug: true (REST §6). Such a token is made with a secret, by an administrator, who
// may read the rules. The header quotes rules, never data.

const (
	debugHeader = "X-Firebase-Auth-Debug"
	maxDebug    = 2 << 10 // bytes of the header
	debugCut    = "..."   // ends what was longer
)

// debug has the decisions on the request told in its answer, if its token asks for
// that. An administrator is not decided about.
func (q *request) debug() {
	if !q.id.credential.Debug || q.id.Admin {
		return
	}
	w := &debugWriter{ResponseWriter: q.w}
	q.id.Trace = w.text.trace
	q.w = w
}

// A debugWriter adds the header to an answer. The header has to be there before
// the status is sent, and by then all decisions of a request are made.
type debugWriter struct {
	http.ResponseWriter
	text debugText
}

// WriteHeader implements http.ResponseWriter. All answers begin with it.
func (w *debugWriter) WriteHeader(status int) {
	if text := w.text.String(); text != "" {
		w.Header().Set(debugHeader, text)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is called by http.ResponseController.
func (w *debugWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// A debugText is the value of the header, which grows by decisions. They may come
// from the committer when the request has ended already.
type debugText struct {
	mu   sync.Mutex
	text strings.Builder
	last string // decision, which is not told twice when a write is tried again
	full bool
}

func (d *debugText) trace(q *rules.Request, t *rules.Trace) { d.add(explain.Brief(q, t)) }

// add appends a decision. What is not printable ASCII is escaped as in URLs.
func (d *debugText) add(decision string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if decision == d.last {
		return
	}
	d.last = decision
	if d.text.Len() > 0 {
		d.push("; ")
	}
	for i := range len(decision) {
		if c := decision[i]; c < ' ' || c > '~' || c == '%' {
			d.push(fmt.Sprintf("%%%02X", c))
		} else {
			d.push(decision[i : i+1])
		}
	}
}

// push appends something if all of it fits. Nothing comes after what did not.
func (d *debugText) push(text string) {
	switch {
	case d.full:
	case d.text.Len()+len(text) > maxDebug-len(debugCut):
		d.text.WriteString(debugCut)
		d.full = true
	default:
		d.text.WriteString(text)
	}
}

// String returns the value so far.
func (d *debugText) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.String()
}
