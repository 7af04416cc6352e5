package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
)

const readableRules = `{"rules":{
	"rooms":{"$r":{".read":"data.child('public').val() === true || root.child('members/' + $r + '/' + auth.uid).exists()"}},
	"open":{".read":true},
	"narrow":{".read":"query.limitToFirst <= 2"}}}`

// readableRooms returns a server with 300 rooms: every third is public, and ana is a member of
// those whose number ends with 7.
func readableRooms(t *testing.T) *testServer {
	ts := serveTest(t, Options{Dev: true})
	rooms, members := map[string]any{}, map[string]any{}
	for i := range 300 {
		key := fmt.Sprintf("room%03d", i)
		rooms[key] = map[string]any{"n": i, "public": i%3 == 0}
		if i%10 == 7 {
			members[key] = map[string]any{"ana": true}
		}
	}
	data, _ := json.Marshal(map[string]any{"rooms": rooms, "members": members, "open": rooms, "narrow": rooms, "closed": rooms, "leaf": 7})
	ts.admin("PUT", "/.json", string(data))
	ts.admin("PUT", "/.settings/rules.json", readableRules)
	return ts
}

// readablePages reads all pages of a listing, and returns their keys and how many pages there are.
func readablePages(t *testing.T, ts *testServer, target, auth string) (keys []string, pages int) {
	next := ""
	for {
		r := ts.do(call{"GET", target + "&auth=" + auth + next, nil, ""})
		var page map[string]any
		if err := json.Unmarshal([]byte(r.body), &page); r.StatusCode != http.StatusOK || err != nil && r.body != "null" {
			t.Fatalf("%s: %d %s", target, r.StatusCode, r.body)
		}
		if names := r.Header.Get("Access-Control-Expose-Headers"); (r.Header.Get(headerNext) != "") != strings.Contains(names, headerNext) {
			t.Errorf("pages of other origins may read %s", names)
		}
		for key := range page {
			keys = append(keys, key)
		}
		if pages++; r.Header.Get(headerNext) == "" {
			slices.Sort(keys)
			return keys, pages
		}
		next = "&next=" + r.Header.Get(headerNext)
	}
}

// TestReadableListing: a caller is told the children that the caller may read, in pages.
func TestReadableListing(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	ts := readableRooms(t)
	var public, anas, all []string
	for i := range 300 {
		key := fmt.Sprintf("room%03d", i)
		all = append(all, key)
		if i%3 == 0 {
			public = append(public, key)
		}
		if i%3 == 0 || i%10 == 7 {
			anas = append(anas, key)
		}
	}
	ana := unsigned(`{"sub":"ana","user_id":"ana"}`)
	for _, c := range []struct {
		target, auth string
		want         []string
		pages        int
	}{
		{"/rooms.json?readable=true", ana, anas, 1},
		{"/rooms.json?readable=true&limitToFirst=50", ana, anas, 3},
		{"/rooms.json?readable=true&limitToFirst=1", "", public, 101},
		{"/rooms.json?readable=true&shallow=true&limitToFirst=50", ana, anas, 3},
		{"/rooms.json?readable=true&limitToFirst=100", "", public, 2}, // an empty one, whether or not there are others behind
		{"/open.json?readable=true&limitToFirst=100", "", all, 3},
		{`/open.json?readable=true&orderBy="$key"&startAt="room150"&endBefore="room200"`, "", all[150:200], 1},
		{"/narrow.json?readable=true&limitToFirst=2", "", all, 150},
		{"/narrow.json?readable=true&limitToFirst=20", "", nil, 1},
		{"/closed.json?readable=true&limitToFirst=5", "", nil, 3},
		{"/closed.json?readable=true", "", nil, 1},
		{"/none.json?readable=true", "", nil, 1},
		{"/leaf.json?readable=true", "", nil, 1},
		{"/rooms/room001.json?readable=true", "", nil, 1},
	} {
		got, pages := readablePages(t, ts, c.target, c.auth)
		if !slices.Equal(got, c.want) || pages != c.pages {
			t.Errorf("%s: %d pages, want %d: %d keys, want %d: %.300q", c.target, pages, c.pages, len(got), len(c.want), got)
		}
	}
	if r := ts.do(call{"GET", "/rooms.json?readable=true&limitToFirst=2", nil, ""}); r.body != `{"room000":{"n":0,"public":true},"room003":{"n":3,"public":true}}` {
		t.Errorf("%s", r.body)
	}
}

// TestReadableListingTellsNothingOfOthers: no answer changes because of a few children that
// the caller may not read, wherever their keys are. So the caller can't ask for ranges.
func TestReadableListingTellsNothingOfOthers(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	ts.admin("PUT", "/.settings/rules.json", `{"rules":{"rooms":{".limit":2,"$r":{".read":"data.val() === 'public'"}}}}`)
	var targets []string
	for _, more := range []string{"", "&limitToFirst=1", "&limitToFirst=2", "&limitToFirst=3",
		`&startAt="a"&endAt="c"`, `&startAfter="a"`, `&endBefore="d"`, `&endAt="b"`, `&equalTo="c"`, `&equalTo="a"`} {
		targets = append(targets, "/rooms.json?readable=true"+more, "/rooms.json?readable=true&shallow=true"+more)
	}
	var alone []string
	for _, hidden := range []string{"", `,"c":1`, `,"A":1,"b":2,"c":3,"z":4`} {
		ts.admin("PUT", "/rooms.json", `{"a":"public","m":"public"`+hidden+`}`)
		for i, target := range targets {
			r := ts.do(call{"GET", target, nil, ""})
			got := fmt.Sprintf("%d %s, more: %t", r.StatusCode, r.body, r.Header.Get(headerNext) != "")
			if strings.Contains(target, `="`) && !strings.Contains(got, "400 ") {
				t.Errorf("%s: %s", target, got)
			}
			if hidden == "" {
				alone = append(alone, got)
			} else if got != alone[i] {
				t.Errorf("%s with %s: %s, without %s", target, hidden, got, alone[i])
			}
		}
	}
	// Children that are shown count for the limit of the node.
	ts.admin("PUT", "/rooms.json", `{"a":"public","b":"public","c":"public","d":0}`)
	if r := ts.do(call{"GET", "/rooms.json?readable=true", nil, ""}); r.StatusCode != http.StatusBadRequest || !strings.Contains(r.body, "/rooms has more than 2 children") {
		t.Errorf("three children where two are allowed: %d %s", r.StatusCode, r.body)
	}
	if got, _ := readablePages(t, ts, "/rooms.json?readable=true&limitToFirst=2", ""); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("%q", got)
	}
}

// TestReadableListingIsBounded: a page ends where its rules have looked at as much as one operation
// may, and the next one goes on there. A child that is too much alone is denied, as it is to a GET.
func TestReadableListingIsBounded(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	ts := serveTest(t, Options{Dev: true})
	text := strings.Repeat("x", 900_000)
	rooms := map[string]any{"d": strings.Repeat("x", 3_000_000)}
	for _, key := range []string{"a", "b", "c", "e", "f"} {
		rooms[key] = text
	}
	data, _ := json.Marshal(map[string]any{"rooms": rooms})
	ts.admin("PUT", "/.json", string(data))
	ts.admin("PUT", "/.settings/rules.json", `{"rules":{"rooms":{"$r":{".read":"data.val().matches(/^x+$/)"}}}}`)
	keys, pages := readablePages(t, ts, "/rooms.json?readable=true&shallow=true", "")
	if !slices.Equal(keys, []string{"a", "b", "c", "e", "f"}) || pages < 4 {
		t.Errorf("%d pages with %q", pages, keys)
	}
	if r := ts.do(call{"GET", "/rooms/d.json", nil, ""}); r.StatusCode != http.StatusUnauthorized {
		t.Errorf("a GET of the one that is too much: %d", r.StatusCode)
	}
}

func TestReadableListingRefuses(t *testing.T) {
	ts := readableRooms(t)
	next := ts.do(call{"GET", "/rooms.json?readable=true&limitToFirst=2", nil, ""}).Header.Get(headerNext)
	for target, want := range map[string]string{
		"/rooms.json?readable=yes":                               "readable must be true or false",
		`/rooms.json?readable=true&orderBy="n"`:                  "in the order of their keys",
		"/rooms.json?readable=true&limitToLast=3":                "Mixing readable and limitToLast",
		"/rooms.json?readable=true&count=true":                   "Mixing readable and count",
		"/rooms.json?readable=true&children=true":                "Mixing readable and children",
		"/rooms.json?readable=true&explain=true":                 "Mixing readable and explain",
		"/rooms.json?readable=true&where=true":                   "Mixing readable and where",
		"/rooms.json?readable=true&changes=true":                 "Mixing readable and changes",
		"/rooms.json?readable=true&limitToFirst=1001":            "A page has at most 1000 children",
		"/rooms/.priority.json?readable=true":                    "readable is not supported for priorities",
		"/rooms.json?next=" + next:                               "next goes with readable=true",
		"/rooms.json?readable=true&next=room001":                 "next is not that of a page",
		"/open.json?readable=true&next=" + next:                  "next is not that of a page",
		`/rooms.json?readable=true&startAt="a"&next=` + next:     "Mixing next and where a range starts",
		"/rooms.json?readable=true&limitToFirst=2&next=x" + next: "next is not that of a page",
	} {
		if r := ts.do(call{"GET", target, nil, ""}); r.StatusCode != http.StatusBadRequest || !strings.Contains(r.body, want) {
			t.Errorf("%s: %d %s, want %s", target, r.StatusCode, r.body, want)
		}
	}
	for _, header := range []http.Header{{"Accept": {"text/event-stream"}}, {"X-Firebase-Etag": {"true"}}} {
		if r := ts.do(call{"GET", "/rooms.json?readable=true", header, ""}); r.StatusCode != http.StatusBadRequest {
			t.Errorf("%v: %d %s", header, r.StatusCode, r.body)
		}
	}
}

// TestExtensionsAreNamed: an answer says which parameters beyond those of Firebase it is by, also
// to pages of other origins.
func TestExtensionsAreNamed(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	ts.admin("PUT", "/list.json", `{"a":1}`)
	for target, want := range map[string]string{
		"/list.json":                                "",
		"/list.json?shallow=true":                   "",
		"/list.json?where=true":                     "where",
		"/list.json?where=true&count=true":          "where",
		"/list.json?children=true&descending=true":  "children, descending",
		"/list.json?children=true&where=true":       "where, children",
		"/list.json?readable=true":                  "readable",
		"/list.json?readable=true&shallow=true":     "readable",
		"/list.json?readable=false&children=false":  "",
		"/list.json?readable=true&format=export":    "readable",
		"/list/a.json?where=true&print=pretty":      "where",
		"/none.json?children=true&limitToFirst=200": "children",
	} {
		r := ts.do(call{"GET", target, nil, ""})
		exposed := strings.Contains(r.Header.Get("Access-Control-Expose-Headers"), headerExtensions)
		if got := r.Header.Get(headerExtensions); r.StatusCode != http.StatusOK || got != want || exposed != (want != "") {
			t.Errorf("%s: %d, %q, exposed: %t, want %q", target, r.StatusCode, got, exposed, want)
		}
	}
	for body, want := range map[string]string{
		`{"get":[{"path":"/list"}]}`:                                    "",
		`{"get":[{"path":"/list"},{"path":"/list","where":"true"}]}`:    "where",
		`{"get":[{"keys":"/list","child":"/$key","where":"key=='a'"}]}`: "where",
	} {
		if r := ts.do(call{"POST", "/.batch.json", nil, body}); r.Header.Get(headerExtensions) != want {
			t.Errorf("%s: %q, want %q", body, r.Header.Get(headerExtensions), want)
		}
	}
}
