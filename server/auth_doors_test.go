package server

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
)

// doors are those of one server.
type doors struct {
	*testServer
	n    *network
	kept net.Conn // of the last request, if the server keeps it
	from *bufio.Reader
}

// requests are the doors of REST. Those for data are at what is ana's.
var requests = []struct{ name, method, target, body string }{
	{"GET", "GET", "/users/ana.json", ""},
	{"PUT", "PUT", "/users/ana.json", "1"},
	{"PATCH", "PATCH", "/users/ana.json", `{"a":1}`},
	{"POST", "POST", "/users/ana.json", "1"},
	{"DELETE", "DELETE", "/users/ana.json", ""},
	{"HEAD", "HEAD", "/users/ana.json", ""},
	{"batch", "POST", "/.batch.json", `{"get":[{"path":"/users/ana"}]}`},
	{"count", "GET", "/users/ana.json?count=true", ""},
	{"children", "GET", "/users/ana.json?children=true", ""},
	{"where", "GET", "/users/ana.json?where=true", ""},
	{"readable", "GET", "/users.json?readable=true", ""},
	{"explain", "GET", "/users/ana.json?explain=true", ""},
	{"explain-write", "PUT", "/users/ana.json?explain=true", "1"},
	{"stream", "GET", "/users/ana.json", ""},
	{"get-rules", "GET", "/.settings/rules.json", ""},
	{"put-rules", "PUT", "/.settings/rules.json", matrixRules},
	{"get-size", "GET", "/.settings/defaultWriteSizeLimit.json", ""},
	{"put-size", "PUT", "/.settings/defaultWriteSizeLimit.json", `"large"`},
	{"put-strict", "PUT", "/.settings/strictTriggerValidation.json", "true"},
	{"triggers", "POST", "/.settings/functionTriggers.json", "{}"},
	{"databases", "GET", "/.inspect/databases.json", ""},
	{"indexes", "GET", "/.inspect/indexes.json", ""},
	{"versions", "GET", "/.settings/rules/versions.json", ""},
	{"version", "GET", "/.settings/rules/versions/1.json", ""},
	{"rollback", "POST", "/.settings/rules/rollback.json", `{"version":1}`},
	{"get-data", "GET", "/.settings/data.json", ""},
	{"put-data", "PUT", "/.settings/data.json", `{"format":"dogwood-data/1","define":{}}`},
	{"data-versions", "GET", "/.settings/data/versions.json", ""},
	{"data-version", "GET", "/.settings/data/versions/1.json", ""},
	{"data-rollback", "POST", "/.settings/data/rollback.json", `{"version":1}`},
	{"data-status", "GET", "/.settings/data/status.json", ""},
	{"data-pause", "POST", "/.settings/data/none/pause.json", ""},
	{"backup", "GET", "/.settings/backup", ""},
	{"log", "GET", "/.settings/log.json", ""},
	{"get-now", "GET", "/.settings/now.json", ""},
	{"put-now", "PUT", "/.settings/now.json", "null"},
	{"coverage", "GET", "/.inspect/coverage", ""},
	{"coverage-json", "GET", "/.inspect/coverage.json", ""},
	{"profile", "GET", "/.settings/profile.json", ""},
	{"top", "GET", "/.inspect/top.json", ""},
	{"metrics", "GET", "/metrics", ""},
	{"health", "GET", "/healthz", ""},
	{"ready", "GET", "/readyz", ""},
	{"export", "GET", "/users/ana.json?format=export", ""},
	{"import", "PUT", "/users/ana.json?writeSizeLimit=unlimited", `"` + strings.Repeat("x", bulkFrom+1) + `"`},
}

// try presents a credential at every door.
func (d *doors) try(t *testing.T, credential string) string {
	var out strings.Builder
	for _, way := range []string{"auth=", "access_token=", "Bearer"} {
		var outcomes []string
		at := map[string][]string{}
		for _, r := range requests {
			if r.name == "import" && way != "Bearer" && !importsEachWay() {
				continue
			}
			outcome := d.request(way, credential, r.name, call{method: r.method, target: inTest(r.target), body: r.body})
			if !slices.Contains(outcomes, outcome) {
				outcomes = append(outcomes, outcome)
			}
			at[outcome] = append(at[outcome], r.name)
		}
		for _, outcome := range outcomes {
			fmt.Fprintf(&out, "%-14s %s: %s\n", way, outcome, strings.Join(at[outcome], " "))
		}
	}
	for _, action := range []string{"auth", "gauth"} {
		fmt.Fprintf(&out, "%-14s %s\n", "socket "+action, d.socket(t, action, credential))
		fmt.Fprintf(&out, "%-14s %s\n", "poll "+action, d.poll(t, action, credential))
	}
	fmt.Fprintf(&out, "%-14s %s\n", "/token", d.token(credential))
	return out.String()
}

// importsEachWay reports whether the import is tried with a credential in each of its places. It takes a body
// of some MiB, so below tier long only a header has it.
func importsEachWay() bool {
	return tier.Current() == tier.Long || flag.Lookup("rewrite").Value.String() == "true"
}

// importedOnce returns what try returns if it tries the import only with a header.
func importedOnce(outcomes string) string {
	var b strings.Builder
	for line := range strings.Lines(outcomes) {
		if strings.HasPrefix(line, "auth=") || strings.HasPrefix(line, "access_token=") {
			line = strings.Replace(line, " import\n", "\n", 1)
		}
		b.WriteString(line)
	}
	return b.String()
}

// inTest adds the database test to the parameters of a target.
func inTest(target string) string {
	if strings.Contains(target, "?") {
		return target + "&ns=test"
	}
	return target + "?ns=test"
}

// request presents a credential to REST and returns the outcome.
func (d *doors) request(way, credential, name string, c call) string {
	c.header = http.Header{}
	switch {
	case way == "Bearer" && credential != "":
		c.header.Set("Authorization", "Bearer "+credential)
	case way != "Bearer" && credential != "":
		c.target += "&" + way + url.QueryEscape(credential)
	}
	if name == "stream" {
		c.header.Set("Accept", "text/event-stream")
	}
	r, done := d.answer(way+" "+name, c)
	defer done()
	if name == "batch" && r.StatusCode == http.StatusOK {
		return batchOutcome(d.t, r.Body)
	}
	if name == "readable" && r.StatusCode == http.StatusOK {
		return readableOutcome(d.t, r.Body)
	}
	if r.StatusCode == http.StatusOK || r.StatusCode == http.StatusNotImplemented { // to whom it would be done
		return "allowed"
	}
	var body struct{ Error string }
	if c.method == http.MethodHead {
		return fmt.Sprint(r.StatusCode)
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		d.t.Fatalf("%s %s: %d, %v", way, name, r.StatusCode, err)
	}
	return fmt.Sprintf("%d %s", r.StatusCode, body.Error)
}

// answer makes a request, on the connection of the one before if that was kept. The caller
// calls done when it has read what it wants of the answer.
func (d *doors) answer(name string, c call) (r *http.Response, done func()) {
	if d.kept == nil {
		conn := d.open()
		d.t.Cleanup(func() { conn.Close() })
		d.kept, d.from = conn, bufio.NewReader(conn)
	}
	conn := d.kept
	go conn.Write(c.text()) // a server that refuses early need not read it all
	r, err := http.ReadResponse(d.from, &http.Request{Method: c.method})
	if err != nil {
		d.t.Fatalf("%s: %v", name, err)
	}
	return r, func() {
		if r.ContentLength >= 0 && !r.Close {
			if _, err := io.Copy(io.Discard, r.Body); err == nil {
				return
			}
		}
		conn.Close() // and not the body, which for a stream has no end
		d.kept = nil
	}
}

// readableOutcome tells whether there is anything that the caller may read.
func readableOutcome(t testing.TB, body io.Reader) string {
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) == "null" {
		return "200 null"
	}
	return "allowed"
}

// batchOutcome returns what became of the one entry of a batch.
func batchOutcome(t testing.TB, body io.Reader) string {
	var answer struct{ Results []struct{ Error string } }
	if err := json.NewDecoder(body).Decode(&answer); err != nil || len(answer.Results) != 1 {
		t.Fatalf("batch: %+v, %v", answer, err)
	}
	if text := answer.Results[0].Error; text != "" {
		return "200 " + text
	}
	return "allowed"
}

// socket presents a credential in a WebSocket, tries a write as the caller that
// made the client, and returns both outcomes.
func (d *doors) socket(t *testing.T, action, credential string) string {
	c := d.n.connect("")
	c.t = t
	defer c.ws.Close()
	ask := func(action, body string) string {
		c.request(action, body)
		return replyOutcome(c.next())
	}
	outcome := ask(action, credentialBody(credential))
	for _, r := range socketRequests {
		outcome += ", " + r.name + ": " + ask(r.action, r.body)
	}
	return outcome
}

// socketRequests are the doors of the realtime protocol.
var socketRequests = []struct{ name, action, body string }{
	{"write", "p", `{"p":"/users/ana","d":1}`},
	{"batch", "bg", `{"g":[{"p":"/users/ana"}]}`},
	{"count", "cn", `{"p":"/users/ana"}`},
	{"list", "ls", `{"p":"/users/ana"}`},
	{"get-if", "g", `{"p":"/users/ana","q":{},"h":""}`},
	{"returning", "p", `{"p":"/users/ana","d":{".sv":"timestamp"},"v":1}`},
	{"only-if", "o", `{"p":"/users/ana","d":1,"if":{"p":"","d":1}}`},
	{"explain", "x", `{"p":"/users/ana"}`},
}

// poll is socket over long polling.
func (d *doors) poll(t *testing.T, action, credential string) string {
	b := d.n.browser()
	b.t = t
	b.start("")
	signIn := b.next(ask(1, action, credentialBody(credential)))
	outcome := replyOutcome(signIn[0])
	for i, r := range socketRequests {
		outcome += ", " + r.name + ": " + replyOutcome(b.next(ask(2+i, r.action, r.body))[0])
	}
	b.get("disconn=t&id=" + b.id + "&pw=" + b.password)
	b.http.CloseIdleConnections()
	return outcome
}

func credentialBody(credential string) string {
	body, _ := json.Marshal(map[string]string{"cred": credential})
	return string(body)
}

func replyOutcome(text string) string {
	var m struct {
		D struct {
			B struct {
				S string
				D json.RawMessage
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return err.Error()
	}
	var refused []struct{ S, D string } // of a batch
	var all struct{ V json.RawMessage }
	if json.Unmarshal(m.D.B.D, &all) == nil && json.Unmarshal(all.V, &refused) == nil && refused[0].S != "" {
		return fmt.Sprintf("ok: %s (%s)", refused[0].S, refused[0].D)
	}
	if m.D.B.S == "ok" {
		return "allowed"
	}
	var why string
	if err := json.Unmarshal(m.D.B.D, &why); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s (%s)", m.D.B.S, why)
}

// token presents a credential as an assertion.
func (d *doors) token(credential string) string {
	r := d.post(credential)
	if r.StatusCode == http.StatusOK || r.StatusCode == http.StatusNotImplemented { // to whom it would be done
		return "allowed"
	}
	var body struct{ Error string }
	if err := json.Unmarshal([]byte(r.body), &body); err != nil || r.Header.Get("Cache-Control") != "no-store" {
		d.t.Errorf("POST /token: %v %s, %v", r.Header, r.body, err)
	}
	return fmt.Sprintf("%d %s", r.StatusCode, body.Error)
}

func (d *doors) post(assertion string) result {
	form := url.Values{"grant_type": {jwtBearer}, "assertion": {assertion}}
	return d.do(call{"POST", "/token", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, form.Encode()})
}

// exchange returns an access token.
func (d *doors) exchange(t *testing.T, assertion string) string {
	t.Helper()
	r := d.post(assertion)
	var body struct {
		Token   string `json:"access_token"`
		Type    string `json:"token_type"`
		Expires int    `json:"expires_in"`
	}
	if err := json.Unmarshal([]byte(r.body), &body); err != nil || r.StatusCode != 200 || body.Type != "Bearer" || body.Expires != 3600 || body.Token == "" {
		t.Fatalf("exchange: %d %s, %v", r.StatusCode, r.body, err)
	}
	return body.Token
}
