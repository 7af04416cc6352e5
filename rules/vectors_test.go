package rules

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/tree"
)

func vectors(t testing.TB, name string, into any) {
	t.Helper()
	data, err := os.ReadFile("../testdata/vectors/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

// rulesText returns the text of rules that a vector gives as text or as JSON.
func rulesText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// ruleTexts returns the rules of all cases, as seeds.
func ruleTexts(t testing.TB) []string {
	var cases []struct{ Rules json.RawMessage }
	vectors(t, "rules-cases.json", &cases)
	var texts []string
	for _, c := range cases {
		texts = append(texts, rulesText(c.Rules))
	}
	return texts
}

// A caseQuery is the query of a vector.
type caseQuery struct {
	OrderByKey, OrderByValue, OrderByPriority bool
	OrderByChild                              string
	StartAt, EndAt, EqualTo                   json.RawMessage
	LimitToFirst, LimitToLast                 int
}

// query returns the query as it comes from a client.
func (c *caseQuery) query() tree.Query {
	q := tree.Query{OrderBy: c.OrderByChild}
	switch {
	case c.OrderByKey:
		q.OrderBy = tree.ByKey
	case c.OrderByValue:
		q.OrderBy = tree.ByValue
	case c.OrderByPriority:
		q.OrderBy = tree.ByPriority
	}
	bound := func(b *tree.Bound, text json.RawMessage, rank tree.KeyRank) {
		if text != nil {
			*b = tree.Bound{Set: true, Value: tree.MustParseNode(string(text)), KeyRank: rank}
		}
	}
	bound(&q.Start, c.StartAt, tree.BeforeKeys)
	bound(&q.End, c.EndAt, tree.AfterKeys)
	bound(&q.Start, c.EqualTo, tree.BeforeKeys)
	bound(&q.End, c.EqualTo, tree.AfterKeys)
	if q.Limit = c.LimitToFirst; c.LimitToLast > 0 {
		q.Limit, q.FromLast = c.LimitToLast, true
	}
	return q
}

// A caseOp is the operation of a vector.
type caseOp struct {
	Kind, Op, Path string
	Value, Values  json.RawMessage
	Query          json.RawMessage // a caseQuery
}

// request returns the request of a vector. A read without query is one over REST
// or over the realtime protocol.
func (c *caseOp) request(t *testing.T, rest bool, now float64, data, auth json.RawMessage) *Request {
	q := &Request{Op: OpWrite, Data: stored{tree.MustParseNode(string(data))}, Now: time.UnixMilli(int64(now))}
	q.Auth = NewAuth(string(auth))
	switch c.Kind + c.Op {
	case "write", "set":
		q.Writes = writesAt(t, q.Now, q.Data, false, c.Path, string(c.Value))
	case "update":
		if c.Values == nil {
			c.Values = c.Value
		}
		q.Writes = writesAt(t, q.Now, q.Data, true, c.Path, string(c.Values))
	case "read", "query-read", "get":
		q.Op, q.Path = OpRead, tree.MustParsePath(c.Path)
		switch {
		case c.Query != nil:
			var query caseQuery
			if err := json.Unmarshal(c.Query, &query); err != nil {
				t.Fatal(err)
			}
			q.Query = query.query()
		case rest:
			q.Plain, q.Query.OrderBy = true, tree.ByKey
		default:
			q.Plain = true
		}
	default:
		t.Fatalf("unknown operation %q", c.Kind+c.Op)
	}
	return q
}

// verdict decides a request both ways.
func verdict(t *testing.T, r *Ruleset, q *Request) string {
	t.Helper()
	d := check(t, r, q)
	x, err := r.Explain(t.Context(), q)
	if err != nil || x.Decision != d {
		t.Errorf("Explain = %+v, %v, Check = %v", x, err, d)
	}
	if d.Allow {
		return "allow"
	}
	return "deny"
}

func TestRulesCases(t *testing.T) {
	var cases []struct {
		Name              string
		Rules, Data, Auth json.RawMessage
		Now               float64
		Op                caseOp
		Expect, Why       string
	}
	vectors(t, "rules-cases.json", &cases)
	if len(cases) != 301 {
		t.Errorf("%d cases, want 301", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			r, err := Parse(rulesText(c.Rules))
			if err != nil {
				if c.Expect != "compile-error" {
					t.Errorf("Parse: %v, want %s", err, c.Expect)
				}
				return
			}
			if c.Expect == "compile-error" {
				t.Fatalf("Parse accepts it: %s", c.Why)
			}
			if c.Now == 0 {
				c.Now = testNow
			}
			q := c.Op.request(t, true, c.Now, c.Data, c.Auth)
			if got := verdict(t, r, q); got != c.Expect {
				t.Errorf("%s, want %s: %s", got, c.Expect, c.Why)
			}
		})
	}
}

// rejection returns the message of a document's only error, or "".
func rejection(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var errs Errors
	if !errors.As(err, &errs) || len(errs) != 1 {
		t.Fatalf("Parse: %v, want one error", err)
	}
	return errs[0].Msg
}

// document returns the rules with one expression at a place.
func (c *recording) document(expression string) string {
	var b, end strings.Builder
	b.WriteString(`{"rules":`)
	for key := range strings.SplitSeq(strings.Trim(c.When.At, "/"), "/") {
		b.WriteString(`{"` + key + `":`)
		end.WriteString("}")
	}
	text, _ := json.Marshal(expression)
	return b.String() + `{".` + c.When.Kind + `":` + string(text) + "}}" + end.String()
}

// A recording is an observation of the hosted service.
type recording struct {
	Name, Area string
	Given      struct{ Rules, Data, Auth json.RawMessage }
	When       struct {
		caseOp
		Via, At, Expression, Template string
		Body                          json.RawMessage
		Samples                       map[string]string
		Steps                         []json.RawMessage
	}
	Then struct {
		Verdict  string
		Status   int
		Message  string
		Accepted []string
		Refused  map[string][]string
	}
}

func TestRecordings(t *testing.T) {
	var cases []recording
	vectors(t, "prod-observations.json", &cases)
	decided := make(map[string]int)
	for _, c := range cases {
		if !strings.HasPrefix(c.Area, "rules-") && (c.When.Via != "socket" || c.Then.Verdict == "" || c.Given.Rules == nil) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			kind := c.When.Op
			switch {
			case c.When.Op == "rules-dry-run":
				_, err := Parse(c.document(c.When.Expression))
				c.wantMessage(t, err)
			case c.When.Op == "rules-dry-run-each":
				c.testSamples(t)
			case c.When.Body != nil:
				_, err := Parse(rulesText(c.When.Body))
				c.wantMessage(t, err)
			case c.When.Via == "socket" && c.Then.Verdict != "":
				kind = "decided"
				r := mustRules(t, string(c.Given.Rules))
				if got := verdict(t, r, c.When.request(t, false, testNow, c.Given.Data, c.Given.Auth)); got != c.Then.Verdict {
					t.Errorf("%s, want %s", got, c.Then.Verdict)
				}
			default:
				kind = "server"
			}
			decided[kind]++
		})
	}
	// Three need a server: what is read back, when an upload counts, and a text
	// that is described by how to make it (see TestLargeDocument).
	want := map[string]int{"rules-dry-run": 99, "rules-dry-run-each": 17, "PUT": 15, "decided": 208, "server": 3}
	if !reflect.DeepEqual(decided, want) {
		t.Errorf("recordings by kind: %v, want %v", decided, want)
	}
}

// wantMessage checks the error of an upload.
func (c *recording) wantMessage(t *testing.T, err error) {
	t.Helper()
	if got := rejection(t, err); (got == "") != (c.Then.Status == 200) || got != c.Then.Message {
		t.Errorf("%d %q, want status %d %q", len(got), got, c.Then.Status, c.Then.Message)
	}
}

// testSamples tries operands of all types in one place of an expression.
func (c *recording) testSamples(t *testing.T) {
	want := make(map[string]string)
	for _, name := range c.Then.Accepted {
		want[name] = ""
	}
	for msg, names := range c.Then.Refused {
		for _, name := range names {
			want[name] = msg
		}
	}
	for name, sample := range c.When.Samples {
		expression := strings.ReplaceAll(c.When.Template, "@", sample)
		msg, ok := want[name]
		_, err := Parse(c.document(expression))
		if got := rejection(t, err); !ok || got != msg {
			t.Errorf("%s: %q, want %q", expression, got, msg)
		}
	}
}

func TestSettingsCases(t *testing.T) {
	var cases []struct {
		Name, Group string
		Rules       json.RawMessage
		Request     struct {
			Method, Path, Body string
			Query              map[string]string
		}
		Response struct {
			Status       any // a number, or several to choose from
			ErrorPattern string
			BodyText     string
			BodyJSON     json.RawMessage
		}
	}
	vectors(t, "rest-cases.json", &cases)
	tried := 0
	for _, c := range cases {
		if c.Group != "settings" || c.Request.Path != "/.settings/rules.json" || c.Response.Status == 401.0 {
			continue
		}
		src := c.Request.Body
		if c.Request.Method == "GET" {
			src = rulesText(c.Rules)
		}
		r, err := Parse(src)
		tried++
		switch {
		case (err == nil) != (c.Response.Status == 200.0):
			t.Errorf("%s: %v, want status %v", c.Name, err, c.Response.Status)
		case err != nil && !regexp.MustCompile(c.Response.ErrorPattern).MatchString(err.Error()):
			t.Errorf("%s: %v, want %s", c.Name, err, c.Response.ErrorPattern)
		case c.Request.Method == "GET" && c.Response.BodyText != "" && r.Source() != c.Response.BodyText:
			t.Errorf("%s: Source() = %s", c.Name, r.Source())
		case c.Request.Method == "GET" && c.Response.BodyJSON != nil && !sameJSON(r.Strict(), string(c.Response.BodyJSON)):
			t.Errorf("%s: Strict() = %s, want %s", c.Name, r.Strict(), c.Response.BodyJSON)
		}
	}
	if tried != 15 {
		t.Errorf("%d cases, want 15", tried)
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// A document of about 300 KB is recorded to pass.
func TestLargeDocument(t *testing.T) {
	var b strings.Builder
	for i := range 400 {
		key := strings.Repeat("k", 747) + string([]byte{byte('0' + i/100), byte('0' + i/10%10), byte('0' + i%10)})
		b.WriteString(`"` + key + `":{".read":"true"},`)
	}
	r := mustRules(t, `{"rules":{"n":{`+b.String()+`}}}`)
	if len(r.Source()) < 300_000 || len(r.root.child("n").children) != 400 {
		t.Errorf("%d bytes, %d children", len(r.Source()), len(r.root.child("n").children))
	}
}
