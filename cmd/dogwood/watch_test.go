package main

import (
	"bufio"
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

func TestReadEvent(t *testing.T) {
	stream := ": comment\n\nevent: put\ndata: {\"path\":\"/\"}\n\n\n" +
		"event:patch\r\nid: 7\r\ndata:{\"a\":\r\ndata: 1}\r\n\r\n" +
		"data: alone\n\nevent: keep-alive\ndata: null\n\nevent: put\ndata: broken o"
	r := bufio.NewReaderSize(strings.NewReader(stream), 16)
	for _, want := range []event{
		{"put", []byte(`{"path":"/"}`)},
		{"patch", []byte(`{"a":1}`)},
		{"", []byte("alone")},
		{"keep-alive", []byte("null")},
	} {
		got, err := readEvent(r)
		if err != nil || got.name != want.name || string(got.data) != string(want.data) {
			t.Errorf("readEvent = %s %s, %v, want %s %s", got.name, got.data, err, want.name, want.data)
		}
	}
	if ev, err := readEvent(r); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("readEvent at the end = %v, %v, want %v", ev, err, io.ErrUnexpectedEOF)
	}
}

func TestReadEventLineIsBounded(t *testing.T) {
	r := bufio.NewReaderSize(strings.NewReader(strings.Repeat("x", 1000)+"\n"), 16)
	if line, err := readEventLine(r, 100); !errors.Is(err, errEventTooBig) {
		t.Errorf("readEventLine = %d bytes, %v, want %v", len(line), err, errEventTooBig)
	}
}

func TestWriteEvent(t *testing.T) {
	for _, test := range []struct{ name, data, want string }{
		{"put", `{"path":"/","data":null}`, `{"event":"put","path":"/","data":null}`},
		{"log", `{}`, `{"event":"log","data":{}}`},
		{"other", `[1]`, `{"event":"other","data":[1]}`},
		{"other", `plain "text"`, `{"event":"other","data":"plain \"text\""}`},
	} {
		var b strings.Builder
		if err := writeEvent(&b, event{test.name, []byte(test.data)}); err != nil || b.String() != test.want+"\n" {
			t.Errorf("writeEvent(%s %s) = %q, %v, want %q", test.name, test.data, b.String(), err, test.want)
		}
	}
}

func TestLiveView(t *testing.T) {
	var b strings.Builder
	v := &liveView{w: &b, title: "http://localhost/rooms", draw: true}
	for _, step := range []struct {
		name, data string
		more       bool
		want       string
	}{
		{"put", `{"path":"/","data":{"a":1}}`, false, "{\n  \"a\" : 1\n}"},
		{"put", `{"path":"/b/c","data":[true]}`, false, "{\n  \"a\" : 1,\n  \"b\" : {\n    \"c\" : [ true ]\n  }\n}"},
		{"patch", `{"path":"/","data":{"a":null,"b/c":2}}`, true, ""},
		{"patch", `{"path":"/b","data":{"d":3}}`, false, "{\n  \"b\" : {\n    \"c\" : 2,\n    \"d\" : 3\n  }\n}"},
		{"put", `{"path":"/","data":{"a":"\u001b[2J\u009b1m","":"‮"}}`, false, "{\n  \"a\" : \"\\u001b[2J\\u009b1m\",\n  \"\\u009b\" : \"\\u202e\"\n}"},
		{"put", `{"path":"/","data":null}`, false, "null"},
	} {
		b.Reset()
		if err := v.show(event{step.name, []byte(step.data)}, step.more); err != nil {
			t.Errorf("%s %s: %v", step.name, step.data, err)
		}
		want := ""
		if step.want != "" {
			want = "\x1b[H\x1b[Jhttp://localhost/rooms\n\n" + step.want + "\n"
		}
		if b.String() != want {
			t.Errorf("%s %s shows %q, want %q", step.name, step.data, b.String(), want)
		}
	}
	for _, data := range []string{"null and void", `{"path":"/a#b","data":1}`, `{"path":"/","data":{"a.b":1}}`} {
		if err := v.show(event{"put", []byte(data)}, false); err == nil {
			t.Errorf("put %s: no error", data)
		}
	}
}

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
	w := &watcher{
		client: &client{http: &http.Client{Transport: &s}, base: &url.URL{Scheme: "http", Host: "localhost"}},
		show: func(ev event, _ bool) error {
			out.WriteString(ev.name + " " + string(ev.data) + "\n")
			return nil
		},
		log: &logged,
	}
	err = w.run(ctx)
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
	var w watcher
	var got []time.Duration
	for range 20 {
		got = append(got, w.pause())
	}
	if got[0] > 500*time.Millisecond || got[19] < 15*time.Second || got[19] > 30*time.Second {
		t.Errorf("pauses are %v", got)
	}
}
