package server

import (
	"fmt"
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
