package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
)

// The tests in this file ask what the queries of the data models take over data
// that are large enough to tell: testdata/models/*/explain.json.

// An explainModel says what to add to a model's data, and what queries take then.
type explainModel struct {
	Format, Model, About string
	Bulk                 []struct {
		Path  string
		Count int
		Key   string
		Value any
	}
	Asks []*explainAsk
}

// An explainAsk is a query of section (f) of a model.
type explainAsk struct {
	Row     string // what it is for
	Class   string // "targeted" or "scan"
	As      string
	Path    string
	Query   map[string]json.RawMessage
	Shallow bool
	Plan    string // of a targeted one
	Results int
	Total   int  // children, or rows, that a scan looks at, at the least
	Denied  bool // a scan that this actor may not do

	// Index is the one that makes it targeted. Without it, it is a scan.
	Index *struct{ Path, Order string }
}

// The constants of the classes: a targeted query looks at no more children beyond
// those that it answers, and its rules read no more rows.
const (
	moreVisited = 2
	rulesRows   = 12
)

func loadExplainModel(t *testing.T, name string) *explainModel {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("..", "testdata", "models", name, "explain.json"))
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(src))
	d.DisallowUnknownFields()
	m := new(explainModel)
	if err := d.Decode(m); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return m
}

func TestExplainModels(t *testing.T) {
	tier.Unraced(t)
	tier.Need(t, tier.Full)
	t.Parallel()
	for _, name := range dataModels {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, x := loadDataModel(t, name), loadExplainModel(t, name)
			r := largeModel(t, m, x)
			for _, a := range x.Asks {
				r.ask(a)
			}
			r.setRules(withoutIndexes(t, m.Rules, x.Asks))
			for _, a := range x.Asks {
				if a.Index != nil {
					r.askWithoutIndex(a)
				}
			}
		})
	}
}

// TestExplainOperations: every operation of the models costs next to nothing over
// the large data, as far as it is one of users, and is explained if, and only if, it
// is allowed.
func TestExplainOperations(t *testing.T) {
	tier.Unraced(t)
	tier.Need(t, tier.Full)
	t.Parallel()
	const most = 400 // rows: of the largest update with all that its rules look at
	const each = 3   // rows of a child that is answered
	for _, name := range dataModels {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := loadDataModel(t, name)
			r := largeModel(t, m, loadExplainModel(t, name))
			for _, s := range m.Steps {
				if slices.Contains([]string{"land", "listen", "events", "check", "getFields"}, s.Op) {
					continue
				}
				r.now.Store(s.Now)
				e, status := r.explainStep(s)
				if allowed := s.Expect.Allow == nil || *s.Expect.Allow; !s.Expect.Conflict && allowed != (status == http.StatusOK) {
					t.Errorf("%s: explained with %d, allowed: %t: %s", s.ID, status, allowed, e)
				}
				if rows := e.Get("rows").Int(); rows > most+each*e.Get("results").Int() && s.As != "admin" {
					t.Errorf("%s: %d rows: %s", s.ID, rows, e)
				}
				r.carryOut(s)
			}
		})
	}
}

// largeModel serves the data of a model with what is added to them.
func largeModel(t *testing.T, m *dataModel, x *explainModel) *opsRun {
	t.Helper()
	r := &opsRun{dataModel: m, t: t, tell: true}
	r.serve()
	r.admin("PUT", "/", m.Data)
	for _, b := range x.Bulk {
		var text strings.Builder
		for i := range b.Count {
			value, err := json.Marshal(exemplar(b.Value, i))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&text, "%c%q:%s", ",{"[min(max(1-i, 0), 1)], exemplar(b.Key, i), value)
		}
		r.admin("PATCH", b.Path, text.String()+"}")
	}
	r.setRules(m.Rules)
	return r
}

func (r *opsRun) admin(method, path, body string) {
	r.t.Helper()
	target := (&url.URL{Path: tree.MustParsePath(path).String()}).EscapedPath() + ".json"
	if a := r.server.admin(method, target, body); a.StatusCode != 200 {
		r.t.Fatalf("%s %s: %d %s", method, path, a.StatusCode, a.body)
	}
}

var placeholder = regexp.MustCompile(`\{i(%\d+)?\}`)

// exemplar returns a value with {i} replaced by a number of six digits, {i%7} by its
// remainder, and texts like "=5+{i}" by their sums.
func exemplar(v any, i int) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, child := range v {
			m[exemplar(key, i).(string)] = exemplar(child, i)
		}
		return m
	case string:
		s := placeholder.ReplaceAllStringFunc(v, func(p string) string {
			if _, mod, ok := strings.Cut(strings.TrimSuffix(p, "}"), "%"); ok {
				n, _ := strconv.Atoi(mod)
				return strconv.Itoa(i % n)
			}
			return fmt.Sprintf("%06d", i)
		})
		a, b, sum := strings.Cut(s, "+")
		if !strings.HasPrefix(a, "=") || !sum {
			return s
		}
		x, _ := strconv.ParseInt(a[1:], 10, 64)
		y, _ := strconv.ParseInt(b, 10, 64)
		return x + y
	}
	return v
}

func (r *opsRun) setRules(src string) {
	r.t.Helper()
	if a := r.server.admin("PUT", "/.settings/rules.json", src); a.StatusCode != 200 {
		r.t.Fatalf("rules: %d %s", a.StatusCode, a.body)
	}
}

// explain asks what a read takes.
func (r *opsRun) explain(a *explainAsk) (e gjson.Result, status int) {
	r.t.Helper()
	h := http.Header{}
	target := r.target(&modelStep{ID: a.Row, As: a.As, Query: a.Query, Shallow: a.Shallow}, a.Path, h)
	return r.explained(a.Row, call{"GET", target + "&explain=true", h, ""})
}

// explained makes a request until it is not answered that an index is being built.
func (r *opsRun) explained(id string, c call) (e gjson.Result, status int) {
	r.t.Helper()
	for range 10_000 {
		got := r.server.do(c)
		e, status = gjson.Parse(got.body), got.StatusCode
		if !e.Get("building").Bool() {
			return e, status
		}
		time.Sleep(time.Millisecond)
	}
	r.t.Fatalf("%s: the index is never built: %s", id, e)
	return e, status
}

func (r *opsRun) ask(a *explainAsk) {
	r.t.Helper()
	e, status := r.explain(a)
	n := func(name string) int { return int(e.Get(name).Int()) }
	switch {
	case a.Denied:
		if status != http.StatusUnauthorized || e.Get("visited").Exists() {
			r.t.Errorf("%s: %d %s, want a denial", a.Row, status, e)
		}
	case status != http.StatusOK:
		r.t.Errorf("%s: %d %s", a.Row, status, e)
	case a.Class == "scan":
		if max(n("visited"), n("rows")) < a.Total || e.Get("plan").String() != "scan" && e.Get("plan").String() != "node" {
			r.t.Errorf("%s: %s, want a scan of %d", a.Row, e, a.Total)
		}
	case a.Class == "targeted":
		if e.Get("plan").String() != a.Plan || n("results") != a.Results || n("visited") > a.Results+moreVisited || n("rules.rows") > rulesRows || e.Get("missingIndexOn").Exists() {
			r.t.Errorf("%s: %s, want %s with %d results", a.Row, e, a.Plan, a.Results)
		}
	default:
		r.t.Errorf("%s: unknown class %q", a.Row, a.Class)
	}
}

// askWithoutIndex asks when the index is not declared.
func (r *opsRun) askWithoutIndex(a *explainAsk) {
	r.t.Helper()
	e, status := r.explain(a)
	missing := e.Get("missingIndexOn")
	switch {
	case status != http.StatusOK, e.Get("plan").String() != "scan", int(e.Get("visited").Int()) < a.Total, int(e.Get("results").Int()) != a.Results:
		r.t.Errorf("%s without its index: %d %s, want a scan of %d", a.Row, status, e, a.Total)
	case missing.Get("path").String() != a.Index.Path, !strings.Contains(missing.Get("indexOn").Raw, strconv.Quote(a.Index.Order)):
		r.t.Errorf("%s without its index: missing is %s, want %v", a.Row, missing, *a.Index)
	}
}

// withoutIndexes returns rules without the indexes that the asks name.
func withoutIndexes(t *testing.T, src string, asks []*explainAsk) string {
	t.Helper()
	for _, a := range asks {
		if a.Index == nil {
			continue
		}
		at := "rules." + strings.ReplaceAll(strings.Trim(a.Index.Path, "/"), "/", ".") + `.\.indexOn`
		var err error
		if src, err = sjson.Delete(src, at); err != nil {
			t.Fatal(err)
		}
	}
	return src
}

// explainStep asks what a step of the operations takes.
func (r *opsRun) explainStep(s *modelStep) (e gjson.Result, status int) {
	r.t.Helper()
	method, path, body, h := r.plain(s)
	return r.explained(s.ID, call{method, r.target(s, path, h) + "&explain=true", h, body})
}

// carryOut makes a step of the operations, whatever comes of it.
func (r *opsRun) carryOut(s *modelStep) {
	r.t.Helper()
	if s.Op == "get" {
		return
	}
	method, path, body, h := r.plain(s)
	r.server.do(call{method, r.target(s, path, h), h, body})
}

// plain returns the request of a step without its conditions.
func (r *opsRun) plain(s *modelStep) (method, path, body string, h http.Header) {
	h = http.Header{}
	switch path = s.Path; s.Op {
	case "get":
		return "GET", path, "", h
	case "delete":
		return "DELETE", path, "", h
	case "update":
		return "PATCH", path, string(s.Value), h
	case "push":
		path += "/" + s.Key
	case "create":
		h.Set("If-Match", nullTag)
	case "transaction":
		h.Set("If-Match", tagOf(parseNode(r.t, string(s.Assume))))
	}
	return "PUT", path, string(s.Value), h
}
