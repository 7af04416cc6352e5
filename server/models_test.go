package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/dogwooddb/dogwood/internal/modelform"
	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules/rulestest"
	"github.com/dogwooddb/dogwood/server/observe"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/invariant"
)

// The tests in this file play the operations of the data models in
// testdata/models over REST: who may do what, what comes of it, and that the
// invariants of the model hold after each write.

var dataModels = []string{"chat", "org", "msgy", "social", "owner-storage", "im"}

// A dataModel is a tree, the rules over it, and operations with what is
// expected of them.
type dataModel struct {
	Format, Model string
	Data, Rules   string // names of files; after loading, their texts
	Auth          map[string]json.RawMessage
	Invariants    []json.RawMessage
	Steps         []*modelStep
	BeyondCases   json.RawMessage // need more than operations of clients
}

// A modelStep is one operation.
type modelStep struct {
	ID, As, Op, Path string
	Now              int64
	Query            map[string]json.RawMessage
	Shallow          bool
	Fields           []string
	Value, Assume    json.RawMessage
	Key              string
	Returns          []string
	Listener         string
	Beyond           string // what is beyond one request to the hosted service
	Expect           struct {
		Allow                *bool
		Conflict             bool
		Value                json.RawMessage
		Order                []string
		Invariants           []string
		Events               []modelEvent
		Landed, Rows, Errors json.RawMessage
		RemainingDirty       json.RawMessage
	}
	App, Region     string
	Batch, FailKeys json.RawMessage
}

// A modelEvent is a change of a child.
type modelEvent struct {
	Type, Key string
	Value     json.RawMessage
}

func loadDataModel(t *testing.T, name string) *dataModel {
	t.Helper()
	read := func(file string) []byte {
		src, err := os.ReadFile(filepath.Join("..", "testdata", "models", name, file))
		if err != nil {
			t.Fatal(err)
		}
		return src
	}
	d := json.NewDecoder(bytes.NewReader(read("ops.json")))
	d.DisallowUnknownFields() // what is not understood is not tested
	m := new(dataModel)
	if err := d.Decode(m); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	m.Data, m.Rules = string(read(m.Data)), string(read(m.Rules))
	return m
}

func (m *dataModel) invariants(t *testing.T, form modelform.Form) []*invariant.Invariant {
	t.Helper()
	var list []*invariant.Invariant
	texts, err := form.Invariants(m.Invariants)
	if err != nil {
		t.Fatal(err)
	}
	for _, src := range texts {
		v, err := invariant.Parse(src)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

// credential adds an actor to a request, to its header or as query parameter.
func (m *dataModel) credential(actor string, h http.Header, q url.Values) error {
	src, known := m.Auth[actor]
	var auth *struct {
		Admin bool
		UID   string
		Token map[string]any
	}
	if err := json.Unmarshal(src, &auth); !known || err != nil {
		return fmt.Errorf("actor %q: %w", actor, err)
	}
	switch {
	case auth == nil:
	case auth.Admin:
		h.Set("Authorization", "Bearer owner")
	default:
		// What the JavaScript client makes of a mock user.
		claims := map[string]any{"iss": "https://securetoken.google.com/demo", "aud": "demo", "iat": 0, "auth_time": 0,
			"exp": 3600, "sub": auth.UID, "user_id": auth.UID, "firebase": map[string]any{"sign_in_provider": "custom", "identities": map[string]any{}}}
		for name, value := range auth.Token {
			claims[name] = value
		}
		src, err := json.Marshal(claims)
		if err != nil {
			return err
		}
		q.Set("auth", unsigned(string(src)))
	}
	return nil
}

func TestDataModels(t *testing.T) {
	tier.Unraced(t)
	t.Parallel()
	for _, name := range dataModels {
		for _, form := range modelForms(t, name) {
			t.Run(name+"/"+form.Name, func(t *testing.T) {
				t.Parallel()
				playModel(t, name, form, "", func() bool { return false })
			})
		}
	}
}

func modelForms(t *testing.T, name string) []modelform.Form {
	t.Helper()
	forms, err := modelform.Load(filepath.Join("..", "testdata", "models", name))
	if err != nil {
		t.Fatal(err)
	}
	return forms
}

// The data, the rules and the indexes outlive the server.
func TestDataModelsWithRestarts(t *testing.T) {
	tier.Unraced(t)
	tier.Need(t, tier.Full)
	t.Parallel()
	for _, name := range dataModels {
		for _, form := range modelForms(t, name) {
			t.Run(name+"/"+form.Name+"/each step", func(t *testing.T) {
				tier.Need(t, tier.Long)
				t.Parallel()
				playModel(t, name, form, t.TempDir(), func() bool { return true })
			})
			t.Run(name+"/"+form.Name+"/some steps", func(t *testing.T) {
				t.Parallel()
				rnd := rand.New(rand.NewPCG(1, 11))
				playModel(t, name, form, t.TempDir(), func() bool { return rnd.IntN(tier.Pick(12, 12, 3)) == 0 })
			})
		}
	}
}

// playModel plays the steps of a model in order on one database, in memory or
// in dir, and restarts the server before those steps for which restart says so.
func playModel(t *testing.T, name string, form modelform.Form, dir string, restart func() bool) {
	m, played := loadDataModel(t, name), 0
	r := &opsRun{dataModel: m, t: t, form: form, dir: dir, invariants: m.invariants(t, form), listeners: make(map[string]*opsListener)}
	defer r.hangUp()
	r.serve()
	if form.Document != "" {
		r.settle("data", form.Document)
	}
	r.admin("PUT", "/", m.Data)
	r.settle("rules", form.Rules)
	r.want = rulestest.World{Root: parseNode(t, m.Data)}
	for _, step := range m.Steps {
		if step.Op == "land" { // writes to another database
			continue
		}
		if restart() {
			r.restart()
		}
		r.step(step)
		played++
		if t.Failed() {
			t.Fatalf("step %q failed", step.ID)
		}
	}
	t.Logf("%d of %d steps", played, len(m.Steps))
}

// An opsRun plays the operations of a model.
type opsRun struct {
	*dataModel
	t          *testing.T
	form       modelform.Form
	dir        string
	tell       bool         // clients are told why they are denied, and what rules read
	now        atomic.Int64 // the clock
	server     *testServer
	want       rulestest.World // what the database must hold
	invariants []*invariant.Invariant
	listeners  map[string]*opsListener
}

func (r *opsRun) serve() {
	r.server = serveTest(r.t, Options{Dir: r.dir, Dev: true, Decisions: observe.Decisions{Tell: r.tell}, Now: func() time.Time { return time.UnixMilli(r.now.Load()) }})
}

// settle puts rules or a data document in force.
func (r *opsRun) settle(what, text string) {
	r.t.Helper()
	if a := r.server.admin("PUT", "/.settings/"+what+".json", text); a.StatusCode != 200 {
		r.t.Fatalf("%s: %d %s", what, a.StatusCode, a.body)
	}
}

func (r *opsRun) hangUp() {
	for _, l := range r.listeners {
		l.Close()
	}
}

// restart ends the server in order and begins with what it left. Those who
// listen connect again.
func (r *opsRun) restart() {
	r.t.Helper()
	r.hangUp()
	if err := r.server.shutdown(); err != nil {
		r.t.Fatalf("shut down: %v", err)
	}
	r.serve()
	for _, l := range r.listeners {
		r.connect(l)
	}
}

func (r *opsRun) step(s *modelStep) {
	r.t.Helper()
	r.now.Store(s.Now)
	switch s.Op {
	case "get":
		r.get(s)
	case "getFields":
		r.getFields(s)
	case "set", "push", "delete", "create", "transaction", "update":
		r.write(s)
	case "listen":
		r.listen(s)
	case "events":
		r.events(s)
	case "check":
		r.check(s.ID, s.Expect.Invariants)
	default:
		r.t.Errorf("%s: unknown operation %q", s.ID, s.Op)
	}
}

// call makes the request of a step to a path.
func (r *opsRun) call(s *modelStep, method, path, body string, header http.Header) result {
	r.t.Helper()
	return r.server.do(call{method, r.target(s, path, header), header, body})
}

// target returns what a request for a path asks for, on behalf of an actor.
func (r *opsRun) target(s *modelStep, path string, header http.Header) string {
	r.t.Helper()
	q := url.Values{}
	for name, value := range s.Query {
		q.Set(name, string(value))
	}
	if s.Shallow {
		q.Set("shallow", "true")
	}
	if err := r.credential(s.As, header, q); err != nil {
		r.t.Fatalf("%s: %v", s.ID, err)
	}
	escaped := (&url.URL{Path: tree.MustParsePath(path).String()}).EscapedPath()
	return escaped + ".json?" + q.Encode()
}

func (r *opsRun) get(s *modelStep) {
	r.t.Helper()
	a := r.call(s, "GET", s.Path, "", http.Header{})
	if !r.verdict(s, a) {
		return
	}
	r.same(s, "value", a.body, string(s.Expect.Value))
	if s.Expect.Order != nil {
		r.order(s)
	}
}

// order compares the order of the children that a query selects. The answer to
// a query does not show it; the windows of one child more at a time do.
func (r *opsRun) order(s *modelStep) {
	r.t.Helper()
	keys := slices.Clone(s.Expect.Order)
	limit := "limitToFirst"
	if s.Query["limitToLast"] != nil {
		limit = "limitToLast"
		slices.Reverse(keys)
	}
	for i := range keys {
		window := modelStep{ID: s.ID, As: "admin", Query: map[string]json.RawMessage{}}
		for name, value := range s.Query {
			window.Query[name] = value
		}
		window.Query[limit] = json.RawMessage(fmt.Sprint(i + 1))
		a := r.call(&window, "GET", s.Path, "", http.Header{})
		got, n := gjson.Parse(a.body).Map(), 0
		for _, key := range keys[:i+1] {
			if _, ok := got[key]; ok {
				n++
			}
		}
		if n != i+1 || len(got) != n {
			r.t.Errorf("%s: %s=%d selects %.200s, want %q", s.ID, limit, i+1, a.body, keys[:i+1])
		}
	}
}

func (r *opsRun) getFields(s *modelStep) {
	r.t.Helper()
	want := members(r.t, s.Expect.Value)
	if len(want) != len(s.Fields) {
		r.t.Fatalf("%s: %d values for %d fields", s.ID, len(want), len(s.Fields))
	}
	for _, field := range s.Fields {
		a := r.call(s, "GET", s.Path+"/"+field, "", http.Header{})
		if r.verdict(s, a) {
			r.same(s, field, a.body, string(want[field]))
		}
	}
}

// verdict compares the status of an answer, and reports whether the operation
// was carried out. What it was not is told in the documented words.
func (r *opsRun) verdict(s *modelStep, a result) (done bool) {
	r.t.Helper()
	status, text := 200, ""
	switch {
	case s.Expect.Conflict:
		status, text = 412, r.want.Root.Get(tree.MustParsePath(s.Path)).JSON()
	case s.Expect.Allow == nil:
		r.t.Fatalf("%s: nothing is expected", s.ID)
	case slices.Contains(r.form.Taken, s.ID):
		status = 409
	case !*s.Expect.Allow:
		status, text = 401, errorBody(textDenied)
	}
	if a.StatusCode != status {
		r.t.Errorf("%s: %d %.300s, want %d", s.ID, a.StatusCode, a.body, status)
	} else if status == 409 && !strings.Contains(a.body, " is taken") {
		r.t.Errorf("%s: %.300s, want that something is taken", s.ID, a.body)
	} else if status != 200 && status != 409 && a.body != text && (r.form.Document == "" || !strings.Contains(a.body, "by the definition ")) {
		r.t.Errorf("%s: %.300s, want %s", s.ID, a.body, text)
	}
	return status == 200 && a.StatusCode == 200
}

// write carries out a write, and compares the whole database with what it must
// be afterwards: what the write that is in the file has left. A write that this form
// accepts alone is taken back.
func (r *opsRun) write(file *modelStep) {
	r.t.Helper()
	s, before := *file, r.want
	if other, ok := r.form.Writes[s.ID]; ok {
		s.Op, s.Path, s.Key, s.Value = other.Op, other.Path, other.Key, other.Value
	}
	becomes, alone := r.form.Accepted[s.ID]
	if alone {
		yes := true
		s.Expect.Allow = &yes
		file = &modelStep{ID: s.ID, Op: "update", Path: "/", Value: becomes, Now: s.Now}
	}
	r.send(&s, file)
	r.check(s.ID, nil)
	if alone {
		r.admin("PUT", "/", before.Root.JSON())
		r.want = before
		r.check(s.ID, nil)
	}
}

// send makes the request of a write. If it is accepted, what is in the file was done.
func (r *opsRun) send(s, file *modelStep) {
	r.t.Helper()
	method, path, header := "PUT", s.Path, http.Header{}
	switch s.Op {
	case "push": // under a key that is given, since later steps name it
		path += "/" + s.Key
	case "delete":
		method, s.Value = "DELETE", nil
	case "update":
		method = "PATCH"
	case "create":
		header.Set("If-Match", nullTag)
	case "transaction":
		header.Set("If-Match", tagOf(parseNode(r.t, string(s.Assume))))
	}
	a := r.call(s, method, path, string(s.Value), header)
	if r.verdict(s, a) {
		r.apply(file)
		r.echo(s, path, a.body)
	} else if s.Op == "push" {
		r.verdict(s, r.call(s, "POST", s.Path, string(s.Value), http.Header{}))
	}
}

// apply does what an accepted write did.
func (r *opsRun) apply(s *modelStep) {
	r.t.Helper()
	base, src := tree.MustParsePath(s.Path), "null"
	if s.Op == "push" {
		base = base.Child(s.Key)
	}
	if s.Value != nil {
		src = string(s.Value)
	}
	var u tree.Update
	var err error
	if s.Op == "update" {
		u, err = tree.ParseUpdate(base, src, tree.Strict)
	} else {
		u = make(tree.Update, 1)
		u[0], err = tree.ParseWrite(tree.Target{Path: base}, src, tree.Strict)
	}
	if err != nil {
		r.t.Fatalf("%s: %v", s.ID, err)
	}
	writes, err := r.want.Resolve(u, s.Now)
	if err != nil {
		r.t.Fatalf("%s: %v", s.ID, err)
	}
	r.want = r.want.After(writes)
}

// echo compares what a write answers: the values that are written, those of
// the server among them.
func (r *opsRun) echo(s *modelStep, path, body string) {
	r.t.Helper()
	if s.Op != "update" {
		r.sameAt(s, path, body)
		return
	}
	answered := members(r.t, json.RawMessage(body))
	for key := range members(r.t, s.Value) {
		r.sameAt(s, path+"/"+key, string(answered[key]))
	}
	for _, key := range s.Returns {
		r.same(s, key, string(answered[key]), string(members(r.t, s.Expect.Value)[key]))
	}
}

// check compares the whole database with what it must hold, and which of the
// invariants do not hold.
func (r *opsRun) check(id string, broken []string) {
	r.t.Helper()
	a := r.server.admin("GET", "/.json?format=export", "")
	if problem := sameJSON("the database", r.compared(a.body), r.compared(r.want.Root.JSON())); problem != "" {
		r.t.Errorf("%s: %s", id, problem)
		return
	}
	world := rulestest.World{Root: parseNode(r.t, a.body)}
	for _, v := range r.invariants {
		var problems []string
		err := v.Check(r.t.Context(), world, func(b invariant.Violation) { problems = append(problems, b.Problem) })
		if err != nil {
			r.t.Fatal(err)
		}
		if (len(problems) > 0) != slices.Contains(broken, v.ID) {
			r.t.Errorf("%s: invariant %s, %s: broken by %q", id, v.ID, v.Text, problems)
		}
	}
}
