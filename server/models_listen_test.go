package server

import (
	"bufio"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/tree"
)

// An opsListener follows a query of a model's operations as an event stream.
type opsListener struct {
	step   *modelStep
	conn   net.Conn
	events *bufio.Reader
	view   tree.Node // what the events so far make
	told   tree.Node // the view when its changes were last compared
}

// Close ends the stream, if there is one.
func (l *opsListener) Close() {
	if l.conn != nil {
		l.conn.Close()
	}
}

func (r *opsRun) listen(s *modelStep) {
	r.t.Helper()
	l := &opsListener{step: s}
	if a := r.connect(l); a != nil {
		r.verdict(s, *a)
		return
	}
	r.listeners[s.Listener] = l
	l.told = l.view
	if s.Expect.Allow == nil || !*s.Expect.Allow {
		r.t.Errorf("%s: the stream begins, want none", s.ID)
	}
	r.same(s, "value", l.view.JSON(), string(s.Expect.Value))
}

// connect opens the stream and reads the whole view, which comes first. It
// returns the answer if there is no stream.
func (r *opsRun) connect(l *opsListener) *result {
	r.t.Helper()
	h := http.Header{"Accept": {"text/event-stream"}}
	target := r.target(l.step, l.step.Path, h)
	conn, req := r.server.send(call{"GET", target, h, ""})
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, req)
	if err != nil {
		r.t.Fatalf("%s: %v", l.step.ID, err)
	}
	if resp.StatusCode != 200 {
		conn.Close()
		a := r.server.do(call{"GET", target, h, ""})
		return &a
	}
	l.conn, l.events, l.view = conn, bufio.NewReader(resp.Body), tree.Empty
	r.follow(l, l.step.ID)
	return nil
}

// follow takes the next event, which the step id waits for, into the view.
func (r *opsRun) follow(l *opsListener, id string) {
	r.t.Helper()
	if err := l.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		r.t.Fatal(err)
	}
	name, src, err := readEvent(l.events)
	if err != nil {
		r.t.Fatalf("%s: no event came to the view %s, which was %s: %v", id, l.view.JSON(), l.told.JSON(), err)
	}
	var data struct {
		Path string
		Data json.RawMessage
	}
	if err := json.Unmarshal([]byte(src), &data); err != nil {
		r.t.Fatalf("%s: event %s %s: %v", id, name, src, err)
	}
	at := tree.MustParsePath(data.Path)
	var changes map[string]json.RawMessage
	switch name {
	case "put":
		changes = map[string]json.RawMessage{"": data.Data}
	case "patch":
		changes = members(r.t, data.Data)
	default:
		r.t.Fatalf("%s: event %s %s", id, name, src)
	}
	for path, value := range changes {
		l.view = l.view.With(at.Join(tree.MustParsePath(path)), parseNode(r.t, string(value)))
	}
}

// events waits until the children changed as expected since they were last
// compared.
func (r *opsRun) events(s *modelStep) {
	r.t.Helper()
	l := r.listeners[s.Listener]
	if l == nil {
		r.t.Fatalf("%s: nobody listens as %q", s.ID, s.Listener)
	}
	want := make(map[string]string)
	for _, e := range s.Expect.Events {
		value := ""
		if e.Value != nil {
			value = parseNode(r.t, string(e.Value)).JSON()
		}
		want[e.Key] = e.Type + " " + value
	}
	for !maps.Equal(changes(l.told, l.view), want) {
		r.follow(l, s.ID)
	}
	l.told = l.view
}

// changes returns the child events that lead from one view to another, by key.
func changes(from, to tree.Node) map[string]string {
	list := make(map[string]string)
	for key := range from.Children() {
		if to.Child(key).IsEmpty() {
			list[key] = "child_removed "
		}
	}
	for key, value := range to.Children() {
		switch old := from.Child(key); {
		case old.IsEmpty():
			list[key] = "child_added " + value.JSON()
		case old != value:
			list[key] = "child_changed " + value.JSON()
		}
	}
	return list
}

// members returns the members of a JSON object.
func members(t *testing.T, src json.RawMessage) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(src, &m); err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	return m
}

func parseNode(t *testing.T, src string) tree.Node {
	t.Helper()
	n, err := tree.ParseNode(src)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// sameAt compares the value of a path.
func (r *opsRun) sameAt(s *modelStep, path, got string) {
	r.t.Helper()
	p := tree.MustParsePath(path)
	compared := func(root tree.Node) string { return r.form.Compared(root).Get(p).JSON() }
	r.same(s, path, compared(tree.Empty.With(p, parseNode(r.t, got))), compared(r.want.Root))
}

// compared returns what of the text of the database is to be as in the first form.
func (r *opsRun) compared(text string) string {
	r.t.Helper()
	if len(r.form.Apart) == 0 {
		return text
	}
	return r.form.Compared(parseNode(r.t, text)).JSON()
}

func (r *opsRun) same(s *modelStep, what, got, want string) {
	r.t.Helper()
	if problem := sameJSON(what, got, want); problem != "" {
		r.t.Errorf("%s: %s", s.ID, problem)
	}
}
