package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/dogwooddb/dogwood/server/observe"
	"github.com/dogwooddb/dogwood/tree"
)

const explainRules = `{"rules":{
  "rooms":{".indexOn":"type","$room":{".read":"auth.uid === $room",".write":"auth.uid === $room"},".read":"auth.uid === 'ana'"},
  "inbox":{"$user":{".write":"auth !== null"}}
}}`

// TestExplain: what is asked for with explain=true is decided as usual, and
// answered with what it takes.
func TestExplain(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	ts.want("PUT", "/.json", `{"rooms":{"ana":{"type":"a"},"bo":{"type":"b"}},"inbox":{"bo":1}}`, 200, `{"inbox":{"bo":1},"rooms":{"ana":{"type":"a"},"bo":{"type":"b"}}}`)
	if a := ts.admin("PUT", "/.settings/rules.json", explainRules); a.StatusCode != 200 {
		t.Fatal(a.body)
	}
	as := func(uid string) string { return "&auth=" + unsigned(`{"sub":"`+uid+`","iat":0,"exp":3600}`) }
	for _, test := range []struct {
		uid, method, target, body string
		status                    int
		want                      string // path=value of what must be answered
	}{
		{"ana", "GET", `/rooms.json?explain=true`, "", 200, "plan=node; results=2; rules.evaluated=1; rules.by="},
		{"ana", "GET", `/rooms.json?explain=true&print=pretty`, "", 200, "plan=node"},
		{"ana", "GET", `/rooms.json?explain=true&orderBy=%22type%22&equalTo=%22b%22`, "", 200, "plan=packed; index=type; results=1; query.equalTo=b; missingIndexOn.path="},
		{"ana", "GET", `/rooms.json?explain=true&orderBy=%22name%22&limitToFirst=1`, "", 200, "results=1; missingIndexOn.path=/rooms; missingIndexOn.indexOn.1=name; query.limitToFirst=1"},
		{"ana", "GET", `/rooms.json?explain=true&shallow=true`, "", 200, "plan=packed; results=2"},
		{"ana", "GET", `/rooms.json?explain=true&shallow=true&limitToFirst=1`, "", 200, "results=1"},
		{"bo", "GET", `/rooms.json?explain=true`, "", 401, "error=Permission denied; visited="},
		{"bo", "GET", `/rooms/bo.json?explain=true`, "", 200, "results=1; rules.evaluated=2"},
		{"bo", "GET", `/rooms/bo.json?explain=yes`, "", 400, "error=explain must be true or false"},
		{"bo", "GET", `/rooms/bo.json?explain=false`, "", 200, "type=b; plan="},
		{"bo", "GET", `/rooms/bo/.priority.json?explain=true`, "", 400, "error=explain is not supported for priorities"},
		{"bo", "PUT", `/rooms/bo.json?explain=true`, `{"type":"c"}`, 200, "plan=write; changes=true; bytes=12; rules.evaluated=1"},
		{"bo", "PUT", `/rooms/bo.json?explain=true`, `{"type":"c"}`, 200, "rows=; written=; indexEntries=; listeners=; cancelled="},
		{"bo", "PATCH", `/rooms/bo.json?explain=true`, `{"type":"b"}`, 200, "plan=write; changes=false"},
		{"bo", "POST", `/rooms/bo.json?explain=true`, `{"type":"c"}`, 200, "plan=write; changes=true; name="},
		{"bo", "DELETE", `/rooms/bo.json?explain=true`, "", 200, "plan=write; changes=true"},
		{"bo", "PUT", `/rooms/ana.json?explain=true`, `{"type":"c"}`, 401, "error=Permission denied; plan="},
		{"bo", "PUT", `/rooms/bo.json?explain=true`, `{"type"`, 400, "plan="},

		// A caller who may not read a path is not told whether a write changes it.
		{"ana", "PUT", `/inbox/bo.json?explain=true`, "1", 200, "plan=write; changes=; rows=; rules.allowed=true"},
		{"ana", "PUT", `/inbox/bo.json?explain=true`, "2", 200, "plan=write; changes=; rows=; rules.allowed=true"},
	} {
		got := ts.do(call{test.method, test.target + as(test.uid), nil, test.body})
		if got.StatusCode != test.status {
			t.Errorf("%s %s as %s: %d %s, want %d", test.method, test.target, test.uid, got.StatusCode, got.body, test.status)
		}
		for pair := range strings.SplitSeq(test.want, "; ") {
			checkMember(t, test.target, got.body, pair)
		}
	}
	ts.want("GET", "/.json", "", 200, `{"inbox":{"bo":1},"rooms":{"ana":{"type":"a"},"bo":{"type":"b"}}}`)

	// A condition is a guess: callers that may write and not read get the same answer whether
	// there is something at bo, or nothing at nobody.
	for tag, status := range map[string]int{"null_etag": 200, tree.Number(1).Hash(): 401, "xyz": 401} {
		var answers []string
		for _, user := range []string{"bo", "nobody"} {
			guess := http.Header{"If-Match": {tag}}
			got := ts.do(call{"PUT", "/inbox/" + user + ".json?explain=true" + as("ana"), guess, "1"})
			answers = append(answers, strings.Replace(got.body, "/inbox/"+user, "", 1))
			if got.StatusCode != status || answers[0] != answers[len(answers)-1] {
				t.Errorf("a write to %s with the condition %s is explained with %d %s, want %d", user, tag, got.StatusCode, got.body, status)
			}
		}
	}

	stale := http.Header{"Authorization": {"Bearer owner"}, "If-Match": {"no"}}
	if got := ts.do(call{"PUT", "/rooms/bo.json?explain=true", stale, "1"}); got.StatusCode != http.StatusPreconditionFailed {
		t.Errorf("a condition that does not hold is explained with %d %s", got.StatusCode, got.body)
	}
	events := http.Header{"Authorization": {"Bearer owner"}, "Accept": {"text/event-stream"}}
	if got := ts.do(call{"GET", "/rooms.json?explain=true", events, ""}); got.StatusCode != http.StatusBadRequest {
		t.Errorf("an explained event stream is answered with %d %s", got.StatusCode, got.body)
	}
}

// TestExplainTellsNothingOfOthers: a caller that may read a node only through a query is told the same
// about it, however many children of others there are.
func TestExplainTellsNothingOfOthers(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	if a := ts.admin("PUT", "/.settings/rules.json", `{"rules":{"notes":{".read":"query.orderByChild === 'owner' && query.equalTo === auth.uid"}}}`); a.StatusCode != 200 {
		t.Fatal(a.body)
	}
	const target = `/notes.json?explain=true&orderBy=%22owner%22&equalTo=%22ana%22`
	var answers []string
	for _, others := range []string{"", `,"b":{"owner":"bo"}`, `,"b":{"owner":"bo"},"c":{"owner":"cy"}`} {
		ts.admin("PUT", "/notes.json", `{"a":{"owner":"ana"}`+others+`}`)
		got := ts.do(call{"GET", target + "&auth=" + unsigned(`{"sub":"ana","iat":0,"exp":3600}`), nil, ""})
		rev := `"revision":` + gjson.Get(got.body, "revision").Raw
		answers = append(answers, strings.Replace(got.body, rev, "", 1))
		if got.StatusCode != 200 || answers[0] != answers[len(answers)-1] {
			t.Errorf("with%s: %d %s, without others %s", others, got.StatusCode, got.body, answers[0])
		}
		checkMember(t, target, got.body, "results=1")
	}
	checkMember(t, target, ts.admin("GET", target, "").body, "visited=3")
}

// checkMember checks that an answer has a member with a value, or has not one if
// that is empty.
func checkMember(t *testing.T, target, body, pair string) {
	t.Helper()
	path, want, _ := strings.Cut(pair, "=")
	if got := gjson.Get(body, path); got.String() != want {
		t.Errorf("%s: %s is %q, want %q: %s", target, path, got.String(), want, body)
	}
}

// TestExplainTellsRule: which rule decided is told where clients are told why they
// are denied.
func TestExplainTellsRule(t *testing.T) {
	for _, tell := range []bool{false, true} {
		ts := serveTest(t, Options{Dev: true, Decisions: observe.Decisions{Tell: tell}})
		if a := ts.admin("PUT", "/.settings/rules.json", `{"rules":{"a":{".read":"root.child('hidden').val() == null"},"b":{".write":true}}}`); a.StatusCode != 200 {
			t.Fatal(a.body)
		}
		want := map[bool]string{true: "/a/.read"}[tell]
		got := ts.do(call{"GET", "/a/b.json?explain=true", nil, ""})
		if by := gjson.Get(got.body, "rules.by"); got.StatusCode != 200 || by.String() != want {
			t.Errorf("%d %s, want by %q", got.StatusCode, got.body, want)
		}
		if rows := gjson.Get(got.body, "rules.rows"); rows.Exists() && !tell {
			t.Errorf("everybody is told of %s rows that the rules read", rows)
		}
		for name, header := range map[string]http.Header{"everybody": nil, "an administrator": {"Authorization": {"Bearer owner"}}} {
			got := ts.do(call{"PUT", "/b.json?explain=true", header, "1"})
			if told := gjson.Get(got.body, "listeners").Exists(); got.StatusCode != 200 || told != (tell || header != nil) {
				t.Errorf("%s, TellRules %t: %d %s", name, tell, got.StatusCode, got.body)
			}
		}
	}
}
