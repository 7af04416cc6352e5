package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	dsync "github.com/dogwooddb/dogwood/sync"
)

const batchData = `{
	"users":{"ana":{"groups":{"alpha":3,"bravo":1,"9":2,"gone":4}},"bo":{"groups":{"charlie":true}}},
	"groups":{"alpha":{"name":"Alpha Tango"},"bravo":{"name":"Bravo","secret":true},"9":{"name":{".value":"Nine",".priority":1}}},
	"list":[1,2,3]
}`

func TestBatch(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	owner := http.Header{"Authorization": {"Bearer owner"}}
	if r := ts.do(call{"PUT", "/.json?ns=default", owner, batchData}); r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	for _, c := range []struct{ params, get, want string }{
		{"", ``, ``},
		{"", `{"path":"/groups/alpha/name"},{"path":"none"},{"path":"/list/"},{"path":"/list","shallow":true},{"path":"/list/1","shallow":true}`,
			`{"path":"/groups/alpha/name","value":"Alpha Tango"},{"path":"/none","value":null},{"path":"/list","value":[1,2,3]},` +
				`{"path":"/list","value":{"0":true,"1":true,"2":true}},{"path":"/list/1","value":2}`},
		{"", `{"path":"/list","orderBy":"$value","limitToLast":1},{"path":"/list","orderBy":"$key","startAt":"1","endBefore":"2"},{"path":"/list/1","orderBy":"$key"}`,
			`{"path":"/list","value":{"2":3}},{"path":"/list","value":[null,2]},{"path":"/list/1","value":null}`},
		{"", `{"keys":"/users/ana/groups","child":"/groups/$key/name"}`,
			`{"path":"/users/ana/groups","keys":["9","alpha","bravo","gone"],"values":{"9":"Nine","alpha":"Alpha Tango","bravo":"Bravo"}}`},
		{"", `{"keys":"/users/ana/groups","child":"/groups/$key/name","orderBy":"$value","limitToFirst":2}`,
			`{"path":"/users/ana/groups","keys":["bravo","9"],"values":{"bravo":"Bravo","9":"Nine"}}`},
		{"", `{"keys":"/none","child":"/$key"}`, `{"path":"/none","keys":[],"values":{}}`},
		{"&format=export", `{"path":"/list"},{"keys":"/groups","orderBy":"$key","limitToFirst":1,"child":"/groups/$key"}`,
			`{"path":"/list","value":{"0":1,"1":2,"2":3}},{"path":"/groups","keys":["9"],"values":{"9":{"name":{".priority":1,".value":"Nine"}}}}`},
	} {
		r := ts.do(call{"POST", "/.batch.json?ns=default" + c.params, owner, `{"get":[` + c.get + `]}`})
		revision := "1"
		if c.want == "" {
			revision = "0" // no read was allowed
		}
		if want := `{"revision":` + revision + `,"results":[` + c.want + `]}`; r.StatusCode != 200 || r.body != want {
			t.Errorf("%s: %d %s\nwant %s", c.get, r.StatusCode, r.body, want)
		}
	}
}

// What is wrong with a batch is said with the entry that has it.
func TestBatchErrors(t *testing.T) {
	t.Parallel()
	ts := serveTest(t, Options{Dev: true})
	const shape = `Invalid data; a batch is {"get":[{"path":"/rooms/r1"}]}`
	many := func(n int) string { return `{"get":[` + strings.Repeat(`{"path":"/a"},`, n-1) + `{"path":"/b"}]}` }
	for _, c := range []struct {
		body   string
		status int
		text   string
	}{
		{``, 400, shape},
		{`[]`, 400, shape},
		{`{}`, 400, shape},
		{`{"get":null}`, 400, shape},
		{`{"get":{}}`, 400, shape},
		{`{"get":[1]}`, 400, shape},
		{`{"get":[]}{`, 400, shape},
		{`{"get":[],"put":[]}`, 400, shape},
		{"{\"get\":[{\"path\":\"\xff\"}]}", 400, shape},
		{`{"get":[{}]}`, 400, "get[0]: there must be a path, or keys and child"},
		{`{"get":[{"path":"/a"},{"path":"/a","keys":"/b","child":"$key"}]}`, 400, "get[1]: there must be a path, or keys and child"},
		{`{"get":[{"keys":"/a"}]}`, 400, "get[0]: keys and child go together"},
		{`{"get":[{"path":"/a","child":"$key"}]}`, 400, "get[0]: keys and child go together"},
		{`{"get":[{"path":5}]}`, 400, "get[0]: path must be a string"},
		{`{"get":[{"path":"/a.b"}]}`, 400, "get[0]: " + textBadPath},
		{`{"get":[{"path":"` + strings.Repeat("/a", 33) + `"}]}`, 400, "get[0]: " + textTooDeep},
		{`{"get":[{"keys":"/a","child":"/b/key"}]}`, 400, "get[0]: child must be a path with $key in place of a segment"},
		{`{"get":[{"keys":"/a","child":"/$key/$id"}]}`, 400, "get[0]: " + textBadPath},
		{`{"get":[{"path":"/a","shallow":1}]}`, 400, "get[0]: shallow must be true or false"},
		{`{"get":[{"path":"/a","shallow":true,"limitToLast":1}]}`, 400, "get[0]: Mixing 'shallow' and querying parameters is not supported"},
		{`{"get":[{"path":"/a","limitToLast":1}]}`, 400, "get[0]: orderBy must be defined when other query parameters are defined"},
		{`{"get":[{"path":"/a","orderBy":"$key","limitToLast":"2"}]}`, 400, "get[0]: limitToLast must be an integer"},
		{`{"get":[{"path":"/a","orderBy":{}}]}`, 400, "get[0]: orderBy must be a valid JSON encoded path"},
		{`{"get":[{"path":"/a","orderby":"$key"}]}`, 400, `get[0]: there is no member "orderby"`},
		{many(dsync.MaxLookups + 1), 400, "a batch get may have at most 1000 entries"},
		{`{"get":[{"path":"` + strings.Repeat("x", maxBatchBytes) + `"}]}`, 413, textPayloadTooBig},
	} {
		r := ts.do(call{"POST", "/.batch.json?ns=default", nil, c.body})
		want := errorBody(c.text)
		if c.status == 413 {
			want = detailedBody(c.text, fmt.Sprintf("the body has at most %d bytes", maxBatchBytes))
		}
		if r.StatusCode != c.status || r.body != want {
			t.Errorf("%.80s: %d %s, want %d %s", c.body, r.StatusCode, r.body, c.status, c.text)
		}
	}
	if r := ts.do(call{"POST", "/.batch.json?ns=default", nil, many(dsync.MaxLookups)}); r.StatusCode != 200 {
		t.Errorf("%d entries: %d %.100s", dsync.MaxLookups, r.StatusCode, r.body)
	}
	if r := ts.do(call{"GET", "/.batch.json?ns=default", nil, ""}); r.StatusCode != 405 || r.Header.Get("Allow") != "POST" {
		t.Errorf("GET: %d, Allow: %s", r.StatusCode, r.Header.Get("Allow"))
	}
}

// The rules decide about each place with the caller of the request.
func TestBatchRules(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	owner := http.Header{"Authorization": {"Bearer owner"}}
	if r := ts.do(call{"PUT", "/.json?ns=shop", owner, batchData}); r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	rules := `{"rules":{
		"users":{"$uid":{".read":"auth.uid === $uid"}},
		"groups":{"$g":{".read":"auth != null && !data.child('secret').exists()"}},
		"list":{".read":"query.limitToLast <= 2"}
	}}`
	if r := ts.do(call{"PUT", "/.settings/rules.json?ns=shop", owner, rules}); r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	const denied = `"error":"Permission denied","code":"permission_denied"}`
	const get = `{"get":[{"path":"/groups/alpha/name"},{"path":"/"},{"path":"/list"},{"path":"/list","orderBy":"$key","limitToLast":1},` +
		`{"path":"/list","orderBy":"$value","limitToLast":1},{"keys":"/users/ana/groups","child":"/groups/$key/name"},{"keys":"/users/bo/groups","child":"/groups/$key/name"}]}`
	const rest = `,{"path":"/",` + denied + `,{"path":"/list",` + denied + `,{"path":"/list","value":{"2":3}},` +
		`{"path":"/list","error":"Index not defined, add \".indexOn\": \".value\", for path \"/list\", to the rules","code":"failed"},`
	for auth, want := range map[string]string{
		"": `{"path":"/groups/alpha/name",` + denied + rest + `{"path":"/users/ana/groups",` + denied + `,{"path":"/users/bo/groups",` + denied,
		"&auth=" + unsigned(`{"sub":"ana"}`): `{"path":"/groups/alpha/name","value":"Alpha Tango"}` + rest +
			`{"path":"/users/ana/groups","keys":["9","alpha","bravo","gone"],"values":{"9":"Nine","alpha":"Alpha Tango"},"errors":{"bravo":"Permission denied"}},` +
			`{"path":"/users/bo/groups",` + denied,
	} {
		r := ts.do(call{"POST", "/.batch.json?ns=shop" + auth, nil, get})
		if want = `{"revision":2,"results":[` + want + `]}`; r.StatusCode != 200 || r.body != want {
			t.Errorf("as %.10q: %d %s\nwant %s", auth, r.StatusCode, r.body, want)
		}
	}
}

// A batch has no more than a read may have, and its answer is counted as others.
func TestBatchIsBounded(t *testing.T) {
	ts := serveTest(t, Options{Dev: true, Limits: Limits{MaxReadBytes: 300_000, MaxAnswersBytes: 1 << 20}})
	owner := http.Header{"Authorization": {"Bearer owner"}}
	text := `"` + strings.Repeat("x", 100_000) + `"`
	ts.want("PUT", "/long.json?ns=default", text, 200, text)
	refused := detailedBody(textReadTooBig, readBound(300_000))
	for n, status := range map[int]int{2: 200, 3: 400} {
		r := ts.do(call{"POST", "/.batch.json?ns=default", owner, `{"get":[` + strings.Repeat(`{"path":"/long"},`, n-1) + `{"path":"/long"}]}`})
		if r.StatusCode != status || status == 400 && r.body != refused {
			t.Errorf("%d times: %d %.200s, want %d", n, r.StatusCode, r.body, status)
		}
	}
	ts.wantRoom(0)
}

// A large batch is made while it is sent: what its client does not read takes no more
// than the values themselves, however often they are asked for.
func TestBatchIsStreamed(t *testing.T) {
	t.Parallel()
	tier.RacedFrom(t, tier.Full)
	const size = 1 << 20
	times := tier.Pick(16, 16, 64) // more than sockets buffer
	ts := serveTest(t, Options{Dev: true})
	text := `"` + strings.Repeat("x", size-2) + `"`
	ts.want("PUT", "/long.json", text, 200, text)
	body := `{"get":[` + strings.Repeat(`{"path":"/long"},`, times) + `{"path":"/none"}]}`
	want := `{"revision":1,"results":[` + strings.Repeat(`{"path":"/long","value":`+text+`},`, times) + `{"path":"/none","value":null}]}`
	for _, coding := range []string{"", "gzip"} {
		r := ts.do(call{"POST", "/.batch.json", http.Header{"Accept-Encoding": {coding}}, body})
		if r.StatusCode != 200 || r.Header.Get("Content-Encoding") != coding || r.body != want {
			t.Errorf("Accept-Encoding %q: %d %v, %d bytes: %.200s", coding, r.StatusCode, r.Header, len(r.body), r.body)
		}
	}
	ts.wantRoom(0)
	deaf, _ := ts.send(call{"POST", "/.batch.json", nil, body})
	deaf.(*net.TCPConn).SetReadBuffer(4096)
	waitFor(t, "the answer to take room", func() bool { return ts.all.Answers.Meter().Used() > 0 })
	if used := ts.all.Answers.Meter().Used(); used > 4*size {
		t.Errorf("%d times a value of %d bytes take %d", times, size, used)
	}
	deaf.Close()
	ts.wantRoom(0)
}

// TestBatchOfFilters: the filters of a batch are bounded together, and nothing of it is compiled for a
// client that has gone.
func TestBatchOfFilters(t *testing.T) {
	entry := func(i int) string {
		return fmt.Sprintf(`{"path":"/x","where":"key != '%d' && key.matches(/(a?){0,250}(a?){0,249}b/)"}`, i)
	}
	list := make([]string, 200)
	for i := range list {
		list[i] = entry(i)
	}
	_, err := parseBatch(t.Context(), `{"get":[`+strings.Join(list, ",")+`]}`)
	if err == nil || !strings.Contains(err.Error(), "the filters of a batch take more than 8 MiB") {
		t.Errorf("200 large filters: %v", err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := parseBatch(gone, `{"get":[`+entry(-1)+`]}`); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that has gone: %v", err)
	}
}

// FuzzParseBatch: what is refused is refused with a reason, and what is accepted
// is within the bounds and has a query that can be answered.
func FuzzParseBatch(f *testing.F) {
	f.Add(`{"get":[{"path":"/a/b"},{"path":"/x","orderBy":"$value","limitToLast":10},{"keys":"/u","child":"/g/$key/n","startAt":"a"}]}`)
	f.Add(`{"get":[{"path":"/a","shallow":true},{"path":"","orderBy":"a/b","equalTo":null}]}`)
	f.Add(`{"get":[{"child":"$key","keys":"\u0000"}]}`)
	f.Add(`{"get":[{}]} `)
	f.Fuzz(func(t *testing.T, src string) {
		entries, err := parseBatch(t.Context(), src)
		if err != nil {
			if e, ok := err.(*statusError); !ok || e.status != 400 || e.text == "" {
				t.Errorf("%q is refused with %v", src, err)
			}
			return
		}
		for _, l := range entries {
			q := l.Read.Query
			if l.Shallow && (l.Each != nil || !l.Read.Plain) || l.Read.Plain && !q.IsAll() || q.Limit < 0 {
				t.Errorf("%q has an entry %+v", src, l)
			}
			if l.Each != nil && !strings.Contains(l.Each.String(), "$key") {
				t.Errorf("%q has the template %s", src, fmt.Sprint(l.Each))
			}
		}
	})
}

// TestBatchRate: each place that a batch reads counts, once it has been read.
func TestBatchRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tn := townTest(t, AddressLimits{RequestRate: 10, RequestBurst: 20})
		defer tn.shutdown()
		ts := tn.at("198.51.100.1")
		ts.want("PUT", "/ids.json", `{"a":1,"b":1,"c":1}`, 200, `{"a":1,"b":1,"c":1}`)
		body := `{"get":[{"path":"/a"},{"path":"/b"},{"keys":"/ids","child":"/$key"}` + strings.Repeat(`,{"path":"/a"}`, 13) + `]}` // 19 in all
		if r := ts.do(call{"POST", "/.batch.json", nil, body}); r.StatusCode != 200 {
			t.Fatalf("%d %s", r.StatusCode, r.body)
		}
		wantTooMany(t, "a request after the batch", ts.do(call{"GET", "/a.json", nil, noBody}))
		time.Sleep(100 * time.Millisecond)
		ts.want("GET", "/a.json", noBody, 200, "null")
	})
}
