package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"testing"

	"github.com/dogwooddb/dogwood/server/observe"
	"github.com/dogwooddb/dogwood/sync/declared"
)

// TestTopDefinitions: views tell what each definition did since the last time, the most costly ones first, and
// nothing of those that no write touched.
func TestTopDefinitions(t *testing.T) {
	ts := serveTest(t, Options{Dev: true, DefaultNamespace: "a"})
	put := func(path, body string) {
		t.Helper()
		ts.record(call{http.MethodPut, path + ".json", bearer("owner"), body}, 200)
	}
	put("/.settings/data", `{"format": "dogwood-data/1", "define": {
		"sizes": {"count": "/groups/$g/members/$u", "to": "/sizes/$g"},
		"long": {"map": "/groups/$g/name", "to": "/names/{data.val().length}/$g"},
		"idle": {"count": "/idle/$i/$j", "to": "/idles/$i"}}}`)
	put("/groups/g", `{"members": {"u1": true}}`)
	view := observe.NewView(ts.viewed())
	defer view.Close()
	if first := view.Next(); len(first.Definitions) != 0 {
		t.Errorf("the first has rates: %+v", first.Definitions)
	}
	put("/groups/g/members", `{"u1": true, "u2": true, "u3": true}`)
	put("/groups/h", `{"members": {"u1": true}, "name": 5}`) // a number has no length
	top := view.Next()
	got := make(map[string][3]int)
	for i, d := range top.Definitions {
		per := func(rate float64) int { return int(rate*top.Interval + 0.5) }
		got[d.Namespace+" "+d.Definition] = [3]int{per(d.Touches), per(d.Writes), per(d.Skipped)}
		if d.Share <= 0 || i > 0 && d.Share > top.Definitions[i-1].Share {
			t.Errorf("shares: %+v", top.Definitions)
		}
	}
	if want := map[string][3]int{"a sizes": {2, 2, 0}, "a long": {1, 0, 1}}; !maps.Equal(got, want) {
		t.Errorf("touches, writes and skipped: %v, want %v", got, want)
	}
	if again := view.Next(); len(again.Definitions) != 0 {
		t.Errorf("without writes: %+v", again.Definitions)
	}
}

// TestDefinitionMetrics: metrics and the status tell what each definition has done, also those of a
// database that was closed in between, and nothing of writes that were refused.
func TestDefinitionMetrics(t *testing.T) {
	ts := startIdle(t)
	put := func(method, path, body string, status int) {
		t.Helper()
		ts.record(call{method, path + ".json?ns=a", bearer("owner"), body}, status)
	}
	want := func(definition, touches, writes, skipped string) {
		t.Helper()
		r := ts.do(call{http.MethodGet, "/metrics", bearer("owner"), ""})
		for name, n := range map[string]string{"touches": touches, "writes": writes, "skipped": skipped, "seconds": `[0-9.e-]+`} {
			line := fmt.Sprintf(`(?m)^dogwood_definition_%s_total\{definition="%s",namespace="a"\} %s$`, name, definition, n)
			if !regexp.MustCompile(line).MatchString(r.body) {
				t.Errorf("no line %s: %s", line, regexp.MustCompile(`(?m)^dogwood_definition.*$`).FindAllString(r.body, -1))
			}
		}
	}
	put(http.MethodPut, "/.settings/data", documentA, 200)
	want("sizes", "0", "0", "0")
	put(http.MethodPatch, "/groups/g/members", `{"u1":true,"u2":true}`, 200)
	put(http.MethodPut, "/users/u1/login", `"ada"`, 200)
	put(http.MethodPut, "/users/u2/login", `"ada"`, 409) // taken
	put(http.MethodPut, "/elsewhere", `1`, 200)
	want("sizes", "2", "1", "0")
	want("logins", "1", "1", "0")

	// A definition that is changed is counted on, and one that is gone has no figures.
	put(http.MethodPut, "/.settings/data", `{"format": "dogwood-data/1", "define": {
		"sizes": {"count": "/groups/$g/members/$u", "to": "/sizes/$g", "where": "data.isBoolean() || data.val().length > 1"}}}`, 200)
	put(http.MethodPut, "/groups/g/members/u3", `3`, 200) // a number has no length
	want("sizes", `[3-9]`, `[1-9]`, "1")
	if r := ts.do(call{http.MethodGet, "/metrics", bearer("owner"), ""}); regexp.MustCompile(`definition="logins"`).MatchString(r.body) {
		t.Error("a definition that is gone has figures")
	}
	ts.settle("a")
	ts.wantClosed("a")
	want("sizes", `[3-9]`, `[1-9]`, "1")
	put(http.MethodPut, "/groups/g/members/u4", `4`, 200)
	want("sizes", `[4-9]`, `[1-9]`, "2")

	r := ts.do(call{http.MethodGet, "/.settings/data/status.json?ns=a", bearer("owner"), ""})
	var list []declared.Status
	if err := json.Unmarshal([]byte(r.body), &list); err != nil {
		t.Fatal(err, r.body)
	}
	if a := list[0].Activity; len(list) != 1 || a.Touches != 1 || a.Skipped != 1 || a.Seconds <= 0 {
		t.Errorf("status since the database was opened: %s", r.body)
	}
}
