package dogwood_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/modelform"
	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules/rulestest"
	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/embed"
	"github.com/dogwooddb/dogwood/server/servertest"
	"github.com/dogwooddb/dogwood/tree"
)

// A modelStep is one operation of a data model in testdata/models.
type modelStep struct {
	ID, As, Op, Path string
	Now              int64
	Query            map[string]json.RawMessage
	Shallow          bool
	Fields           []string
	Value, Assume    json.RawMessage
	Key, Listener    string
	Expect           struct {
		Allow    *bool
		Conflict bool
		Value    json.RawMessage
		Order    []string
		Events   []struct {
			Type, Key string
			Value     json.RawMessage
		}
	}
}

// A modelAuth is the user of an actor; nil is signed out.
type modelAuth struct {
	Admin bool
	UID   string
	Token map[string]any
}

// A modelHome is where a data model is kept while its operations are played.
type modelHome interface {
	fill(data []byte, form modelform.Form)
	client(*modelAuth) *dogwood.Client
	clock(ms int64)

	// restart may close the database and open it again, and reports whether it
	// has closed all clients. It must not if a client listens.
	restart(listening bool) (closed bool)
}

// A modelRun plays the operations of a data model, each actor with a client of
// its own.
type modelRun struct {
	t         *testing.T
	form      modelform.Form
	home      modelHome
	clients   map[string]*dogwood.Client
	listeners map[string]puller[dogwood.Event]

	Auth       map[string]*modelAuth
	Invariants []json.RawMessage
	Steps      []modelStep
}

// TestModels: each form of each model, and in tier long each with every home of the database.
func TestModels(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	homes := []struct {
		name string
		make func(*testing.T) modelHome
	}{{"network", newModelServer}, {"embedded", newModelFile}, {"process", modelProcesses(t)}}
	for m, name := range []string{"chat", "org", "msgy", "social", "owner-storage", "im"} {
		dir := filepath.Join("..", "testdata", "models", name)
		forms, err := modelform.Load(dir)
		want(t, err)
		for h, home := range homes {
			for f, form := range forms {
				if (m+f)%len(homes) == h || tier.Current() == tier.Long {
					t.Run(name+"/"+home.name+"/"+form.Name, func(t *testing.T) { playModel(t, dir, home.make(t), form) })
				}
			}
		}
	}
}

func playModel(t *testing.T, dir string, home modelHome, form modelform.Form) {
	r := &modelRun{t: t, form: form, home: home, clients: make(map[string]*dogwood.Client), listeners: make(map[string]puller[dogwood.Event])}
	want(t, json.Unmarshal(readFile(t, dir, "ops.json"), r))
	home.fill(readFile(t, dir, "data.json"), form)
	for i := range r.Steps {
		if s := &r.Steps[i]; s.Op != "land" { // which is about another database
			if home.restart(len(r.listeners) > 0) {
				clear(r.clients)
			}
			r.play(s)
		}
		if t.Failed() {
			t.Fatalf("step %q failed", r.Steps[i].ID)
		}
	}
}

func readFile(t *testing.T, dir, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	want(t, err)
	return text
}

// client returns the client of an actor.
func (r *modelRun) client(actor string) *dogwood.Client {
	r.t.Helper()
	if c := r.clients[actor]; c != nil {
		return c
	}
	auth, known := r.Auth[actor]
	if !known {
		r.t.Fatalf("nobody is %q", actor)
	}
	c := r.home.client(auth)
	r.clients[actor] = c
	return c
}

// A modelClock shows the time of a step.
type modelClock struct{ ms atomic.Int64 }

func (c *modelClock) clock(ms int64) { c.ms.Store(ms) }

func (c *modelClock) now() time.Time { return time.UnixMilli(c.ms.Load()) }

// A modelServer is reached over a network. It goes on all the time.
type modelServer struct {
	modelClock
	t      *testing.T
	server *servertest.Server
}

func newModelServer(t *testing.T) modelHome {
	s := &modelServer{t: t}
	s.server = servertest.New(t, servertest.Options{Now: s.now})
	return s
}

func (s *modelServer) fill(data []byte, form modelform.Form) {
	if form.Document != "" {
		s.server.SetData(form.Document)
	}
	s.server.Set("/", string(data))
	s.server.SetRules(form.Rules)
}

func (s *modelServer) client(auth *modelAuth) *dogwood.Client {
	return dial(s.t, s.server.URL, auth.options())
}

func (s *modelServer) restart(bool) bool { return false }

// options are those of a client that is signed in.
func (a *modelAuth) options() dogwood.Options {
	o := quick
	switch {
	case a == nil:
	case a.Admin:
		o.Token = dogwood.StaticToken("owner")
	default:
		o.Token = dogwood.StaticToken(servertest.Token(a.UID, a.Token))
	}
	return o
}

// A modelFile is a file of this process.
type modelFile struct {
	modelClock
	t   *testing.T
	dir string
	db  *embed.Database
}

func newModelFile(t *testing.T) modelHome {
	f := &modelFile{t: t, dir: t.TempDir()}
	f.open()
	t.Cleanup(func() { want(t, f.db.Close()) })
	return f
}

func (f *modelFile) open() {
	f.t.Helper()
	db, err := embed.OpenWith(f.dir, embed.Options{Now: f.now})
	want(f.t, err)
	f.db = db
}

func (f *modelFile) fill(data []byte, form modelform.Form) {
	if form.Document != "" {
		want(f.t, f.db.SetData(f.t.Context(), form.Document))
	}
	want(f.t, f.db.Ref("").Set(f.t.Context(), json.RawMessage(data)))
	want(f.t, f.db.SetRules(f.t.Context(), form.Rules))
}

func (f *modelFile) client(auth *modelAuth) *dogwood.Client {
	f.t.Helper()
	if auth != nil && auth.Admin {
		return f.db.Client
	}
	var seen map[string]any // by the rules
	if auth != nil {
		seen = map[string]any{"uid": auth.UID, "token": auth.Token}
	}
	c, err := f.db.As(seen)
	want(f.t, err)
	return c
}

func (f *modelFile) restart(listening bool) bool {
	f.t.Helper()
	if listening {
		return false
	}
	want(f.t, f.db.Close())
	f.open()
	return true
}

func (r *modelRun) play(s *modelStep) {
	r.t.Helper()
	r.home.clock(s.Now)
	ref := r.client(s.As).Ref(s.Path)
	switch s.Op {
	case "get":
		r.get(s, ref)
	case "getFields":
		for _, field := range s.Fields {
			snap, err := ref.Child(field).Snapshot(r.t.Context())
			var want map[string]json.RawMessage
			if r.verdict(s, err) && json.Unmarshal(s.Expect.Value, &want) == nil {
				r.same(s, snap.JSON(), want[field])
			}
		}
	case "listen":
		r.listen(s, ref)
	case "events":
		r.events(s)
	case "check":
		r.check(s)
	default:
		r.change(*s)
	}
}

// change carries out a write in the form that is played. One that this form accepts alone
// is taken back.
func (r *modelRun) change(s modelStep) {
	r.t.Helper()
	if w, ok := r.form.Writes[s.ID]; ok {
		s.Op, s.Path, s.Key, s.Value = w.Op, w.Path, w.Key, w.Value
	}
	all := r.client("admin").Ref("")
	before, err := all.Snapshot(r.t.Context())
	want(r.t, err)
	_, alone := r.form.Accepted[s.ID]
	if alone {
		s.Expect.Allow = &alone
	}
	if r.verdict(&s, r.write(&s, r.client(s.As).Ref(s.Path))) {
		r.check(&s)
	}
	if alone {
		want(r.t, all.Set(r.t.Context(), json.RawMessage(before.JSON())))
	}
}

func (r *modelRun) write(s *modelStep, ref dogwood.Ref) error {
	r.t.Helper()
	ctx := r.t.Context()
	switch s.Op {
	case "set":
		return ref.Set(ctx, s.Value)
	case "push":
		return ref.Child(s.Key).Set(ctx, s.Value)
	case "delete":
		return ref.Remove(ctx)
	case "create":
		return ref.Create(ctx, s.Value)
	case "transaction":
		return ref.SetIf(ctx, s.Assume, s.Value)
	case "update":
		var values map[string]any
		var raw map[string]json.RawMessage
		want(r.t, json.Unmarshal(s.Value, &raw))
		values = make(map[string]any, len(raw))
		for path, v := range raw {
			values[path] = v
		}
		return ref.Update(ctx, values)
	}
	r.t.Fatalf("%s: unknown operation %q", s.ID, s.Op)
	return nil
}

// verdict compares how an operation went, and reports whether it was carried
// out.
func (r *modelRun) verdict(s *modelStep, err error) bool {
	r.t.Helper()
	var class error
	switch {
	case s.Expect.Conflict:
		class = dogwood.ErrStale
	case s.Expect.Allow == nil:
		r.t.Fatalf("%s: nothing is expected", s.ID)
	case !*s.Expect.Allow:
		class = dogwood.ErrPermissionDenied
	}
	taken := class == dogwood.ErrPermissionDenied && errors.Is(err, dogwood.ErrConflict) // a refusal, too
	if !errors.Is(err, class) && !taken {
		r.t.Errorf("%s: err = %v, want %v", s.ID, err, class)
	}
	return err == nil
}

func (r *modelRun) same(s *modelStep, got string, want json.RawMessage) {
	r.t.Helper()
	if n := tree.MustParseNode(string(want)); n.JSON() != got {
		r.t.Errorf("%s: got %s, want %s", s.ID, got, n.JSON())
	}
}

func (r *modelRun) get(s *modelStep, ref dogwood.Ref) {
	r.t.Helper()
	if s.Shallow {
		keys := make(map[string]bool)
		var failed error
		for key, err := range ref.Keys(r.t.Context()) {
			if failed = err; err == nil {
				keys[key] = true
			}
		}
		if r.verdict(s, failed) {
			text, err := json.Marshal(keys)
			want(r.t, err)
			r.same(s, tree.MustParseNode(string(text)).JSON(), s.Expect.Value)
		}
		return
	}
	snap, err := r.query(s, ref).Snapshot(r.t.Context())
	if !r.verdict(s, err) {
		return
	}
	r.same(s, snap.JSON(), s.Expect.Value)
	var order []string
	for key := range snap.Children() {
		order = append(order, key)
	}
	if s.Expect.Order != nil && !slices.Equal(order, s.Expect.Order) {
		r.t.Errorf("%s: order %q, want %q", s.ID, order, s.Expect.Order)
	}
}

func (r *modelRun) query(s *modelStep, ref dogwood.Ref) dogwood.Query {
	r.t.Helper()
	q := ref.Query
	arg := func(name string) (v any, ok bool) {
		raw, ok := s.Query[name]
		if ok {
			want(r.t, json.Unmarshal(raw, &v))
		}
		return v, ok
	}
	if v, ok := arg("orderBy"); ok {
		switch v {
		case "$key":
			q = q.OrderByKey()
		case "$value":
			q = q.OrderByValue()
		case "$priority":
			q = q.OrderByPriority()
		default:
			q = q.OrderByChild(v.(string))
		}
	}
	for name, f := range map[string]func(dogwood.Query, any) dogwood.Query{
		"startAt":      func(q dogwood.Query, v any) dogwood.Query { return q.StartAt(v) },
		"startAfter":   func(q dogwood.Query, v any) dogwood.Query { return q.StartAfter(v) },
		"endAt":        func(q dogwood.Query, v any) dogwood.Query { return q.EndAt(v) },
		"endBefore":    func(q dogwood.Query, v any) dogwood.Query { return q.EndBefore(v) },
		"equalTo":      func(q dogwood.Query, v any) dogwood.Query { return q.EqualTo(v) },
		"limitToFirst": func(q dogwood.Query, v any) dogwood.Query { return q.LimitToFirst(int(v.(float64))) },
		"limitToLast":  func(q dogwood.Query, v any) dogwood.Query { return q.LimitToLast(int(v.(float64))) },
	} {
		if v, ok := arg(name); ok {
			q = f(q, v)
		}
	}
	return q
}

// listen takes the events from the first view on.
func (r *modelRun) listen(s *modelStep, ref dogwood.Ref) {
	r.t.Helper()
	snap, err := r.query(s, ref).Snapshot(r.t.Context())
	if !r.verdict(s, err) {
		return
	}
	r.same(s, snap.JSON(), s.Expect.Value)
	l := pull(r.t, r.query(s, ref).Events(r.t.Context()))
	for key, child := range snap.Children() {
		if e := l.get(); e.Type != dogwood.ChildAdded || e.Key != key || !e.Value.Equal(child) {
			r.t.Errorf("%s: %s, want the child %s", s.ID, show(e), key)
		}
	}
	r.listeners[s.Listener] = l
}

// events compares the events that came since. Their order within one write does
// not matter.
func (r *modelRun) events(s *modelStep) {
	r.t.Helper()
	var got, want []string
	for _, e := range s.Expect.Events {
		ev := r.listeners[s.Listener].get()
		value := "null"
		if e.Value != nil {
			value = tree.MustParseNode(string(e.Value)).JSON()
		}
		want = append(want, fmt.Sprint(e.Type, e.Key, value))
		if ev.Type == dogwood.ChildRemoved {
			got = append(got, fmt.Sprint(ev.Type, ev.Key, "null"))
		} else {
			got = append(got, fmt.Sprint(ev.Type, ev.Key, ev.Value.JSON()))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		r.t.Errorf("%s: events %q, want %q", s.ID, got, want)
	}
}

// check looks whether the invariants of the model hold, as the administrator
// sees the whole.
func (r *modelRun) check(s *modelStep) {
	r.t.Helper()
	snap, err := r.client("admin").Ref("").Snapshot(r.t.Context())
	want(r.t, err)
	root := tree.MustParseNode(snap.JSON())
	texts, err := r.form.Invariants(r.Invariants)
	want(r.t, err)
	for _, text := range texts {
		v, err := rulestest.ParseInvariant(text)
		want(r.t, err)
		if broken := v.Check(root); len(broken) > 0 {
			r.t.Errorf("%s: invariant %s is broken by %q", s.ID, v.ID, broken)
		}
	}
}
