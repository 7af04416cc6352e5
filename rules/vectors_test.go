package rules

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

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

// onlyUnsupported reports whether a document was refused for nothing but
// expressions that this version doesn't have.
func onlyUnsupported(err error) bool {
	var errs Errors
	if !errors.As(err, &errs) {
		return false
	}
	for _, e := range errs {
		if e.Msg != msgUnsupported {
			return false
		}
	}
	return true
}

// A tally counts the vectors of a test. Those that need expressions must be
// refused for that reason; the number of the others is part of the test.
type tally struct{ decided, unsupported int }

func (n *tally) want(t *testing.T, decided, unsupported int) {
	t.Helper()
	if n.decided != decided || n.unsupported != unsupported {
		t.Errorf("%d vectors were decided and %d refused as unsupported, want %d and %d",
			n.decided, n.unsupported, decided, unsupported)
	}
}

func TestRulesCases(t *testing.T) {
	var cases []struct {
		Name  string
		Rules json.RawMessage
		Data  json.RawMessage
		Op    struct {
			Kind, Path    string
			Value, Values json.RawMessage
			Priority      json.RawMessage
		}
		Expect string
	}
	vectors(t, "rules-cases.json", &cases)
	var n tally
	for _, c := range cases {
		r, err := Parse(rulesText(c.Rules))
		if onlyUnsupported(err) {
			n.unsupported++
			continue
		}
		n.decided++
		got := "compile-error"
		if err == nil {
			q := &Request{Op: OpRead, Data: stored{tree.MustParseNode(string(c.Data))}}
			switch c.Op.Kind {
			case "write":
				q.Op, q.Writes = OpWrite, writes(t, false, c.Op.Path, string(c.Op.Value))
			case "update":
				q.Op, q.Writes = OpWrite, writes(t, true, c.Op.Path, string(c.Op.Values))
			default:
				q.Path = tree.MustParsePath(c.Op.Path)
			}
			if got = "deny"; check(t, r, q).Allow {
				got = "allow"
			}
		}
		if got != c.Expect {
			t.Errorf("%s: %s, want %s (%v)", c.Name, got, c.Expect, err)
		}
	}
	n.want(t, 53, 248)
}

func TestRecordedDocuments(t *testing.T) {
	var cases []struct {
		Name, Area string
		When       struct {
			Op   string
			Body json.RawMessage
		}
		Then struct {
			Status  int
			Message string
		}
	}
	vectors(t, "prod-observations.json", &cases)
	var n tally
	for _, c := range cases {
		if c.Area != "rules-document" || c.When.Body == nil {
			continue
		}
		_, err := Parse(rulesText(c.When.Body))
		switch {
		case onlyUnsupported(err):
			n.unsupported++
			continue
		case c.Then.Status == 200 && err != nil:
			t.Errorf("%s: %v, want no error", c.Name, err)
		case c.Then.Status == 400 && (err == nil || !strings.HasSuffix(err.Error(), ": "+c.Then.Message+"\n")):
			t.Errorf("%s: %v, want %q", c.Name, err, c.Then.Message)
		}
		n.decided++
	}
	n.want(t, 13, 2)
}

func TestRecordedVerdicts(t *testing.T) {
	var cases []struct {
		Name  string
		Given struct{ Rules, Data json.RawMessage }
		When  struct {
			Via, Op, Path string
			Value         json.RawMessage
		}
		Then struct{ Verdict string }
	}
	vectors(t, "prod-observations.json", &cases)
	var n tally
	for _, c := range cases {
		if c.When.Via != "socket" || c.Then.Verdict == "" || c.Given.Rules == nil {
			continue
		}
		r, err := Parse(string(c.Given.Rules))
		if onlyUnsupported(err) {
			n.unsupported++
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		q := &Request{Op: OpWrite, Data: stored{tree.MustParseNode(string(c.Given.Data))}}
		switch c.When.Op {
		case "get":
			q.Op, q.Path = OpRead, tree.MustParsePath(c.When.Path)
		case "set", "update":
			q.Writes = writes(t, c.When.Op == "update", c.When.Path, string(c.When.Value))
		default:
			t.Errorf("%s: unknown operation %q", c.Name, c.When.Op)
		}
		n.decided++
		got := "deny"
		if check(t, r, q).Allow {
			got = "allow"
		}
		if got != c.Then.Verdict {
			t.Errorf("%s: %s, want %s", c.Name, got, c.Then.Verdict)
		}
	}
	n.want(t, 11, 197)
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
	var n tally
	for _, c := range cases {
		if c.Group != "settings" || c.Request.Path != "/.settings/rules.json" || c.Response.Status == 401.0 {
			continue
		}
		src := c.Request.Body
		if c.Request.Method == "GET" {
			src = rulesText(c.Rules)
		}
		r, err := Parse(src)
		if onlyUnsupported(err) {
			n.unsupported++
			continue
		}
		n.decided++
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
	n.want(t, 9, 6)
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
