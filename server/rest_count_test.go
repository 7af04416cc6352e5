package server

import (
	"net/http"
	"strings"
	"testing"
)

func TestCount(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	ts.admin("PUT", "/.json", `{"rooms":{"a":{"type":"x"},"b":{"type":"y"},"c":{"type":"x"},"d":1},"leaf":7,"secret":{"a":1}}`)
	ts.admin("PUT", "/.settings/rules.json", `{"rules":{"rooms":{".read":true,".indexOn":"type"},"leaf":{".read":true},"narrow":{".read":"query.limitToFirst < 10"}}}`)
	for target, want := range map[string]string{
		`/rooms.json?count=true`:                                    `200 4`,
		`/rooms.json?count=true&print=pretty`:                       `200 4`,
		`/rooms.json?count=true&callback=f`:                         `200 f(4);`,
		`/rooms.json?count=true&print=silent`:                       `204 `,
		`/rooms.json?count=true&orderBy=%22type%22&equalTo=%22x%22`: `200 2`,
		`/rooms.json?count=true&orderBy=%22type%22`:                 `200 4`,
		`/rooms.json?count=true&orderBy=%22$key%22&startAt=%22b%22`: `200 3`,
		`/rooms.json?count=true&orderBy=%22name%22&startAt=%22b%22`: `400 Index not defined`,
		`/rooms/a.json?count=true`:                                  `200 1`,
		`/rooms/none.json?count=true`:                               `200 0`,
		`/leaf.json?count=true`:                                     `200 0`,
		`/secret.json?count=true`:                                   `401 Permission denied`,
		`/narrow.json?count=true`:                                   `401 Permission denied`,
		`/.json?count=true`:                                         `401 Permission denied`,
		`/rooms.json?count=false&shallow=true`:                      `200 {"a":true,"b":true,"c":true,"d":true}`,
		`/rooms.json?count=1`:                                       `400 count must be true or false`,
		`/rooms.json?count=true&shallow=true`:                       `400 Mixing 'shallow' and count`,
		`/rooms.json?count=true&explain=true`:                       `400 Mixing explain and count`,
		`/rooms/.priority.json?count=true`:                          `400 count is not supported for priorities`,
		`/rooms.json?count=true&orderBy=%22$key%22&limitToFirst=2`:  `400 Mixing limits and count`,
		`/rooms.json?count=true&orderBy=%22$key%22&limitToLast=2`:   `400 Mixing limits and count`,
	} {
		got := ts.do(call{"GET", target, nil, ""})
		status, text, _ := strings.Cut(want, " ")
		if http.StatusText(got.StatusCode) == "" || !strings.HasPrefix(got.Status, status) || !strings.Contains(got.body, text) {
			t.Errorf("%s: %d %s, want %s", target, got.StatusCode, got.body, want)
		}
	}
	for _, header := range []http.Header{{"Accept": {"text/event-stream"}}, {"X-Firebase-Etag": {"true"}}} {
		if got := ts.do(call{"GET", "/rooms.json?count=true", header, ""}); got.StatusCode != http.StatusBadRequest {
			t.Errorf("%v: %d %s", header, got.StatusCode, got.body)
		}
	}
}
