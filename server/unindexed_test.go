package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestUnindexedQueriesAreInTheLog: without rules, queries are answered and the log says
// once that they would fail; with rules they fail.
func TestUnindexedQueriesAreInTheLog(t *testing.T) {
	var log console
	ts := serveTest(t, Options{Dev: true, Log: textLog(&log)})
	const byName, byAge = `/a.json?orderBy="name"`, `/a.json?orderBy="age"`
	for range 3 {
		ts.want("GET", byName, "", 200, "null")
		ts.want("GET", byAge+"&limitToFirst=1", "", 200, "null")
		ts.want("GET", `/a.json?orderBy="$key"`, "", 200, "null")
	}
	for name, want := range map[string]int{"name": 1, "age": 1, "$key": 0} {
		text := fmt.Sprintf(`Index not defined, add \".indexOn\": \"%s\", for path \"/a\"`, name)
		if n := strings.Count(log.String(), text); n != want {
			t.Errorf("the log has %s %d times, want %d:\n%s", text, n, want, log.String())
		}
	}
	ts.want("PUT", "/.settings/rules.json", `{"rules":{".read":true,"a":{".indexOn":"age"}}}`, 200, `{"status":"ok"}`)
	ts.want("GET", byAge, "", 200, "null")
	if r := ts.admin("GET", byName, ""); r.StatusCode != 400 || !strings.Contains(r.body, "Index not defined") {
		t.Errorf("with rules: %d %s, want 400", r.StatusCode, r.body)
	}
}

// TestStreamsNeedAnIndexAtFirst: an event stream needs the index of its query when it begins, also that
// of an administrator, and whatever listens follow the same query. It goes on when the rules lose the
// index, and so do these listens, which never need one.
func TestStreamsNeedAnIndexAtFirst(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	n := &network{ts.Server, t, func(context.Context, string, string) (net.Conn, error) { return ts.dial() }}
	const target = `/a.json?ns=test&orderBy="n"&limitToFirst=1`
	declare := func(child string) {
		t.Helper()
		ts.want("PUT", "/.settings/rules.json?ns=test", `{"rules":{"a":{".read":true,".indexOn":"`+child+`"}}}`, 200, `{"status":"ok"}`)
	}
	declare("n")
	ts.want("PUT", "/a.json?ns=test&print=silent", `{"x":{"n":2}}`, 204, "")
	s, c := ts.follow(target), n.connect("")
	defer s.Close()
	s.want("event: put\ndata: {\"path\":\"/\",\"data\":{\"x\":{\"n\":2}}}\n\n")
	c.request("q", `{"p":"/a","q":{"i":"n","l":1,"vf":"l"},"t":1,"h":""}`)
	c.want(`{"t":"d","d":{"a":"d","b":{"p":"a","d":{"x":{"n":2}},"t":1}}}`)
	c.want(`{"t":"d","d":{"r":1,"b":{"s":"ok","d":{}}}}`)

	declare("other")
	ts.want("PUT", "/a/x/n.json?ns=test", "1", 200, "1")
	s.want("event: put\ndata: {\"path\":\"/x/n\",\"data\":1}\n\n")
	c.want(`{"t":"d","d":{"a":"d","b":{"p":"a/x/n","d":1,"t":1}}}`)

	refused := func(target string, header http.Header, status int, text string) {
		t.Helper()
		header.Set("Accept", "text/event-stream")
		conn, req := ts.send(call{"GET", target, header, ""})
		defer conn.Close()
		resp, err := http.ReadResponse(newReader(conn), req)
		if err != nil || resp.StatusCode != status {
			t.Errorf("GET %s, %v: %v, %v, want %d", target, header, resp, err, status)
			return // a stream has no end
		}
		defer resp.Body.Close()
		if body, err := io.ReadAll(resp.Body); err != nil || string(body) != errorBody(text) {
			t.Errorf("GET %s, %v: %s, %v, want %s", target, header, body, err, text)
		}
	}
	const missing = `Index not defined, add ".indexOn": "n", for path "/a", to the rules`
	refused(target, http.Header{}, 400, missing)
	refused(target, bearer("owner"), 400, missing)
	refused(strings.Replace(target, "/a", "/b", 1), http.Header{}, 401, textDenied)
}
