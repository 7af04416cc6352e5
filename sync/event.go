package sync

import (
	"sync"
	"sync/atomic"

	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// An event is one change of a view: a replacement at a path, or several at
// once. It is encoded at most once for each format, by the first listener that
// is sent it.
type event struct {
	path  tree.Path // where it applies: the group's path or below
	merge bool      // parts are relative to path; else the one part is path itself
	parts []part
	size  int // estimated bytes once it is encoded

	realtime encoding
	stream   encoding
}

// A part is one replacement. The rest of the target is relative to the event's
// path.
type part struct {
	target tree.Target
	node   tree.Node
}

type encoding struct {
	once   sync.Once
	text   []byte
	prefix int // realtime: length without the end that holds the tag
	tagged atomic.Pointer[tagged]
}

// A tagged push is what the last listener with a tag was sent. Most clients
// number their listens alike, so the listeners of a view often share it.
type tagged struct {
	tag  int64
	text []byte
}

// put is the event of one replacement.
func put(t tree.Target, n tree.Node) *event {
	return &event{path: t.Path, parts: []part{{tree.Target{Priority: t.Priority}, n}}}
}

// measure sets the size.
func (e *event) measure() {
	e.size = 64 + len(e.path.Clean())
	for _, p := range e.parts {
		e.size += len(p.target.Path.Clean()) + len(p.node.Text()) + 16
	}
}

// name returns a part's path as the protocol writes it: "a/b", "a/.priority".
func (p part) name() string {
	s := p.target.Path.Clean()
	switch {
	case !p.target.Priority:
		return s
	case s == "":
		return ".priority"
	}
	return s + "/.priority"
}

// realtimePush returns the push of the realtime protocol for a listener with
// the given tag, 0 for none (protocol §5.4). Only the tag differs between
// listeners, so all that have the same one, or none, share the same bytes.
func (e *event) realtimePush(tag int64) []byte {
	e.realtime.once.Do(func() {
		prefix := e.appendPush(make([]byte, 0, e.size+64))
		e.realtime.prefix = len(prefix)
		e.realtime.text = wire.AppendPushSuffix(prefix, 0)
	})
	if tag == 0 {
		return e.realtime.text
	}
	if t := e.realtime.tagged.Load(); t != nil && t.tag == tag {
		return t.text
	}
	prefix := e.realtime.text[:e.realtime.prefix]
	push := make([]byte, 0, len(prefix)+32)
	push = wire.AppendPushSuffix(append(push, prefix...), tag)
	e.realtime.tagged.Store(&tagged{tag, push})
	return push
}

func (e *event) appendPush(dst []byte) []byte {
	if !e.merge {
		p := part{target: tree.Target{Path: e.path, Priority: e.parts[0].target.Priority}}
		return wire.AppendPushPrefix(dst, wire.PushData, p.name(), e.parts[0].node.JSON())
	}
	dst = append(wire.AppendPushHead(dst, wire.PushMerge, e.path.Clean()), '{')
	for i, p := range e.parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(wire.AppendString(dst, p.name()), ':')
		dst = append(dst, p.node.JSON()...)
	}
	return append(dst, '}')
}

// streamBlock returns the block of an event stream whose root is the given path
// (REST §10.2), nothing if only priorities changed: event streams do not show
// them. All listeners of an event have the same root.
func (e *event) streamBlock(root tree.Path) []byte {
	e.stream.once.Do(func() {
		name, data := "put", make([]byte, 0, e.textSize())
		if e.merge {
			name = "patch"
			data = append(data, '{')
		}
		visible := false
		for _, p := range e.parts {
			if p.target.Priority {
				continue
			}
			if e.merge {
				if visible {
					data = append(data, ',')
				}
				data = append(wire.AppendString(data, p.name()), ':')
			}
			data = tree.AppendPlain(data, p.node)
			visible = true
		}
		if e.merge {
			data = append(data, '}')
		}
		if visible {
			e.stream.text = appendBlock(name, root.Rel(e.path).String(), data)
		}
	})
	return e.stream.text
}

// textSize returns about how many bytes the nodes of an event are.
func (e *event) textSize() (n int) {
	for _, p := range e.parts {
		n += len(p.node.Text())
	}
	return n
}

func appendBlock(name, path string, data []byte) []byte {
	b := make([]byte, 0, len(data)+len(path)+48)
	b = append(append(b, "event: "...), name...)
	b = append(b, "\ndata: {\"path\":"...)
	b = wire.AppendString(b, path)
	b = append(append(b, ",\"data\":"...), data...)
	return append(b, "}\n\n"...)
}
