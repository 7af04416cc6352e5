package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/sync/declared"
)

// indexesOf returns the indexes of a database in words.
func (ts *testServer) indexesOf() string {
	ts.t.Helper()
	r := ts.do(call{"GET", "/.inspect/indexes.json", bearer("sesame"), ""})
	var list []declared.IndexStatus
	if err := json.Unmarshal([]byte(r.body), &list); err != nil {
		ts.t.Fatalf("%d %s: %v", r.StatusCode, r.body, err)
	}
	var lines []string
	for _, x := range list {
		if (x.Reads > 0) != (x.LastRead > 0) || (x.Entries > 0) != (x.EntryBytes > 0) {
			ts.t.Errorf("%+v", x)
		}
		lines = append(lines, fmt.Sprintf("%s %s rules=%t %v %s %d entries %d reads", x.Path, x.Order, x.Rules, x.Definitions, x.State, x.Entries, x.Reads))
	}
	return strings.Join(lines, "\n")
}

// Administrators see what each index takes, what it is for, and whether it is read.
func TestIndexes(t *testing.T) {
	ts := serveTest(t, Options{DefaultNamespace: "shop", Namespaces: []string{"shop"}, AdminSecrets: []string{"sesame"}})
	put := func(path, body string) {
		t.Helper()
		if r := ts.do(call{"PUT", path, bearer("sesame"), body}); r.StatusCode != 200 {
			t.Fatalf("PUT %s: %d %s", path, r.StatusCode, r.body)
		}
	}
	if got := ts.indexesOf(); got != "" {
		t.Error(got)
	}
	const document = `{"format":"dogwood-data/1","define":{
		"byOwner":{"index":"/rooms","by":["owner","n"]},
		"off":{"index":"/halls","by":["n"],"state":"off"},
		"best":{"keep":2,"at":"/scores/$u","by":"n"}}}`
	put("/.settings/rules.json", `{"rules":{".read":true,"rooms":{".indexOn":"n"}}}`)
	put("/.settings/data.json", document)
	put("/rooms.json", `{"a":{"owner":"u","n":1},"b":{"owner":"v","n":2},"c":{"owner":"w"},"text":"`+strings.Repeat("x", 4000)+`"}`)
	await := func(want string) {
		t.Helper()
		for got := ts.indexesOf(); got != want; got = ts.indexesOf() {
			if !strings.Contains(got, "building") {
				t.Fatalf("got\n%s\nwant\n%s", got, want)
			}
		}
	}
	lines := func(byN, byOwner int) string {
		return fmt.Sprintf(`/halls "n" rules=false [off] off 0 entries 0 reads
/rooms ["owner","n"] rules=false [byOwner] ready 4 entries %d reads
/scores/$u "n" rules=false [best] ready 0 entries 0 reads
/rooms "n" rules=true [] ready 4 entries %d reads`, byOwner, byN)
	}
	await(lines(0, 0))
	for _, target := range []string{`/rooms.json?orderBy="n"&startAt=1`, `/rooms.json?orderBy="n"&startAt=1&count=true`, `/rooms.json?orderBy=["owner","n"]&limitToFirst=1`, `/rooms.json?orderBy="$key"&limitToFirst=1`} {
		if r := ts.do(call{"GET", target, nil, ""}); r.StatusCode != 200 {
			t.Fatalf("%s: %d %s", target, r.StatusCode, r.body)
		}
	}
	await(lines(2, 1))

	// An index that is dropped and declared again has not been read.
	put("/.settings/rules.json", `{"rules":{".read":true}}`)
	put("/.settings/rules.json", `{"rules":{".read":true,"rooms":{".indexOn":"n"}}}`)
	await(lines(0, 1))
	if r := ts.do(call{"GET", "/.inspect/indexes.json", nil, ""}); r.StatusCode != 401 {
		t.Errorf("without a credential: %d", r.StatusCode)
	}
}
