package server

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// The tests in this file do what the firebase CLI and the emulator tools do
// (REST §13 and §15).

// An export that is imported elsewhere is the same, priorities included.
func TestExportImport(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	const export = `{".priority":-1.5,"a":{".priority":"p",".value":"ü<&>\"\\\n"},"list":{"0":1,"1":true,"3":"x"},"n":{"b":9007199254740993,"c":1e+300,"d":{".priority":0,"e":false}}}`
	ts.want("PUT", "/.json?ns=one&print=silent", export, 204, "")
	first := ts.admin("GET", "/.json?ns=one&format=export", "").body
	ts.want("GET", "/.json?ns=two&shallow=true&limitToFirst=1", "", 200, "null")
	if r := ts.admin("PUT", "/.json?ns=two&disableTriggers=true&writeSizeLimit=unlimited", first); r.StatusCode != 200 {
		t.Fatalf("import: %d %s", r.StatusCode, r.body)
	}
	ts.want("GET", "/.json?ns=two&format=export", "", 200, first)
	ts.want("GET", "/n/d/.priority.json?ns=two", "", 200, "0")
	ts.want("GET", "/list.json?ns=two", "", 200, `[1,true,null,"x"]`)
}

// The CLI imports thousands of paths with one request and removes them in
// pages.
func TestImportAndRemove(t *testing.T) {
	t.Parallel()
	ts := serveTest(t, Options{Dev: true})
	const users = 20_000
	chunk := make(map[string]any)
	for i := range users {
		chunk[fmt.Sprintf("users/k%05d/name", i)] = i
	}
	src, err := json.Marshal(chunk)
	if err != nil {
		t.Fatal(err)
	}
	ts.want("GET", "/imp.json?shallow=true", "", 200, "null")
	ts.want("PATCH", "/imp.json?disableTriggers=true&print=silent", string(src), 204, "")

	var keys []string
	for after := ""; ; after = "&startAfter=" + url.QueryEscape(keys[len(keys)-1]) {
		var page map[string]bool
		r := ts.admin("GET", "/imp/users.json?shallow=true&limitToFirst=6000"+after, "")
		if err := json.Unmarshal([]byte(r.body), &page); err != nil {
			t.Fatalf("page after %q: %d %.100s", after, r.StatusCode, r.body)
		}
		if len(page) == 0 {
			break
		}
		for key := range page {
			keys = append(keys, key)
		}
		slices.Sort(keys)
	}
	if len(keys) != users || len(slices.Compact(keys)) != users {
		t.Errorf("the pages have %d keys, want %d", len(keys), users)
	}
	ts.want("PATCH", "/imp/users.json?print=silent&writeSizeLimit=tiny&disableTriggers=true", `{"k00000":null,"k00001":null}`, 204, "")
	ts.want("GET", "/imp/users.json?shallow=true&limitToFirst=1", "", 200, `{"k00002":true}`)
	ts.want("PATCH", "/imp.json?print=silent&writeSizeLimit=tiny", "null", 204, "")
	ts.want("GET", "/.json", "", 200, "null")
}

// What was written and the rules are there again after a restart, and the
// database is found by its file.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	const rules = `{"rules":{"open":{".read":true}}}`
	for range 2 {
		s := newTest(t, Options{Dir: dir, Dev: true})
		ts := &testServer{Server: s, t: t}
		ts.record(call{"PUT", "/open.json?ns=shop&access_token=owner", nil, `{"a":1}`}, 200)
		ts.record(call{"PUT", "/.settings/rules.json?ns=shop&access_token=owner", nil, rules}, 200)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	ts := serveTest(t, Options{Dir: dir, AdminSecrets: []string{"owner"}})
	ts.want("GET", "/.inspect/databases.json", "", 200, `[{"name":"shop"}]`)
	ts.want("GET", "/.settings/rules.json", "", 200, rules)
	if r := ts.do(call{"GET", "/open.json", nil, ""}); r.body != `{"a":1}` {
		t.Errorf("GET: %d %s", r.StatusCode, r.body)
	}
	if r := ts.do(call{"GET", "/.json", nil, ""}); r.StatusCode != 401 {
		t.Errorf("GET of what the rules do not open: %d %s", r.StatusCode, r.body)
	}
}

// Transactions as the Go and Python SDKs make them lose no increment.
func TestTransactions(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	const writers, each = 4, 25
	failed := make(chan error, writers)
	for range writers {
		go func() {
			var err error
			for i := 0; i < each && err == nil; i++ {
				err = ts.increment("/n.json")
			}
			failed <- err
		}()
	}
	for range writers {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	ts.want("GET", "/n.json", "", 200, fmt.Sprint(writers*each))
}

// increment reads a number and writes it back one larger, until nobody else
// wrote it meanwhile.
func (ts *testServer) increment(path string) error {
	r := ts.do(call{"GET", path, map[string][]string{"X-Firebase-Etag": {"true"}}, ""})
	for range 1000 {
		var n int
		if err := json.Unmarshal([]byte(strings.Replace(r.body, "null", "0", 1)), &n); err != nil {
			return fmt.Errorf("value %q: %w", r.body, err)
		}
		r = ts.do(call{"PUT", path, map[string][]string{"If-Match": {r.Header.Get("ETag")}}, fmt.Sprint(n + 1)})
		switch r.StatusCode {
		case 200:
			return nil
		case 412:
		default:
			return fmt.Errorf("put: %d %s", r.StatusCode, r.body)
		}
	}
	return fmt.Errorf("no put of %s succeeded", path)
}

func BenchmarkGet(b *testing.B) {
	s := newTest(b, Options{Dev: true})
	ts := &testServer{Server: s, t: b}
	ts.record(call{"PUT", "/a/b.json", nil, `{"name":"Jack","n":5}`}, 200)
	for b.Loop() {
		ts.record(call{"GET", "/a/b.json", nil, ""}, 200)
	}
}
