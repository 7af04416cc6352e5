package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A stream is what a server answers to one request of a watcher.
type stream struct {
	status int // 0 refuses the connection
	events []string
	lasts  time.Duration // after the events, until the connection breaks; 0 is for ever
}

// streams answers one request after the other, and the last one for ever.
type streams []stream

func (s *streams) RoundTrip(r *http.Request) (*http.Response, error) {
	next := (*s)[0]
	if len(*s) > 1 {
		*s = (*s)[1:]
	}
	if next.status == 0 {
		return nil, errors.New("connection refused")
	}
	body, w := io.Pipe()
	go func() {
		for _, ev := range next.events {
			if _, err := io.WriteString(w, ev+"\n\n"); err != nil {
				return // the reader left
			}
		}
		if next.lasts == 0 && next.status == http.StatusOK {
			<-r.Context().Done()
			w.CloseWithError(r.Context().Err())
			return
		}
		time.Sleep(next.lasts)
		w.Close()
	}()
	return &http.Response{StatusCode: next.status, Status: http.StatusText(next.status), Header: http.Header{"Content-Type": {typeEvents}}, Body: body}, nil
}

const keepAliveEvent = "event: keep-alive\ndata: null"

// watchTest follows streams for some time and returns what was shown.
func watchTest(t *testing.T, d time.Duration, s streams) (shown string, log string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var out, logged strings.Builder
	w := &Watcher{
		Client: &Client{http: &http.Client{Transport: &s}, base: &url.URL{Scheme: "http", Host: "localhost"}},
		Show: func(ev Event, more bool) error {
			out.WriteString(ev.Name + " " + string(ev.Data))
			if more {
				out.WriteString(" and")
			}
			out.WriteString("\n")
			return nil
		},
		Settle: func() error {
			out.WriteString("no more\n")
			return nil
		},
		Log: &logged,
	}
	err = w.Run(ctx)
	return out.String(), logged.String(), err
}

func TestWatchReconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shown, log, err := watchTest(t, 3*time.Minute, streams{
			{status: 200, events: []string{"event: put\ndata: 1"}, lasts: time.Minute},
			{},
			{status: 503},
			{},
			{status: 200, events: []string{keepAliveEvent, "event: put\ndata: 2"}, lasts: time.Minute},
			{status: 200, events: []string{"event: put\ndata: 3"}},
		})
		if err != nil {
			t.Errorf("run: %v", err)
		}
		if want := "put 1\nput 2\nput 3\n"; shown != want {
			t.Errorf("shown:\n%s\nwant:\n%s", shown, want)
		}
		if n := strings.Count(log, "reconnecting in"); n != 5 {
			t.Errorf("%d attempts, want 5:\n%s", n, log)
		}
	})
}

// A display that waits for the next event is told if there is none to be shown.
func TestWatchSettles(t *testing.T) {
	const put, cancel = "event: put\ndata: 1", "event: cancel\ndata: null"
	for _, c := range []struct{ arrives, shown string }{
		{put, "put 1\n"},
		{put + "\n\n" + put, "put 1 and\nput 1\n"},
		{put + "\n\n" + keepAliveEvent, "put 1 and\nno more\n"},
		{put + "\n\n" + keepAliveEvent + "\n\n" + keepAliveEvent, "put 1 and\nno more\n"},
		{put + "\n\n" + cancel, "put 1 and\nno more\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			if shown, _, _ := watchTest(t, time.Second, streams{{status: 200, events: []string{c.arrives}}}); shown != c.shown {
				t.Errorf("%q shows %q, want %q", c.arrives, shown, c.shown)
			}
		})
	}
}

// A server that says nothing, not even keep-alive, is gone.
func TestWatchLeavesASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shown, log, err := watchTest(t, silence+time.Minute, streams{
			{status: 200, events: []string{"event: put\ndata: 1"}},
			{status: 200, events: []string{"event: put\ndata: 2"}},
		})
		if err != nil || shown != "put 1\nput 2\n" || strings.Count(log, "no sign of life for 1m15s; reconnecting in") != 1 {
			t.Errorf("run = %v, shown %q, log %q", err, shown, log)
		}
	})
}

func TestWatchEnds(t *testing.T) {
	const first = "event: put\ndata: 1"
	for _, test := range []struct {
		name string
		s    streams
		want string
	}{
		{"no server at first", streams{{}}, "connection refused"},
		{"no database", streams{{status: 404}}, "name a database with --namespace"},
		{"unavailable at first", streams{{status: 503}}, "try again"},
		{"denied later", streams{{status: 200, events: []string{first}, lasts: 1}, {status: 401}}, "--secret-file"},
		{"cancel", streams{{status: 200, events: []string{first, "event: cancel\ndata: \"Permission denied\""}}}, "the server ended the stream: Permission denied"},
		{"bare cancel", streams{{status: 200, events: []string{first, "event: cancel\ndata: null"}}}, "the server gave no reason"},
		{"revoked", streams{{status: 200, events: []string{first, "event: auth_revoked\ndata: credential is no longer valid"}}}, "credential is no longer valid"},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, _, err := watchTest(t, time.Hour, test.s)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, want %s", test.name, err, test.want)
			}
		})
	}
}

func TestWatchPauses(t *testing.T) {
	var w Watcher
	var got []time.Duration
	for range 20 {
		got = append(got, w.pause())
	}
	if got[0] > 500*time.Millisecond || got[19] < 15*time.Second || got[19] > 30*time.Second {
		t.Errorf("pauses are %v", got)
	}
}
