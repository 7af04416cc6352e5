package server

import (
	"net/http"
	"strings"
	"testing"
)

// TestLimits: a read of more children than the rules allow is refused by all that
// reads over REST.
func TestLimits(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	ts.admin("PUT", "/.json", `{"m":{"one":{"a":1,"b":2,"c":3,"d":4},"two":{"a":1}}}`)
	if a := ts.admin("PUT", "/.settings/rules.json", `{"rules":{".read":true,"m":{".write":true,"$r":{".limit":3}}}}`); a.StatusCode != 200 {
		t.Fatal(a.body)
	}
	const refused = "400 /m/$r/.limit"
	for target, want := range map[string]string{
		`/m/one.json`:                           refused,
		`/m.json`:                               refused,
		`/.json`:                                refused,
		`/m/one.json?shallow=true`:              refused,
		`/m/one.json?explain=true`:              refused,
		`/m/one.json?explain=true&shallow=true`: refused,
		`/m/one.json?orderBy=%22$key%22&limitToFirst=4`:  refused,
		`/m/one.json?orderBy=%22$key%22&limitToFirst=3`:  `200 {"a":1,"b":2,"c":3}`,
		`/m/one.json?orderBy=%22$key%22&startAt=%22b%22`: `200 {"b":2,"c":3,"d":4}`,
		`/m/one.json?shallow=true&limitToFirst=2`:        `200 {"a":true,"b":true}`,
		`/m.json?shallow=true`:                           `200 {"one":true,"two":true}`,
		`/m.json?orderBy=%22$key%22&limitToLast=1`:       `200 {"two":{"a":1}}`,
		`/m.json?orderBy=%22$key%22&limitToFirst=1`:      refused,
		`/m/one.json?count=true`:                         `200 4`,
		`/m/one/a.json`:                                  `200 1`,
		`/m/one/.priority.json`:                          `200 null`,
		`/m/two.json`:                                    `200 {"a":1}`,
	} {
		got := ts.do(call{"GET", target, nil, ""})
		status, text, _ := strings.Cut(want, " ")
		if !strings.HasPrefix(got.Status, status) || !strings.Contains(got.body, text) {
			t.Errorf("%s: %d %s, want %s", target, got.StatusCode, got.body, want)
		}
		if got := ts.admin("GET", target, ""); got.StatusCode != http.StatusOK {
			t.Errorf("%s as administrator: %d %s", target, got.StatusCode, got.body)
		}
	}
	if got := ts.do(call{"GET", "/m/one.json", http.Header{"Accept": {"text/event-stream"}}, ""}); got.StatusCode != http.StatusBadRequest || !strings.Contains(got.body, "/m/$r/.limit") {
		t.Errorf("an event stream: %d %s", got.StatusCode, got.body)
	}
	if got := ts.do(call{"PUT", "/m/one.json", http.Header{"If-Match": {"no"}}, "1"}); got.StatusCode != http.StatusBadRequest || !strings.Contains(got.body, "/m/$r/.limit") {
		t.Errorf("a conditional write: %d %s", got.StatusCode, got.body)
	}
}
