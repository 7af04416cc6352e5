package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
)

func TestChildren(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	long := strings.Repeat("ü", 200)
	huge := strings.Repeat("x", 100_000)
	rows := make(map[string]int)
	for i := range 500 {
		rows[fmt.Sprintf("k%03d", i)] = i
	}
	big, _ := json.Marshal(rows)
	ts.admin("PUT", "/.json", `{"leaf":7,"secret":{"a":1},"all":{"a":{"x":1,"y":2},"b":"hi","c":"`+long+`","d":true,"e":-1.5,
		"f":{".value":"p",".priority":3},"g":"`+huge+`","h":`+string(big)+`},"narrow":{"a":1,"b":2,"c":3},"scores":{"ana":30,"bo":10,"cy":20}}`)
	ts.admin("PUT", "/.settings/rules.json", `{"rules":{"all":{".read":true},"leaf":{".read":true},
		"scores":{".read":true,".indexOn":".value"},"narrow":{".read":"query.limitToFirst <= 2 || query.limitToLast <= 2"}}}`)
	for target, want := range map[string]string{
		`/all.json?children=true&limitToFirst=2`:                               `"count":8,"children":[{"k":"a","t":"o","n":2},{"k":"b","t":"s","v":"hi"}],"more":true}`,
		`/all.json?children=true&limitToFirst=3&startAfter="b"`:                `[{"k":"c","t":"s","v":"` + strings.Repeat("ü", 120) + `","b":400},{"k":"d","t":"b","v":true},{"k":"e","t":"n","v":-1.5}],"more":true}`,
		`/all.json?children=true&startAt="f"`:                                  `[{"k":"f","t":"s","v":"p","p":3},{"k":"g","t":"s","v":"` + strings.Repeat("x", 120) + `","b":100000},{"k":"h","t":"o","n":500}],"more":false}`,
		`/all.json?children=true&limitToLast=1&endBefore="b"`:                  `"children":[{"k":"a","t":"o","n":2}],"more":false}`,
		`/all/h.json?children=true&limitToLast=2`:                              `"count":500,"children":[{"k":"k498","t":"n","v":498},{"k":"k499","t":"n","v":499}],"more":true}`,
		`/all/h.json?children=true&limitToLast=2&descending=true`:              `[{"k":"k499","t":"n","v":499},{"k":"k498","t":"n","v":498}],"more":true}`,
		`/scores.json?children=true&orderBy="$value"&descending=true`:          `[{"k":"ana","t":"n","v":30},{"k":"cy","t":"n","v":20},{"k":"bo","t":"n","v":10}],"more":false}`,
		`/scores.json?children=true&orderBy="$value"&limitToLast=1&endAt=20`:   `[{"k":"cy","t":"n","v":20}],"more":true}`,
		`/scores.json?children=true&orderBy="name"`:                            `Index not defined`,
		`/leaf.json?children=true`:                                             `"count":0,"children":[],"more":false}`,
		`/all/none.json?children=true`:                                         `"count":0,"children":[],"more":false}`,
		`/narrow.json?children=true&limitToFirst=2`:                            `"children":[{"k":"a","t":"n","v":1},{"k":"b","t":"n","v":2}]}`,
		`/narrow.json?children=true`:                                           `Permission denied`,
		`/secret.json?children=true`:                                           `Permission denied`,
		`/all.json?children=true&limitToFirst=1001`:                            `A page has at most 1000 children`,
		`/all.json?children=yes`:                                               `children must be true or false`,
		`/all.json?descending=true`:                                            `descending goes with children=true`,
		`/all.json?children=true&shallow=true`:                                 `Mixing 'shallow' and children`,
		`/all.json?children=true&count=true`:                                   `Mixing count and children`,
		`/all.json?children=true&explain=true`:                                 `Mixing explain and children`,
		`/all.json?children=true&format=export`:                                `Mixing format and children`,
		`/all/f/.priority.json?children=true`:                                  `children is not supported for priorities`,
		`/all.json?children=true&limitToFirst=1&print=pretty&callback=showAll`: `showAll(`,
	} {
		path, query, _ := strings.Cut(target, "?")
		query = strings.ReplaceAll(url.PathEscape(query), "%3D", "=")
		got := ts.do(call{"GET", path + "?" + query, nil, ""})
		if !strings.Contains(got.body, want) {
			t.Errorf("%s: %d %.400s, want %s", target, got.StatusCode, got.body, want)
		}
	}
	if got := ts.admin("GET", "/all.json?children=true&format=export", ""); !strings.Contains(got.body, "Mixing format and children") {
		t.Errorf("children of an administrator's export: %d %.400s", got.StatusCode, got.body)
	}
	for _, header := range []http.Header{{"Accept": {"text/event-stream"}}, {"X-Firebase-Etag": {"true"}}, {"If-None-Match": {"x"}}} {
		if got := ts.do(call{"GET", "/all.json?children=true", header, ""}); got.StatusCode != http.StatusBadRequest {
			t.Errorf("%v: %d %s", header, got.StatusCode, got.body)
		}
	}
}

// Pages of any size, forward and backward, hold every key once.
func TestChildrenPages(t *testing.T) {
	tier.Unraced(t)
	ts := serveTest(t, Options{Dev: true})
	rows := make(map[string]any)
	for i := range 257 {
		rows[fmt.Sprintf("key %03d/", i)[:7]] = strings.Repeat("v", 40)
	}
	text, _ := json.Marshal(rows)
	ts.admin("PUT", "/rows.json", string(text))
	type page struct {
		Count    int
		Children []struct{ K string }
		More     bool
	}
	for _, size := range []int{1, 7, 256, 257, 1000} {
		for limit, bound := range map[string]string{"limitToFirst": "startAfter", "limitToLast": "endBefore"} {
			seen, at := make(map[string]bool), ""
			for more := true; more; {
				query := url.Values{"children": {"true"}, limit: {fmt.Sprint(size)}, "descending": {fmt.Sprint(limit == "limitToLast")}}
				if at != "" {
					query.Set(bound, `"`+at+`"`)
				}
				var p page
				got := ts.admin("GET", "/rows.json?"+query.Encode(), "")
				if err := json.Unmarshal([]byte(got.body), &p); err != nil || p.Count != len(rows) || len(p.Children) == 0 {
					t.Fatalf("%v: %s", query, got.body)
				}
				for _, c := range p.Children {
					if seen[c.K] {
						t.Fatalf("%s comes twice", c.K)
					}
					seen[c.K], at = true, c.K
				}
				more = p.More
			}
			if len(seen) != len(rows) {
				t.Errorf("%s=%d: %d keys, want %d", limit, size, len(seen), len(rows))
			}
		}
	}
}
