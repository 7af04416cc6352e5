package server

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/server/metrics"
	dsync "github.com/dogwooddb/dogwood/sync"
)

const noBody = "" // of calls without one

func TestOversizeBodies(t *testing.T) {
	ts := serveTest(t, Options{Dev: true, Limits: Limits{MaxWriteBytes: 1000}})
	long := `"` + strings.Repeat("x", 2000) + `"`
	ts.want("PUT", "/a.json", long, 413, detailedBody(textPayloadTooBig, "the body has at most 1000 bytes"))
	ts.want("POST", "/a.json", long, 413, detailedBody(textPayloadTooBig, "the body has at most 1000 bytes"))
	ts.want("PATCH", "/a.json", long, 413, detailedBody(textPayloadTooBig, "the body has at most 1000 bytes"))

	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	z.Write([]byte(`"` + strings.Repeat("x", 1<<20) + `"`))
	z.Close()
	if bomb.Len() > 1200 {
		t.Fatalf("the bomb has %d bytes", bomb.Len())
	}
	r := ts.do(call{"PUT", "/a.json", http.Header{"Content-Encoding": {"gzip"}}, bomb.String()})
	if r.StatusCode != 413 {
		t.Errorf("gzip bomb: %d %s, want 413", r.StatusCode, r.body)
	}

	chunks := strings.Repeat("c8\r\n"+strings.Repeat("1", 200)+"\r\n", 10) + "0\r\n\r\n"
	if r := ts.do(call{"PUT", "/a.json", http.Header{"Transfer-Encoding": {"chunked"}}, chunks}); r.StatusCode != 413 {
		t.Errorf("chunked body: %d %s, want 413", r.StatusCode, r.body)
	}
	ts.want("GET", "/.json", noBody, 200, "null")
}

// Trailers of a chunked body, and their announced names, are not kept while the request lasts.
func TestTrailersAreForgotten(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	left := make(chan http.Header, 1)
	wrapped := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ts.ServeHTTP(w, r)
		left <- r.Trailer
	}))
	defer wrapped.Close()
	c, err := net.Dial("tcp", wrapped.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "PUT /a.json HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nTrailer: A, B\r\n\r\n1\r\n5\r\n0\r\nA: 1\r\nC: 2\r\n\r\n")
	if got := <-left; got != nil {
		t.Errorf("the request still has the trailers %v", got)
	}
	ts.want("GET", "/a.json", noBody, 200, "5")
}

// A body need not be long to keep all writers waiting: values cost what they cost.
func TestManyValues(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	many := "[" + strings.Repeat("1,", dsync.MaxValues) + "1]"
	for method, body := range map[string]string{"PUT": many, "POST": many, "PATCH": `{"b":` + many + `}`} {
		r := ts.do(call{method, "/a.json", nil, body})
		if r.StatusCode != 400 || r.body != detailedBody(textWriteTooBig, "one write has at most 1048576 values") {
			t.Errorf("%s: %d %.100s, want 400", method, r.StatusCode, r.body)
		}
	}
	if n := ts.metrics.Refused.Of(metrics.WriteValues); n != 3 {
		t.Errorf("%d refusals were counted, want 3", n)
	}
	ts.want("GET", "/.json", noBody, 200, "null")
}

func TestGzipBody(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(`{"x":1}`))
	z.Close()
	if r := ts.do(call{"PUT", "/a.json", http.Header{"Content-Encoding": {"gzip"}}, b.String()}); r.body != `{"x":1}` {
		t.Errorf("gzip body: %d %s", r.StatusCode, r.body)
	}
	if r := ts.do(call{"PUT", "/a.json", http.Header{"Content-Encoding": {"gzip"}}, `{"x":2}`}); r.StatusCode != 400 {
		t.Errorf("a body that is not gzip: %d %s", r.StatusCode, r.body)
	}
	ts.want("GET", "/a.json", noBody, 200, `{"x":1}`)
}

func TestContentEncoding(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	for coding, status := range map[string]int{
		"":             200,
		"identity":     200,
		"Identity":     200,
		"br":           415,
		"deflate":      415,
		"gzip, gzip":   415,
		"gzip, br":     415,
		"identity, br": 415,
	} {
		r := ts.do(call{"PUT", "/a.json", http.Header{"Content-Encoding": {coding}}, "1"})
		if r.StatusCode != status || status == 415 && r.body != errorBody(errCoding.text) {
			t.Errorf("Content-Encoding %q: %d %s, want %d", coding, r.StatusCode, r.body, status)
		}
	}
	two := http.Header{"Content-Encoding": {"identity", "br"}}
	if r := ts.do(call{"PUT", "/a.json", two, "1"}); r.StatusCode != 415 {
		t.Errorf("two Content-Encodings: %d %s, want 415", r.StatusCode, r.body)
	}
}

// An update of nothing is no write: it succeeds where nothing may be written.
func TestEmptyUpdate(t *testing.T) {
	ts := serveTest(t, Options{Namespaces: []string{"shop"}, AdminSecrets: []string{"sesame"}})
	chunked := http.Header{"Transfer-Encoding": {"chunked"}}
	for _, c := range []struct {
		name, target string
		header       http.Header
		body         string
		status       int
		answer       string
	}{
		{"empty", "/x.json", nil, "{}", 200, "{}"},
		{"with space", "/x.json", nil, " {\n} ", 200, "{}"},
		{"in chunks", "/x.json", chunked, "2\r\n{}\r\n0\r\n\r\n", 200, "{}"},
		{"silent", "/x.json?print=silent", nil, "{}", 204, ""},
		{"not empty", "/x.json", nil, `{"a":1}`, 401, errorBody(textDenied)},
		{"long and in chunks", "/x.json", chunked, "41\r\n" + strings.Repeat(" ", 65) + "\r\n2\r\n{}\r\n0\r\n\r\n", 401, errorBody(textDenied)},
		{"longer than is looked at", "/x.json", nil, strings.Repeat(" ", maxEmptyUpdate) + "{}", 401, errorBody(textDenied)},
		{"null", "/x.json", nil, "null", 401, errorBody(textDenied)},
		{"no JSON", "/x.json", nil, "{{}", 401, errorBody(textDenied)},
		{"nothing", "/x.json", nil, "", 401, errorBody(textDenied)},
		{"at a priority", "/x/.priority.json", nil, "{}", 400, errorBody(textBadPath)},
		{"by an administrator", "/x.json", bearer("sesame"), "{}", 200, "{}"},
	} {
		if r := ts.do(call{"PATCH", c.target, c.header, c.body}); r.StatusCode != c.status || r.body != c.answer {
			t.Errorf("%s: %d %s, want %d %s", c.name, r.StatusCode, r.body, c.status, c.answer)
		}
	}
	if r := ts.do(call{"PUT", "/x.json", nil, "{}"}); r.StatusCode != 401 {
		t.Errorf("PUT of nothing is a deletion: %d %s", r.StatusCode, r.body)
	}
}

// A caller who may write nothing is refused before the body, which need not come.
func TestDeniedBodies(t *testing.T) {
	t.Parallel()
	ts := serveTest(t, Options{Namespaces: []string{"shop"}, AdminSecrets: []string{"sesame"}})
	huge := http.Header{"Content-Length": {"268435456"}}
	for _, c := range []struct {
		method, target string
		status         int
		text           string
	}{
		{"PUT", "/x.json", 401, textDenied},
		{"POST", "/x.json", 401, textDenied},
		{"PATCH", "/x.json", 401, textDenied},
		{"DELETE", "/x.json", 401, textDenied},
		{"PUT", "/x/.priority.json", 401, textDenied},
		{"PUT", "/x.y.json", 400, textBadPath},
		{"PUT", "/x.json?auth=bad", 401, textBadToken},
		{"PUT", "/x.json?print=bad", 400, "print must be pretty or silent"},
		{"PUT", "/x.json?ns=none", 404, textNotFound},
	} {
		began := time.Now()
		r := ts.do(call{c.method, c.target, huge, `"`})
		if r.StatusCode != c.status || !strings.HasPrefix(r.body, strings.TrimSuffix(errorBody(c.text), "\n}\n")) {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.target, r.StatusCode, r.body, c.status, c.text)
		}
		if d := time.Since(began); d >= bodyStall {
			t.Errorf("%s %s was refused after %s: the body was waited for", c.method, c.target, d)
		}
	}
	if used := ts.all.Bodies.Meter().Used(); used != 0 {
		t.Errorf("refused bodies hold %d bytes", used)
	}
	secret := func(method, target, body string) result {
		return ts.do(call{method, target, http.Header{"Authorization": {"Bearer sesame"}}, body})
	}
	if r := secret("PUT", "/x.json", "1"); r.StatusCode != 200 {
		t.Errorf("PUT with the secret: %d %s", r.StatusCode, r.body)
	}
	if r := secret("PUT", "/.settings/rules.json", `{"rules":{"a":{"$b":{".write":true}}}}`); r.StatusCode != 200 {
		t.Fatalf("rules: %d %s", r.StatusCode, r.body)
	}
	for target, status := range map[string]int{"/a/x.json": 400, "/a.json": 400, "/b.json": 401} {
		if r := ts.do(call{"PUT", target, nil, "{"}); r.StatusCode != status {
			t.Errorf("PUT of no JSON to %s: %d %s, want %d", target, r.StatusCode, r.body, status)
		}
	}
	if r := ts.do(call{"PATCH", "/a.json", nil, `{"x":1}`}); r.StatusCode != 200 {
		t.Errorf("PATCH above the rule that grants it: %d %s", r.StatusCode, r.body)
	}
}

// Bodies in memory are bounded together, whatever each may have.
func TestBodyBudget(t *testing.T) {
	ts := serveTest(t, Options{Dev: true, Limits: Limits{MaxBodiesBytes: 1000}})
	r := ts.admin("PUT", "/a.json", `"`+strings.Repeat("x", 2000)+`"`)
	if r.StatusCode != 503 || r.Header.Get("Retry-After") == "" {
		t.Errorf("body above the budget: %d %s, want 503 with Retry-After", r.StatusCode, r.body)
	}
	for range 3 {
		ts.want("PUT", "/a.json", `"`+strings.Repeat("x", 500)+`"`, 200, `"`+strings.Repeat("x", 500)+`"`)
	}
	if used := ts.all.Bodies.Meter().Used(); used != 0 {
		t.Errorf("%d bytes were not given back", used)
	}
}

// TestInflaterBudget: what decompresses a body counts as a part of it, however short the body is.
func TestInflaterBudget(t *testing.T) {
	ts := serveTest(t, Options{Dev: true, Limits: Limits{MaxBodiesBytes: inflateBytes / 2}})
	ts.want("PUT", "/a.json", `"short"`, 200, `"short"`)
	r := ts.do(call{"PUT", "/a.json", http.Header{"Content-Encoding": {"gzip"}}, zipped("1")})
	if r.StatusCode != 503 || r.Header.Get("Retry-After") == "" {
		t.Errorf("a short compressed body: %d %s, want 503 with Retry-After", r.StatusCode, r.body)
	}
	ts.want("GET", "/a.json", noBody, 200, `"short"`)
	if used := ts.all.Bodies.Meter().Used(); used != 0 {
		t.Errorf("%d bytes were not given back", used)
	}
}

func TestHugeURLs(t *testing.T) {
	t.Parallel()
	ts := serveTest(t, Options{Dev: true})
	ts.want("GET", "/a.json?_="+strings.Repeat("y", 64<<10), noBody, 200, "null")
	ts.want("GET", "/a.json?_="+strings.Repeat("y", 150<<10), noBody, 414, errorBody("URI Too Long"))
	if r := ts.admin("GET", "/a.json?_="+strings.Repeat("y", 1<<20), noBody); r.StatusCode != 431 {
		t.Errorf("a URL of 1 MiB: %d, want 431", r.StatusCode)
	}
}

// Headers may be as long as the request line and they together, and no longer.
func TestHugeHeaders(t *testing.T) {
	t.Parallel()
	ts := serveTest(t, Options{Dev: true})
	const most = 128<<10 + maxHeaderBytes
	for _, c := range []struct{ line, headers, status int }{
		{0, most - 1<<10, 200},
		{0, most + 8<<10, 431},
		{100 << 10, 91 << 10, 200},
		{100 << 10, 100 << 10, 431},
	} {
		h := http.Header{"X-Pad": {strings.Repeat("x", c.headers)}}
		if r := ts.do(call{"GET", "/a.json?_=" + strings.Repeat("y", c.line), h, noBody}); r.StatusCode != c.status {
			t.Errorf("a line of %d bytes and headers of %d: %d, want %d", c.line, c.headers, r.StatusCode, c.status)
		}
	}
}

// What can't be stored is refused with a reason, and nothing is stored.
func TestHostileBodies(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for _, c := range []struct{ body, want, detail string }{
		{strings.Repeat("[", 100_000), textTooDeep, ""},
		{strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), textTooDeep, ""},
		{deep(100_000), textTooDeep, ""},
		{deep(32), textTooDeep, ""},
		{strings.Repeat(`{".value":`, 100_000) + "1" + strings.Repeat("}", 100_000), textTooDeep, ""},
		{"\"\xff\"", textBadJSON, "1:1: string is not valid UTF-8"},
		{"{\"\xc3\x28\":1}", textBadJSON, "1:2: string is not valid UTF-8"},
		{`"\ud800"`, textBadJSON, "1:2: unpaired surrogate"},
		{`"\udc00x"`, textBadJSON, "1:2: unpaired surrogate"},
		{`{"x":"\ud83d"}`, textBadJSON, "1:7: unpaired surrogate"},
		{`{"\ud800":1}`, textBadJSON, "1:3: unpaired surrogate"},
		{"\"\xed\xa0\x80\"", textBadJSON, "1:1: string is not valid UTF-8"},
		{"1e999", textBadJSON, "1:1: number out of range"},
		{"NaN", textBadJSON, "1:1: expected a value, found 'N'"},
		{"{\"a\":1}\x00", textBadJSON, "1:8: unexpected text after the value"},
		{"\xef\xbb\xbf1", textBadJSON, "1:1: expected a value, found '\\ufeff'"},
		{" \n", textNoData, ""},
		{`{".value":1,"a":2}`, "Invalid data; .value or .sv beside other keys", ""},
		{`{".priority":{},"a":2}`, "", ""},
		{`{".priority":true,"a":2}`, "Invalid data; a priority must be a string or a number", ""},
		{`{".sv":{"increment":"x"}}`, "Invalid data; unrecognized server value", ""},
		{`{".foo":1}`, "Invalid data; couldn't parse key beginning at 1:2. Key value can't be empty or contain $ # [ ] / or .", ""},
		{`{"` + strings.Repeat("k", 769) + `":1}`, fmt.Sprintf(textBadKey, 1, 2), "a key has at most 768 bytes, and this one has 769"},
		{`{"` + strings.Repeat("k", 10_000) + `":1}`, fmt.Sprintf(textBadKey, 1, 2), "a key has at most 768 bytes, and this one has 10000"},
	} {
		if c.want == "" {
			continue
		}
		want := errorBody(c.want)
		if c.detail != "" {
			want = fmt.Sprintf("{\n  \"error\" : %q,\n  \"detail\" : %q\n}\n", c.want, c.detail)
		}
		ts.want("PUT", "/p.json", c.body, 400, want)
	}
	ts.want("GET", "/.json", noBody, 200, "null")
}

func TestConnectionLimit(t *testing.T) {
	ts := serveTest(t, Options{Dev: true, Limits: Limits{MaxConnections: 2}})
	var held []net.Conn
	for range 2 {
		conn, req := ts.send(call{"GET", "/a.json", nil, noBody})
		defer conn.Close()
		ts.read(newReader(conn), req)
		held = append(held, conn)
	}
	conn, _ := ts.send(call{"GET", "/a.json", nil, noBody})
	defer conn.Close()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("a third connection was answered")
	}
	held[0].Close()
	waitFor(t, "a connection to be possible after one was closed", func() bool {
		conn, _ := ts.send(call{"GET", "/a.json", nil, noBody})
		defer conn.Close()
		_, err := conn.Read(make([]byte, 1))
		return err == nil
	})
}
