package sync

import (
	"testing"

	"github.com/tidwall/gjson"

	"github.com/dogwooddb/dogwood/tree"
)

// A mirror keeps what a client's listens show, from nothing but what the client
// is sent.
type mirror struct {
	*client
	views   map[listenKey]*mirrorView
	replies map[int64]gjson.Result
	pushed  func(key listenKey, before, after tree.Node) // if set, called for each push after the first
}

type mirrorView struct {
	node  tree.Node
	first bool // the view itself has come
}

func newMirror(c *client) *mirror {
	return &mirror{client: c, views: make(map[listenKey]*mirrorView), replies: make(map[int64]gjson.Result)}
}

// follow sends a listen.
func (m *mirror) follow(request string) {
	b := gjson.Get(request, "b")
	key := listenKey{tree.MustParsePath(b.Get("p").String()), b.Get("t").Int()}
	m.views[key] = &mirrorView{}
	m.send(request)
}

// read applies what was sent.
func (m *mirror) read() {
	for _, frame := range m.frames() {
		f := gjson.Parse(frame)
		if r := f.Get("r"); r.Exists() {
			m.replies[r.Int()] = f.Get("b")
			continue
		}
		m.apply(f)
	}
}

// apply applies a push to the view with its tag. Of the views without one it is
// for the one at or above its path; a test has no two of them inside each other.
func (m *mirror) apply(f gjson.Result) {
	target, err := tree.ParseTarget(f.Get("b.p").String())
	if err != nil {
		m.t.Fatalf("%s: %v", f, err)
	}
	for key, v := range m.views {
		if key.tag != f.Get("b.t").Int() || !key.path.Contains(target.Path) {
			continue
		}
		target.Path = key.path.Rel(target.Path)
		before, later := v.node, v.first
		if v.push(m.t, f, target); later && m.pushed != nil {
			m.pushed(key, before, v.node)
		}
		return
	}
	m.t.Errorf("%s is sent for no listen", f)
}

func (v *mirrorView) push(t testing.TB, f gjson.Result, target tree.Target) {
	switch action, data := f.Get("a").String(), f.Get("b.d"); {
	case action == "d":
		v.first = v.first || target == tree.Target{}
		v.node = v.node.WithTarget(target, nodeOf(t, data.Raw))
	case action == "m":
		data.ForEach(func(key, value gjson.Result) bool {
			part, err := tree.ParseTarget(key.String())
			if err != nil {
				t.Fatalf("%s: %v", f, err)
			}
			part.Path = target.Path.Join(part.Path)
			v.node = v.node.WithTarget(part, nodeOf(t, value.Raw))
			return true
		})
	}
	if !v.first {
		t.Errorf("%s comes before the view", f)
	}
}

func nodeOf(t testing.TB, raw string) tree.Node {
	n, err := tree.ParseNode(raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return n
}
