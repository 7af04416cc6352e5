package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"github.com/dogwooddb/dogwood/sync/declared"
)

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
	if ts.rest(); ts.isOpen("a") {
		t.Fatal("the database is not closed")
	}
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
