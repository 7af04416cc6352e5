package outbox

import (
	"slices"
	"strconv"

	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// Bounds of a notice. Beyond them it says that all may have changed.
const (
	maxNoticeKeys  = 100
	maxNoticeBytes = 4 << 10
)

// A Notice tells the client of an event stream which children of a view have changed, in place of
// events. Changes while a notice waits are told by the same one, so a view has one at most,
// and a slow client costs no more than a fast one. The mu of the outbox guards it.
type Notice struct {
	keys     []string
	bytes    int
	all      bool // more than keys may have changed
	revision uint64
	waits    bool // in the outbox
}

// add notes the children that an event changes. It reports whether the notice is to be queued: it
// says something, and does not wait already.
func (n *Notice) add(v *View, e *Event) bool {
	for _, p := range e.Parts {
		target := tree.Target{Path: v.Path.Rel(e.Path), Priority: p.Target.Priority}
		if e.Merge {
			target.Path = target.Path.Join(p.Target.Path)
		}
		key, _, below := target.Path.Cut()
		switch {
		case below:
			n.key(key)
		case !target.Priority: // that of the view's own node is not in an event stream
			n.all = true
		}
	}
	n.revision = max(n.revision, e.Revision)
	if n.waits || !n.all && len(n.keys) == 0 {
		return false
	}
	n.waits = true
	return true
}

func (n *Notice) key(key string) {
	if n.all || slices.Contains(n.keys, key) {
		return
	}
	if len(n.keys) == maxNoticeKeys || n.bytes+len(key) > maxNoticeBytes {
		n.all = true
		return
	}
	n.keys, n.bytes = append(n.keys, key), n.bytes+len(key)
}

// take returns the block of what was noted, and begins anew.
func (n *Notice) take() []byte {
	b := noticeBlock(n.revision, n.keys, n.all)
	*n = Notice{}
	return b
}

// NoticeOfAll returns the block that says that any child may have changed up to a revision.
func NoticeOfAll(revision uint64) []byte { return noticeBlock(revision, nil, true) }

func noticeBlock(revision uint64, keys []string, all bool) []byte {
	if all {
		keys = nil
	}
	b := strconv.AppendUint([]byte("event: notify\ndata: {\"revision\":"), revision, 10)
	b = append(b, `,"children":[`...)
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendString(b, key)
	}
	b = append(strconv.AppendBool(append(b, `],"all":`...), all), '}', '\n')
	return append(b, '\n')
}
