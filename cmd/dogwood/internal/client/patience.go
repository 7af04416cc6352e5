package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// How long a server may take to begin its answer once it has the request. It makes all of
// a backup or an export, and takes in all of an import, before it answers.
const (
	usualPatience = time.Minute
	bulkPatience  = time.Hour
)

// When a line says that there is no answer yet: once early, then regularly.
const (
	firstNotice = 5 * time.Second
	noticeEvery = 30 * time.Second
)

// A silentError is that of a server that does not answer in time.
type silentError struct {
	after  time.Duration
	writes bool
}

func (e *silentError) Error() string {
	if e.writes {
		return fmt.Sprintf("no answer for %s; is the port right? The change may still take effect: look before you try again", e.after)
	}
	return fmt.Sprintf("no answer for %s; is the port right? If it is, try again later", e.after)
}

// A patientTransport bounds how long a server is waited for, and says so meanwhile. A
// server that makes a large export is silent for minutes and works; one that has hung is
// silent, too. So a line tells the user that there is no answer yet, and only a long
// silence is an error.
type patientTransport struct {
	next     http.RoundTripper
	patience time.Duration
	notices  io.Writer
}

func (t *patientTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	w := &answerWait{
		server: r.URL.Scheme + "://" + r.URL.Host, patience: t.patience, notices: t.notices,
		giveUp: func() { cancel(&silentError{t.patience, r.Method != http.MethodGet && r.Method != http.MethodHead}) },
	}
	r = r.Clone(ctx)
	w.watch(r)
	w.resume()
	resp, err := t.next.RoundTrip(r)
	w.end()
	if err != nil && context.Cause(ctx) != nil {
		err = context.Cause(ctx)
	}
	return resp, err
}

// An answerWait is the time in which a server does not answer. It begins anew with each
// part of the body that the server takes, and stands still while the body has nothing to
// send, as that of a pipe.
type answerWait struct {
	server   string
	patience time.Duration
	notices  io.Writer
	giveUp   func()

	mu    sync.Mutex
	timer *time.Timer // nil: it stands still
	since time.Time
	ended bool
}

// watch has the wait follow what is read of a request's body.
func (w *answerWait) watch(r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	r.Body = &watchedBody{r.Body, w}
	if again := r.GetBody; again != nil {
		r.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			return &watchedBody{body, w}, err
		}
	}
}

func (w *answerWait) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return // the answer came before all of the body was sent
	}
	w.stop()
	w.since = time.Now()
	w.timer = time.AfterFunc(min(firstNotice, w.patience), w.late)
}

func (w *answerWait) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop()
}

func (w *answerWait) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop()
	w.ended = true
}

// stop stops the timer. The lock is held.
func (w *answerWait) stop() {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

// late prints that line, or gives up.
func (w *answerWait) late() {
	w.mu.Lock()
	defer w.mu.Unlock()
	waited := time.Since(w.since)
	switch {
	case w.timer == nil || waited < min(firstNotice, w.patience): // it was stopped at the last moment
	case waited >= w.patience:
		w.giveUp()
	default:
		fmt.Fprintf(w.notices, "dogwood: still waiting for %s (%s)\n", w.server, waited.Round(time.Second))
		w.timer.Reset(min(noticeEvery, w.patience-waited))
	}
}

// A watchedBody stops the wait while it is read.
type watchedBody struct {
	io.ReadCloser
	wait *answerWait
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.wait.pause()
	defer b.wait.resume()
	return b.ReadCloser.Read(p)
}
