package outbox

import (
	"sync"
	"sync/atomic"

	"github.com/dogwooddb/dogwood/sync/resume"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/piecewise"
)

// An Event is one change of a view: a replacement at a path, or several at
// once. It is encoded at most once for each format, by the first listener that
// is sent it.
type Event struct {
	Path  tree.Path // where it applies: the group's path or below
	Merge bool      // parts are relative to path; else the one Part is path itself
	Parts []Part
	size  int // estimated bytes once it is encoded

	Position resume.Position // of the log, behind the change
	Revision uint64          // of the database, with the change

	realtime encoding
	stream   encoding
	holders  holders

	joined map[*children]*children // by those of a notice, with those of the event; while listeners are told
}

// A Part is one replacement. The rest of the target is relative to the event's
// path.
type Part struct {
	Target tree.Target
	Node   tree.Node
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

// Put is the event of one replacement.
func Put(t tree.Target, n tree.Node) *Event {
	return &Event{Path: t.Path, Parts: []Part{{tree.Target{Priority: t.Priority}, n}}}
}

// Add adds a replacement.
func (e *Event) Add(t tree.Target, n tree.Node) { e.Parts = append(e.Parts, Part{t, n}) }

// Measure sets the size.
func (e *Event) Measure() {
	e.size = 64 + len(e.Path.Clean())
	for _, p := range e.Parts {
		e.size += len(p.Target.Path.Clean()) + len(p.Node.Text()) + 16
	}
}

// Size returns the estimate that Measure made.
func (e *Event) Size() int { return e.size }

// name returns a part's path as the protocol writes it: "a/b", "a/.priority".
func (p Part) name() string {
	s := p.Target.Path.Clean()
	switch {
	case !p.Target.Priority:
		return s
	case s == "":
		return ".priority"
	}
	return s + "/.priority"
}

// Push returns the push of the realtime protocol for a listener with
// the given tag, 0 for none (protocol §5.4). Only the tag differs between
// listeners, so all that have the same one, or none, share the same bytes.
func (e *Event) Push(tag int64) []byte {
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
	push = wire.AppendPushSuffix(piecewise.Append(push, prefix), tag)
	e.realtime.tagged.Store(&tagged{tag, push})
	return push
}

// hasPush reports whether Push makes no text for a tag that it does not keep for all.
func (e *Event) hasPush(tag int64) bool {
	t := e.realtime.tagged.Load()
	return tag == 0 || t != nil && t.tag == tag
}

func (e *Event) appendPush(dst []byte) []byte {
	if !e.Merge {
		p := Part{Target: tree.Target{Path: e.Path, Priority: e.Parts[0].Target.Priority}}
		return wire.AppendPushPrefix(dst, wire.PushData, p.name(), e.Parts[0].Node.JSON())
	}
	dst = append(wire.AppendPushHead(dst, wire.PushMerge, e.Path.Clean()), '{')
	for i, p := range e.Parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(wire.AppendString(dst, p.name()), ':')
		dst = append(dst, p.Node.JSON()...)
	}
	return append(dst, '}')
}

// Block returns the block of an event stream that shows a view (REST §10.2),
// nothing if only priorities changed: event streams do not show them. All
// listeners of an event have views of the same path and query.
func (e *Event) Block(v *View) []byte {
	if v.Children && e.putsLeaf(v.Path) {
		return appendBlock("put", "/", []byte("null"), v.Marks.Append(nil, e.Position))
	}
	e.stream.once.Do(func() {
		name, data := "put", make([]byte, 0, e.textSize())
		if e.Merge {
			name = "patch"
			data = append(data, '{')
		}
		visible := false
		for _, p := range e.Parts {
			if p.Target.Priority {
				continue
			}
			if e.Merge {
				if visible {
					data = append(data, ',')
				}
				data = append(wire.AppendString(data, p.name()), ':')
			}
			data = tree.AppendPlain(data, p.Node)
			visible = true
		}
		if e.Merge {
			data = append(data, '}')
		}
		if visible {
			e.stream.text = appendBlock(name, v.Path.Rel(e.Path).String(), data, v.Marks.Append(nil, e.Position))
		}
	})
	return e.stream.text
}

// putsLeaf reports whether an event makes the node at p a leaf.
func (e *Event) putsLeaf(p tree.Path) bool {
	return !e.Merge && e.Path == p && !e.Parts[0].Target.Priority && e.Parts[0].Node.IsLeaf()
}

// textSize returns about how many bytes the nodes of an event are.
func (e *Event) textSize() (n int) {
	for _, p := range e.Parts {
		n += len(p.Node.Text())
	}
	return n
}

// appendBlock makes a block. Its id is the last line: some clients read the line behind
// "event:" as the data, and nothing else.
func appendBlock(name, path string, data, id []byte) []byte {
	b := make([]byte, 0, len(data)+len(path)+len(id)+52)
	b = append(append(b, "event: "...), name...)
	b = append(b, "\ndata: {\"path\":"...)
	b = wire.AppendString(b, path)
	b = piecewise.Append(append(b, ",\"data\":"...), data)
	return endBlock(append(b, "}\n"...), id)
}

// endBlock appends the end of a block, with its id if there is one.
func endBlock(b, id []byte) []byte {
	if len(id) > 0 {
		b = append(append(append(b, "id: "...), id...), '\n')
	}
	return append(b, '\n')
}

// KeepAlive returns the block that an event stream is sent in a time of silence. A position
// says that the client has all that comes before it.
func (v *View) KeepAlive(p resume.Position) []byte {
	return endBlock([]byte("event: keep-alive\ndata: null\n"), v.Marks.Append(nil, p))
}
