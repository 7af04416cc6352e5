package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/server/observe"
)

// A console keeps what is written to it by another goroutine.
type console struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(p)
}

func (c *console) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// take returns what was written since it was called last.
func (c *console) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.text.Reset()
	return c.text.String()
}

const membersOnly = `{"rules": {"rooms": {"$room": {".read": "auth != null && root.child('members').child(auth.uid).exists()"}}}}`

// A denied operation is explained on the console only.
func TestConsole(t *testing.T) {
	out := new(console)
	rs := parseRules(t, membersOnly)
	ts := serveTest(t, Options{Dev: true, Rules: rs, Decisions: observe.Decisions{
		Console:   out,
		RulesName: func(r *rules.Ruleset) string { return map[*rules.Ruleset]string{rs: "database.rules.json"}[r] },
	}})
	denied := call{"GET", "/rooms/r1.json?auth=" + unsigned(`{"sub":"ana"}`), nil, ""}
	if r := ts.do(denied); r.StatusCode != 401 || r.body != errorBody(textDenied) {
		t.Errorf("GET: %d %s", r.StatusCode, r.body)
	}
	ts.want("PUT", "/members/ana.json", "true", 200, "true")
	if r := ts.do(denied); r.StatusCode != 200 {
		t.Errorf("GET by a member: %d %s", r.StatusCode, r.body)
	}
	ts.spaces.reports.Close()
	want := `
fake-server: denied  read /rooms/r1  as "ana"
→ false    /rooms/$room/.read   database.rules.json:1:41   at /rooms/r1
           auth != null && root.child('members').child(auth.uid).exists()
`
	if got := out.String(); !strings.HasPrefix(got, want) || !strings.Contains(got, " /members/ana null\n") || strings.Count(got, "denied") != 1 {
		t.Errorf("the console has\n%s\nwant\n%s", got, want)
	}
}

// Clients are told the reason only if the server was asked to tell.
func TestTellDenied(t *testing.T) {
	o := Options{Dev: true, Rules: parseRules(t, membersOnly), Decisions: observe.Decisions{Tell: true}}
	const reason = `read /rooms/r1: /rooms/$room/.read (1:41) is false, because of: auth != null`
	want := "{\n  \"error\" : \"Permission denied\",\n  \"detail\" : \"" + reason + "\"\n}\n"
	n := onSocket(t, o)
	ts := &testServer{Server: n.Server, t: t}
	if r := ts.record(call{"GET", "/rooms/r1.json?ns=test", nil, ""}, 401); r.Body.String() != want {
		t.Errorf("GET: %s, want %s", r.Body, want)
	}
	c := n.connect("")
	c.send(`{"t":"d","d":{"r":1,"a":"q","b":{"p":"/rooms/r1","h":""}}}`)
	c.want(`{"t":"d","d":{"r":1,"b":{"s":"permission_denied","d":"Permission denied: ` + reason + `","rule":"/rooms/$room/.read"}}}`)
}

// deniedLine returns the line of a log about a denied operation.
func deniedLine(log *console) string {
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, `"operation denied"`) {
			return line
		}
	}
	return ""
}

// A server on a network logs denied operations, with values only among debug
// messages.
func TestDeniedLog(t *testing.T) {
	for _, c := range []struct {
		level  slog.Level
		values bool
	}{{slog.LevelInfo, false}, {slog.LevelDebug, true}} {
		out := new(console)
		ts := serveTest(t, Options{
			Namespaces: []string{"shop"}, AdminSecrets: []string{"sesame"}, Rules: parseRules(t, `{"rules":{"$a":{".write":"newData.val() == 'x'"}}}`),
			Log: slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: c.level})),
		})
		if r := ts.do(call{"PUT", "/a.json", http.Header{observe.HeaderRequestID: {"seven"}}, `"secret"`}); r.StatusCode != 401 || r.body != errorBody(textDenied) {
			t.Errorf("PUT: %d %s", r.StatusCode, r.body)
		}
		ts.spaces.reports.Close()
		var line struct{ Msg, Decision, Namespace, Operation, Rule, Outcome, Request string }
		first := deniedLine(out)
		if err := json.Unmarshal([]byte(first), &line); err != nil {
			t.Fatalf("log %q: %v", out, err)
		}
		if line.Msg != "operation denied" || line.Decision == "" || line.Namespace != "shop" || line.Operation != "write /a" || line.Rule != "/$a/.write" || line.Outcome != "false" || line.Request != "seven" {
			t.Errorf("log: %s", first)
		}
		if strings.Contains(out.String(), "secret") != c.values {
			t.Errorf("at level %s the log is\n%s", c.level, out)
		}
	}
}

// However long a path and a uid are, what is written about a denied operation is not.
func TestDeniedReportsAreShort(t *testing.T) {
	key := strings.Repeat("ключ", 96) // as long as a key may be
	path, uid := strings.Repeat("/"+key, 30), strings.Repeat("ü", 10_000)
	update := `{"` + path[1:] + `":1}`
	wide := strings.Replace(wideUpdate(observe.MaxExplainedPaths+1), "{", `{"`+path[1:]+`":1,`, 1)
	asks := [][2]string{
		{"q", `{"p":"` + path + `","h":""}`}, {"p", `{"p":"` + path + `","d":1}`},
		{"m", `{"p":"/","d":` + update + `}`}, {"m", `{"p":"/","d":` + wide + `}`},
	}
	for _, c := range []struct {
		name    string
		console bool
		level   slog.Level
		most    int // bytes of a line
	}{
		{"log", false, slog.LevelInfo, 4 * observe.MaxLogged},
		{"log for debugging", false, slog.LevelDebug, observe.MaxExplanation + 1<<10},
		{"console", true, slog.LevelInfo, observe.MaxExplanation + 1<<10},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := new(console)
			o := Options{Dev: true, Rules: parseRules(t, `{"rules":{"$a":{".read":false,".write":"auth.uid == 'ana'"}}}`)}
			if c.console {
				o.Decisions.Console = out
			} else {
				o.Log = slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: c.level}))
			}
			n := onSocket(t, o)
			client := n.connect("")
			client.do("auth", `{"cred":"`+unsigned(`{"sub":"`+uid+`"}`)+`"}`)
			for _, ask := range asks {
				client.request(ask[0], ask[1])
				client.next()
			}
			n.spaces.reports.Close()
			if got := strings.Count(out.String(), "denied"); got < len(asks) {
				t.Errorf("%d reports, want %d:\n%.1000s", got, len(asks), out)
			}
			for line := range strings.Lines(out.String()) {
				if len(line) > c.most {
					t.Errorf("a line of %d bytes: %.200s", len(line), line)
				}
			}
		})
	}
}

// What a realtime connection is denied is logged with its name, signed in or not.
func TestDeniedLogOfConnections(t *testing.T) {
	for _, uid := range []string{"", "ana"} {
		t.Run("as "+uid, func(t *testing.T) {
			out := new(console)
			n := onSocket(t, Options{Dev: true, Rules: parseRules(t, membersOnly), Log: slog.New(slog.NewJSONHandler(out, nil))})
			c := n.connect("")
			if uid != "" {
				c.do("auth", `{"cred":"`+unsigned(`{"sub":"`+uid+`"}`)+`"}`)
			}
			c.request("q", `{"p":"/rooms/r1","h":""}`)
			c.next()
			n.spaces.reports.Close()
			var line struct{ UID, Connection string }
			first := deniedLine(out)
			if err := json.Unmarshal([]byte(first), &line); err != nil {
				t.Fatalf("log %q: %v", out, err)
			}
			if line.UID != uid || line.Connection != "c1" {
				t.Errorf("log: %s", first)
			}
		})
	}
}

// A REST write where no rule can allow any is refused before its body, and seen like
// any other that is denied: on the console, by the client, in the recording.
func TestHopelessWritesAreObserved(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "decisions.jsonl")
	rec, err := observe.OpenRecorder(file)
	if err != nil {
		t.Fatal(err)
	}
	out := new(console)
	ts := serveTest(t, Options{Dev: true, Rules: parseRules(t, `{"rules":{"shut":{".write":false}}}`),
		Decisions: observe.Decisions{Console: out, Tell: true, Record: rec}})
	for _, c := range []struct{ method, path, detail string }{
		{"PUT", "/a.json", "write /a: there is no .write rule on the way to it"},
		{"PATCH", "/a/b.json", "write /a/b: there is no .write rule on the way to it"},
		{"DELETE", "/shut.json", "write /shut: /shut/.write (1:28) is false"},
		{"PUT", "/a/.priority.json", "write /a/.priority: there is no .write rule on the way to it"},
	} {
		r := ts.do(call{c.method, c.path, http.Header{"Content-Length": {"1000000"}}, `"`})
		want := "{\n  \"error\" : \"Permission denied\",\n  \"detail\" : \"" + c.detail + "\"\n}\n"
		if r.StatusCode != 401 || r.body != want {
			t.Errorf("%s %s: %d %s, want %s", c.method, c.path, r.StatusCode, r.body, want)
		}
	}
	if err := ts.shutdown(); err != nil {
		t.Fatal(err)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/a", "/a/b", "/shut", "/a/.priority"} {
		if want := "fake-server: denied  write " + path + "  as nobody"; strings.Count(out.String(), want) != 1 {
			t.Errorf("the console has not %q:\n%s", want, out)
		}
		if want := `"op":"write","path":"` + path + `","auth":null,"value":null,`; strings.Count(string(text), want) != 1 {
			t.Errorf("the recording has not %s:\n%s", want, text)
		}
	}
}

// wideUpdate returns an update of n paths, of which no rule allows the last.
func wideUpdate(n int) string {
	var b strings.Builder
	for i := range n - 1 {
		fmt.Fprintf(&b, `"a/%d":1,`, i)
	}
	return "{" + b.String() + `"b":"secret"}`
}

const wideRules = `{"rules":{"a":{".write":true},"b":{".write":"auth != null && newData.val() != 'secret'"}}}`

// An update of many paths is reported, but not explained: other writes would wait
// for that.
func TestWideUpdates(t *testing.T) {
	for _, c := range []struct {
		paths  int
		detail string
		text   string
	}{
		{observe.MaxExplainedPaths, "/b/.write", "denied  write /a/0 and 99 more  as nobody"},
		{observe.MaxExplainedPaths + 1, "", "\nfake-server: denied  update of 101 paths  as nobody\n  decided by /b/.write; an update of more than 100 paths is not explained\n"},
	} {
		out := new(console)
		ts := serveTest(t, Options{Dev: true, Rules: parseRules(t, wideRules), Decisions: observe.Decisions{Console: out, Tell: true, Coverage: true}})
		r := ts.do(call{"PATCH", "/.json", nil, wideUpdate(c.paths)})
		if r.StatusCode != 401 || !strings.Contains(r.body, c.detail) || strings.Contains(r.body, "detail") != (c.detail != "") {
			t.Errorf("PATCH of %d paths: %d %s", c.paths, r.StatusCode, r.body)
		}
		evaluated := ts.do(call{"GET", "/.inspect/coverage.json?ns=" + emulatorNamespace, nil, ""}).body
		var report rules.CoverageReport
		if err := json.Unmarshal([]byte(evaluated), &report); err != nil {
			t.Fatal(err)
		}
		if counted := report.Evaluated > 0; counted != (c.detail != "") {
			t.Errorf("%d paths are counted in the coverage: %t", c.paths, counted)
		}
		ts.spaces.reports.Close()
		if !strings.Contains(out.String(), c.text) {
			t.Errorf("of %d paths the console has\n%s\nwant\n%s", c.paths, out, c.text)
		}
	}
}

// The log has no values of a wide update, whatever its level, and its reports
// count among the others.
func TestWideUpdatesLog(t *testing.T) {
	out := new(console)
	ts := serveTest(t, Options{
		Namespaces: []string{"shop"}, AdminSecrets: []string{"sesame"}, Rules: parseRules(t, wideRules),
		Log: slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if r := ts.do(call{"PATCH", "/.json", nil, wideUpdate(300)}); r.StatusCode != 401 {
		t.Errorf("PATCH: %d %s", r.StatusCode, r.body)
	}
	ts.spaces.reports.Close()
	var line struct {
		Msg, Decision, Namespace, Operation, Rule string
		Request                                   string
		Paths                                     int
	}
	if err := json.Unmarshal([]byte(deniedLine(out)), &line); err != nil {
		t.Fatalf("log %q: %v", out, err)
	}
	if line.Msg != "operation denied" || line.Decision == "" || line.Namespace != "shop" || line.Operation != "update" || line.Paths != 300 || line.Rule != "/b/.write" || line.Request == "" {
		t.Errorf("log: %s", out)
	}
	if strings.Contains(out.String(), "secret") {
		t.Errorf("the log has a value: %s", out)
	}
}

func TestCoverage(t *testing.T) {
	ts := serveTest(t, Options{Dev: true, Decisions: observe.Decisions{Coverage: true}})
	report := func() (r rules.CoverageReport) {
		t.Helper()
		got := ts.do(call{"GET", "/.inspect/coverage.json?ns=" + emulatorNamespace, nil, ""})
		if err := json.Unmarshal([]byte(got.body), &r); err != nil || got.StatusCode != 200 {
			t.Fatalf("coverage: %d %s, %v", got.StatusCode, got.body, err)
		}
		return r
	}
	ts.want("PUT", "/.settings/rules.json", membersOnly, 200, answerOK)
	if r := report(); len(r.Rules) != 1 || !r.Rules[0].Never() {
		t.Errorf("at first: %+v", r)
	}
	ts.do(call{"GET", "/rooms/r1.json", nil, ""})
	if r := report(); r.Rules[0].False != 1 || r.Evaluated != 100 {
		t.Errorf("after a read: %+v", r)
	}
	page := ts.do(call{"GET", "/.inspect/coverage?ns=" + emulatorNamespace, nil, ""})
	if page.StatusCode != 200 || page.Header.Get("Content-Type") != typePage || !strings.Contains(page.body, "/rooms/$room") {
		t.Errorf("page: %d %v %.200s", page.StatusCode, page.Header, page.body)
	}
	ts.want("PUT", "/.settings/rules.json", membersOnly+" ", 200, answerOK)
	if r := report(); !r.Rules[0].Never() {
		t.Errorf("after new rules: %+v", r)
	}
}

// A server that does not count has no coverage to show.
func TestNoCoverage(t *testing.T) {
	ts := serveTest(t, Options{Namespaces: []string{"shop"}, AdminSecrets: []string{"sesame"}})
	for _, path := range []string{"/.inspect/coverage", "/.inspect/coverage.json"} {
		for _, c := range []struct {
			header http.Header
			status int
		}{{nil, 401}, {bearer("sesame"), 404}} {
			if r := ts.do(call{"GET", path, c.header, ""}); r.StatusCode != c.status {
				t.Errorf("GET %s: %d %s, want %d", path, r.StatusCode, r.body, c.status)
			}
		}
	}
}
