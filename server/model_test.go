package server

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/dogwooddb/dogwood/internal/tier"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// A modelRun carries out random operations through sessions of the realtime
// protocol and through REST, and compares every listener's view and every
// answer with the reference after each of them.
type modelRun struct {
	t       *testing.T
	rnd     *rand.Rand
	dir     string
	srv     *Server
	want    *refNode
	clients []*modelClient
	log     []string
}

// A modelClient is one session and what its listens show.
type modelClient struct {
	session *dsync.Session
	out     *outbox.Outbox
	woken   chan struct{} // something waits in out
	next    int64         // request id
	views   map[string]*modelView
	replies map[int64]gjson.Result
}

type modelView struct {
	path  []string
	tag   int64
	query refQuery
	node  *refNode
}

var refKeySet = []string{"a", "b", "c", "0", "1", "2", "07", "-1", "é", "😀", "\uffee", "x y", `q"`, ":n"}

func modelSteps(part int) int {
	return tier.Count("DOGWOOD_MODEL_STEPS", 400, 2_400, 2_000_000) / part
}

func TestModelMemory(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			runModel(t, "", seed, modelSteps(3))
		})
	}
}

func TestModelDisk(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			runModel(t, t.TempDir(), 100+seed, modelSteps(4))
		})
	}
}

func runModel(t *testing.T, dir string, seed uint64, steps int) {
	m := &modelRun{t: t, rnd: rand.New(rand.NewPCG(seed, 7)), dir: dir}
	m.open()
	for i := range steps {
		m.step()
		if t.Failed() {
			t.Fatalf("seed %d, step %d:\n%s", seed, i, strings.Join(m.log[max(0, len(m.log)-15):], "\n"))
		}
	}
	m.close()
}

func (m *modelRun) open() {
	s, err := New(Options{Dev: true, Dir: m.dir, DefaultNamespace: "model"})
	if err != nil {
		m.t.Fatal(err)
	}
	m.srv = s
	m.clients = nil
	for range 3 {
		m.connect()
	}
}

func (m *modelRun) db() *dsync.Database {
	db, err := m.srv.spaces.database("model")
	if err != nil {
		m.t.Fatal(err)
	}
	return db
}

func (m *modelRun) connect() {
	c := &modelClient{views: map[string]*modelView{}, replies: map[int64]gjson.Result{}, woken: make(chan struct{}, 1)}
	most := 0
	if len(m.clients) == 2 {
		most = 2000 // a slow consumer: it overflows and is sent whole views
	}
	c.out = outbox.New(outbox.Realtime, most, func() {
		select {
		case c.woken <- struct{}{}:
		default:
		}
	})
	c.session = m.db().NewSession(dsync.SessionOptions{ID: fmt.Sprint("s", m.rnd.Uint64()), Out: c.out, SignIn: signInTo(m.srv)})
	m.clients = append(m.clients, c)
}

func (m *modelRun) close() {
	for _, c := range m.clients {
		c.session.Close()
	}
	findings, err := m.db().Check()
	if err != nil {
		m.t.Fatal(err)
	}
	for _, f := range findings {
		m.t.Error(f)
	}
	if err := m.srv.Close(); err != nil {
		m.t.Fatal(err)
	}
}

func (m *modelRun) note(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf("%.300s", fmt.Sprintf(format, args...)))
}

// request sends a request of the realtime protocol and returns the reply,
// having applied all that came before it.
func (m *modelRun) request(c *modelClient, action, body string) gjson.Result {
	m.pump(c)
	c.next++
	id := c.next
	m.note("%s %s", action, body)
	msg, err := wire.ParseMessage(fmt.Sprintf(`{"t":"d","d":{"r":%d,"a":%q,"b":%s}}`, id, action, body))
	if err != nil {
		m.t.Fatalf("%s: %v", body, err)
	}
	c.session.Handle(context.Background(), msg.Request)
	for m.pump(c); !c.replies[id].Exists(); m.pump(c) {
		<-c.woken
	}
	reply := c.replies[id]
	delete(c.replies, id)
	return reply
}

// pump applies what waits in a client's outbox, until it is empty: only then does
// the outbox tell of what comes next.
func (m *modelRun) pump(c *modelClient) {
	for msgs := c.out.Take(1 << 20); len(msgs) > 0; msgs = c.out.Take(1 << 20) {
		for _, msg := range msgs {
			m.receive(c, gjson.ParseBytes(msg).Get("d"))
		}
	}
}

// receive applies what one message says.
func (m *modelRun) receive(c *modelClient, d gjson.Result) {
	if r := d.Get("r"); r.Exists() {
		c.replies[r.Int()] = d.Get("b")
		return
	}
	m.push(c, d.Get("a").String(), d.Get("b"))
}

func (m *modelRun) push(c *modelClient, action string, b gjson.Result) {
	m.note("  push %s %s", action, b.Raw)
	path := refPath(b.Get("p").String())
	for _, v := range c.views {
		if v.tag != b.Get("t").Int() {
			continue
		}
		switch {
		case action == "d" && inside(v.path, path):
			v.node = v.node.with(path[len(v.path):], m.decode(b.Get("d").Raw))
		case action == "m" && inside(v.path, path):
			b.Get("d").ForEach(func(k, x gjson.Result) bool {
				rel := append(slices.Clone(path[len(v.path):]), refPath(k.String())...)
				v.node = v.node.with(rel, m.decode(x.Raw))
				return true
			})
		}
	}
}

func refPath(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == '/' })
}

func inside(outer, p []string) bool {
	return len(p) >= len(outer) && slices.Equal(outer, p[:len(outer)])
}

func (m *modelRun) decode(raw string) *refNode {
	v, err := refDecode([]byte(raw))
	if err != nil {
		m.t.Fatal(err)
	}
	return refParse(v)
}

func (m *modelRun) pick(list []string) string { return list[m.rnd.IntN(len(list))] }

func (m *modelRun) path(most int) []string {
	var p []string
	for range m.rnd.IntN(most + 1) {
		p = append(p, m.pick(refKeySet[:8+m.rnd.IntN(7)]))
	}
	return p
}

func (m *modelRun) leaf() any {
	switch m.rnd.IntN(6) {
	case 0:
		return m.rnd.IntN(2) == 0
	case 1, 2:
		return float64(m.rnd.IntN(9) - 3)
	case 3:
		return strings.Repeat("w", m.rnd.IntN(5)*m.rnd.IntN(900))
	}
	return m.pick(refKeySet)
}

func (m *modelRun) value(depth int) any {
	if depth == 0 || m.rnd.IntN(3) == 0 {
		v := m.leaf()
		if m.rnd.IntN(4) == 0 {
			return map[string]any{".value": v, ".priority": m.priority()}
		}
		return v
	}
	if m.rnd.IntN(6) == 0 {
		return []any{m.leaf(), nil, m.value(depth - 1)}
	}
	v := map[string]any{}
	for range m.rnd.IntN(6) {
		v[m.pick(refKeySet)] = m.value(depth - 1)
	}
	if m.rnd.IntN(4) == 0 {
		v[".priority"] = m.priority()
	}
	if m.rnd.IntN(5) == 0 {
		v["c"] = nil
	}
	return v
}

func (m *modelRun) priority() any {
	switch m.rnd.IntN(3) {
	case 0:
		return float64(m.rnd.IntN(3))
	case 1:
		return m.pick(refKeySet)
	}
	return nil
}

func (m *modelRun) step() {
	c := m.clients[m.rnd.IntN(len(m.clients))]
	switch op := m.rnd.IntN(24); {
	case op < 5:
		m.set(c)
	case op < 8:
		m.update(c)
	case op < 10:
		m.remove(c)
	case op < 11:
		m.setPriority(c)
	case op < 13:
		m.transaction(c)
	case op < 14:
		m.increment(c)
	case op < 16:
		m.restWrite()
	case op < 19:
		m.listen(c)
	case op < 20:
		m.unlisten(c)
	case op < 23:
		m.restRead()
	default:
		m.reopen()
		return
	}
	if m.rnd.IntN(2) == 0 { // else more piles up for a client that does not read
		m.compare()
	}
}

func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (m *modelRun) wantOK(r gjson.Result) {
	if r.Get("s").String() != "ok" {
		m.t.Errorf("reply %s, want ok", r.Raw)
	}
}

func body(path []string, data any) string {
	return fmt.Sprintf(`{"p":%s,"d":%s}`, jsonText("/"+strings.Join(path, "/")), jsonText(data))
}

func (m *modelRun) set(c *modelClient) {
	p, v := m.path(3), m.value(2)
	m.want = m.want.with(p, refParse(v))
	m.wantOK(m.request(c, "p", body(p, v)))
}

func (m *modelRun) remove(c *modelClient) {
	p := m.path(4)
	m.want = m.want.with(p, nil)
	m.wantOK(m.request(c, "p", body(p, nil)))
}

func (m *modelRun) setPriority(c *modelClient) {
	p, v := append(m.path(3), ".priority"), m.priority()
	m.want = m.want.with(p, refParse(v))
	m.wantOK(m.request(c, "p", body(p, v)))
}

// updateOf returns a random update whose paths are disjoint.
func (m *modelRun) updateOf() (u map[string]any) {
	u = map[string]any{}
	var taken [][]string
	for range 1 + m.rnd.IntN(4) {
		p := append(m.path(2), m.pick(refKeySet))
		if m.rnd.IntN(8) == 0 {
			p = append(p, ".priority")
		}
		if slices.ContainsFunc(taken, func(q []string) bool { return inside(p, q) || inside(q, p) }) {
			continue
		}
		taken = append(taken, p)
		v := m.value(1)
		if p[len(p)-1] == ".priority" {
			v = m.priority()
		} else if m.rnd.IntN(4) == 0 {
			v = nil
		}
		u[strings.Join(p, "/")] = v
	}
	return u
}

// applyUpdate applies values before removals and priorities last, as the server
// does: nothing is empty in between.
func (m *modelRun) applyUpdate(base []string, u map[string]any) {
	for round := range 3 {
		for key, v := range u {
			rank := 0
			switch n := refParse(v); {
			case strings.HasSuffix(key, ".priority"):
				rank = 2
			case n == nil:
				rank = 1
			}
			if rank == round {
				m.want = m.want.with(append(slices.Clone(base), refPath(key)...), refParse(v))
			}
		}
	}
}

// update sends a multi-path update.
func (m *modelRun) update(c *modelClient) {
	base, u := m.path(1), m.updateOf()
	m.applyUpdate(base, u)
	m.wantOK(m.request(c, "m", body(base, u)))
}

// transaction sends a hashed put, right or wrong.
func (m *modelRun) transaction(c *modelClient) {
	p, v := m.path(3), m.value(1)
	current := m.want.get(p)
	hash := "wrong"
	if m.rnd.IntN(3) > 0 {
		hash = m.etag(p)
	}
	b := body(p, v)
	r := m.request(c, "p", strings.TrimSuffix(b, "}")+fmt.Sprintf(`,"h":%q}`, hash))
	if hash == "wrong" {
		if r.Get("s").String() != "datastale" {
			m.t.Errorf("reply %s over %v, want datastale", r.Raw, current.export())
		}
		return
	}
	m.wantOK(r)
	m.want = m.want.with(p, refParse(v))
}

func (m *modelRun) increment(c *modelClient) {
	p := m.path(3)
	var old float64
	if n := m.want.get(p); n != nil {
		old, _ = n.leaf.(float64)
	}
	m.want = m.want.with(p, refParse(old+2.5))
	m.wantOK(m.request(c, "p", body(p, map[string]any{".sv": map[string]any{"increment": 2.5}})))
}

// compare checks the tree and all views. A reply to a request that does
// nothing shows that all earlier events have been sent.
func (m *modelRun) compare() {
	w := m.rest("GET", nil, url.Values{"format": {"export"}}, "")
	m.wantBody(w, m.want.export())
	for _, c := range m.clients {
		m.request(c, "s", `{"c":{}}`)
		for _, v := range c.views {
			want := v.query.apply(m.want.get(v.path))
			if !reflect.DeepEqual(v.node.export(), want.export()) {
				m.t.Errorf("view %v %s differs\n got %.500s\nwant %.500s\n  of %.500s", v.path, jsonText(v.query.wire()),
					jsonText(v.node.export()), jsonText(want.export()), jsonText(m.want.get(v.path).export()))
			}
		}
	}
}

// reopen closes the server and starts it again on the same data, or, in memory,
// reconnects one client.
func (m *modelRun) reopen() {
	if m.rnd.IntN(15) > 0 {
		return
	}
	m.note("reopen")
	if m.dir != "" {
		m.close()
		m.open()
		m.compare()
		return
	}
	m.clients[0].session.Close()
	m.clients = m.clients[1:]
	m.connect()
}
