package server

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/dogwooddb/dogwood/internal/tier"
)

// A vector is one case of rest-cases.json (REST §18).
type vector struct {
	Name        string
	Setup       json.RawMessage
	Rules       json.RawMessage
	Mode        string
	Request     vectorRequest
	Response    vectorResponse
	After       map[string]any
	AfterExport map[string]any
	Stream      []vectorStep
}

type vectorRequest struct {
	Method, Path, RawQuery, Body string
	Query, Headers               map[string]string
	Auth                         json.RawMessage
}

type vectorResponse struct {
	Status       json.RawMessage
	BodyJSON     json.RawMessage
	BodyText     *string
	BodyPattern  string
	ErrorPattern string
	BodyEmpty    bool
	Headers      map[string]json.RawMessage
}

type vectorStep struct {
	Event    string
	Data     json.RawMessage
	Write    *vectorRequest
	SetRules json.RawMessage
}

const vectorSecret = "owner" // of the server that is no emulator

func TestRestVectors(t *testing.T) {
	tier.Unraced(t)
	src, err := os.ReadFile("../testdata/vectors/rest-cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(src, &vectors); err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range vectors {
		names = append(names, fmt.Sprintf("case-%d", i))
	}
	emulator := serveTest(t, Options{Dev: true})
	production := serveTest(t, Options{Namespaces: names, AdminSecrets: []string{vectorSecret}})
	for i, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			run := &vectorRun{vector: v, ns: names[i]}
			on := *emulator
			if v.Mode == "production" {
				on = *production
			}
			on.t, run.server = t, &on
			if problem := run.run(); problem != "" {
				t.Error(problem)
			}
		})
	}
}

// A vectorRun is one vector on its own namespace.
type vectorRun struct {
	vector
	server *testServer
	ns     string
}

// run returns what went wrong, "" if nothing did.
func (v *vectorRun) run() string {
	if problem := v.prepare(); problem != "" {
		return problem
	}
	c, err := v.call(v.Request)
	if err != nil {
		return err.Error()
	}
	if v.Stream != nil {
		return v.follow(c)
	}
	if problem := v.check(v.server.do(c)); problem != "" {
		return problem
	}
	return v.checkAfter()
}

func (v *vectorRun) prepare() string {
	if len(v.Setup) > 0 && string(v.Setup) != "null" {
		r := v.server.admin("PUT", "/.json?writeSizeLimit=unlimited&ns="+v.ns, string(v.Setup))
		if r.StatusCode != 200 {
			return fmt.Sprintf("setup: %d %s", r.StatusCode, r.body)
		}
	}
	src := v.Rules
	if src == nil && v.Mode == "production" {
		src = json.RawMessage(`{"rules":{".read":true,".write":true}}`)
	}
	return v.setRules(src)
}

func (v *vectorRun) setRules(src json.RawMessage) string {
	if src == nil {
		return ""
	}
	text := string(src)
	if src[0] == '"' {
		if err := json.Unmarshal(src, &text); err != nil {
			return err.Error()
		}
	}
	if r := v.server.admin("PUT", "/.settings/rules.json?ns="+v.ns, text); r.StatusCode != 200 {
		return fmt.Sprintf("rules: %d %s", r.StatusCode, r.body)
	}
	return ""
}

// call builds the request of a vector.
func (v *vectorRun) call(r vectorRequest) (call, error) {
	c := call{method: r.Method, header: http.Header{}, body: r.Body}
	query := r.RawQuery
	for name, value := range r.Query {
		query += "&" + url.QueryEscape(name) + "=" + url.QueryEscape(value)
	}
	inHost := false
	for name, value := range r.Headers {
		if tagged, ok := strings.CutPrefix(value, "$ETAG("); ok {
			tag, err := v.tag(r.Path, strings.TrimSuffix(tagged, ")"))
			if err != nil {
				return c, err
			}
			value = tag
		}
		inHost = inHost || strings.EqualFold(name, "Host")
		c.header.Set(name, strings.ReplaceAll(value, "$NS", v.ns))
	}
	if !inHost {
		query += "&ns=" + v.ns
	}
	auth, err := v.credential(r.Auth, c.header)
	if err != nil {
		return c, err
	}
	c.target = r.Path + "?" + strings.TrimPrefix(query+auth, "&")
	return c, nil
}

// credential adds the caller to a request, to its header or as query text.
func (v *vectorRun) credential(auth json.RawMessage, h http.Header) (string, error) {
	switch {
	case auth == nil:
		return "", nil
	case string(auth) == `"admin"`:
		h.Set("Authorization", "Bearer owner")
		return "", nil
	}
	token := map[string]any{"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	if err := json.Unmarshal(auth, &token); err != nil {
		return "", err
	}
	if v.Mode == "production" { // which believes what is signed only
		token["uid"] = token["user_id"]
		signed, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims(token)).SignedString([]byte(vectorSecret))
		return "&auth=" + signed, err
	}
	src, err := json.Marshal(token)
	return "&auth=" + unsigned(string(src)), err
}

// tag returns the ETag of a path, which must have the given value.
func (v *vectorRun) tag(path, value string) (string, error) {
	r := v.server.do(call{"GET", path + "?ns=" + v.ns, http.Header{"X-Firebase-Etag": {"true"}, "Authorization": {"Bearer owner"}}, ""})
	if r.body != value {
		return "", fmt.Errorf("value is %s, want %s", r.body, value)
	}
	return r.Header.Get("ETag"), nil
}

func (v *vectorRun) check(r result) string {
	if !v.statusOK(r.StatusCode) {
		return fmt.Sprintf("status %d with %s, want %s", r.StatusCode, r.body, v.Response.Status)
	}
	if problem := v.checkHeaders(r.Header); problem != "" {
		return problem
	}
	w := v.Response
	switch {
	case w.BodyEmpty && r.body != "":
		return fmt.Sprintf("body %q, want none", r.body)
	case w.BodyText != nil && r.body != *w.BodyText:
		return fmt.Sprintf("body %q, want %q", r.body, *w.BodyText)
	case w.BodyJSON != nil:
		return sameJSON("body", r.body, string(w.BodyJSON))
	case !regexp.MustCompile(w.BodyPattern).MatchString(r.body):
		return fmt.Sprintf("body %q does not match %s", r.body, w.BodyPattern)
	case w.ErrorPattern != "":
		return checkError(r.body, w.ErrorPattern)
	}
	return ""
}

func (v *vectorRun) statusOK(status int) bool {
	var one int
	if json.Unmarshal(v.Response.Status, &one) == nil {
		return status == one
	}
	var several []int
	return json.Unmarshal(v.Response.Status, &several) == nil && slices.Contains(several, status)
}

func checkError(body, pattern string) string {
	var e struct{ Error string }
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		return fmt.Sprintf("body %q: %v", body, err)
	}
	if !regexp.MustCompile(pattern).MatchString(e.Error) {
		return fmt.Sprintf("error %q does not match %s", e.Error, pattern)
	}
	return ""
}

func (v *vectorRun) checkHeaders(h http.Header) string {
	for name, want := range v.Response.Headers {
		if problem := checkHeader(h.Values(name), want); problem != "" {
			return "header " + name + " is " + problem
		}
	}
	return ""
}

// checkHeader compares a header with a text, null for none, or {"pattern":…}.
func checkHeader(values []string, want json.RawMessage) string {
	got := strings.Join(values, ", ")
	var text string
	var pattern struct{ Pattern string }
	var ok bool
	switch {
	case string(want) == "null":
		ok = values == nil
	case json.Unmarshal(want, &text) == nil:
		ok = got == text
	case json.Unmarshal(want, &pattern) == nil:
		ok = matches(pattern.Pattern, got)
	}
	if !ok {
		return fmt.Sprintf("%q, want %s", got, want)
	}
	return ""
}

// matches is a regular expression match that understands "^(?!word)", which
// the vectors use and Go does not have.
func matches(pattern, s string) bool {
	if rest, ok := strings.CutPrefix(pattern, "^(?!"); ok {
		word, rest, _ := strings.Cut(rest, ")")
		return !strings.HasPrefix(s, word) && regexp.MustCompile("^"+rest).MatchString(s)
	}
	return regexp.MustCompile(pattern).MatchString(s)
}

func (v *vectorRun) checkAfter() string {
	for query, after := range map[string]map[string]any{"": v.After, "&format=export": v.AfterExport} {
		for path, want := range after {
			r := v.server.admin("GET", path+".json?ns="+v.ns+query, "")
			src, err := json.Marshal(want)
			if err != nil {
				return err.Error()
			}
			if problem := sameJSON("afterwards "+path, r.body, string(src)); problem != "" {
				return problem
			}
		}
	}
	return ""
}

func sameJSON(what, got, want string) string {
	var a, b any
	if err := json.Unmarshal([]byte(got), &a); err != nil {
		return fmt.Sprintf("%s is %q: %v", what, got, err)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		return err.Error()
	}
	if !reflect.DeepEqual(a, b) {
		return fmt.Sprintf("%s is %.300s, want %.300s", what, got, want)
	}
	return ""
}

// follow opens an event stream and walks through the steps.
func (v *vectorRun) follow(c call) string {
	conn, req := v.server.send(c)
	defer conn.Close()
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, req)
	if err != nil {
		return err.Error()
	}
	if !v.statusOK(resp.StatusCode) {
		return fmt.Sprintf("status %d, want %s", resp.StatusCode, v.Response.Status)
	}
	if problem := v.checkHeaders(resp.Header); problem != "" {
		return problem
	}
	events := bufio.NewReader(resp.Body)
	for i, step := range v.Stream {
		if problem := v.step(step, events); problem != "" {
			return fmt.Sprintf("step %d: %s", i+1, problem)
		}
	}
	return ""
}

func (v *vectorRun) step(s vectorStep, events *bufio.Reader) string {
	switch {
	case s.Write != nil:
		r := v.server.admin(s.Write.Method, s.Write.Path+"?ns="+v.ns, s.Write.Body)
		if r.StatusCode != 200 {
			return fmt.Sprintf("write: %d %s", r.StatusCode, r.body)
		}
		return ""
	case s.SetRules != nil:
		return v.setRules(s.SetRules)
	}
	name, data, err := readEvent(events)
	switch {
	case err != nil:
		return err.Error()
	case name != s.Event:
		return fmt.Sprintf("event %s %s, want %s", name, data, s.Event)
	case s.Data != nil:
		return sameJSON("data", data, string(s.Data))
	}
	return ""
}

// readEvent reads the next event that is no keep-alive: exactly two lines, an
// id if the database has a log, and an empty line.
func readEvent(r *bufio.Reader) (name, data string, err error) {
	var lines [3]string
	for i := range lines {
		if lines[i], err = r.ReadString('\n'); err != nil {
			return "", "", err
		}
	}
	if strings.HasPrefix(lines[2], "id: ") {
		if lines[2], err = r.ReadString('\n'); err != nil {
			return "", "", err
		}
	}
	name, ok1 := strings.CutPrefix(lines[0], "event: ")
	data, ok2 := strings.CutPrefix(lines[1], "data: ")
	if !ok1 || !ok2 || lines[2] != "\n" {
		return "", "", fmt.Errorf("event is %q", lines)
	}
	if name == "keep-alive\n" {
		return readEvent(r)
	}
	return strings.TrimSpace(name), strings.TrimSpace(data), nil
}
