package audience

import (
	"context"

	"github.com/dogwooddb/dogwood/sync/access"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/resume"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// Stream starts to follow a view for an event stream. Its first event is the whole view, or
// what has changed since the event with the id that the client says it has, if it is known. A client
// that is told names of children alone gets no ids. If it sends one, it has missed something.
func (a *Audience) Stream(ctx context.Context, r access.Read, last string, out *outbox.Outbox) (*Listener, error) {
	l := a.NewListener(r, out, 0, func(why error) {
		text := "Permission denied"
		if outgrown(why) {
			_, text = fault.Status(why)
		}
		out.PushFrame([]byte("event: cancel\ndata: " + string(wire.AppendString(nil, text)) + "\n\n"))
		out.Shut(ErrCancelled)
	})
	l.shown.Children = !r.Plain
	if !r.Notify {
		l.shown.Marks = a.host.marks(r)
	}
	if err := l.Attach(ctx); err != nil {
		return nil, err
	}
	from, ok := l.shown.Marks.Read(last)
	switch {
	case ok:
		l.Show(0, func() [][]byte { return l.comeBack(from) })
	case r.Notify && last != "":
		l.Show(0, l.resync)
	case r.Changes, r.Notify:
		l.Show(0, func() [][]byte { return l.blocks(noView) })
	default:
		l.Show(0, l.resync)
	}
	return l, nil
}

// marks returns how the positions of a view look to the clients of event streams.
func (h *Host) marks(r access.Read) *resume.Marks {
	if h.History == nil {
		return nil
	}
	return resume.NewMarks(h.LogID, r.Path, groupID(r.Query))
}

// position returns the place in the log behind a commit, or nowhere.
func (h *Host) position(revision uint64) resume.Position {
	if h.History == nil {
		return resume.Position{}
	}
	return h.History.Position(revision)
}

// KeepAlive returns what the client of an event stream is sent when it was sent nothing for a
// while. It has the position of the last commit, so that a client of a quiet view comes back
// with one that the log still has. The caller sends what it takes from the outbox before it
// calls this.
func (l *Listener) KeepAlive() []byte {
	// The order matters: the events of a commit are queued before its revision is set.
	revision := l.audience.revision.Load()
	if waiting, _ := l.out.Backlog(); waiting > 0 {
		return l.shown.KeepAlive(resume.Position{})
	}
	return l.shown.KeepAlive(l.audience.host.position(revision))
}

// NoticeOfAll begins to follow the view, and returns the notice that any child of it may have changed.
func (l *Listener) NoticeOfAll() (msg []byte, err error) {
	err = l.look(func(v viewing, _ bool) error {
		msg = l.shown.NoticeOfAll(l.out.Format(), v.tx.Revision())
		return nil
	})
	return msg, err
}

// blocks returns the block of an event that f makes of the view; of nil, that there is
// nothing new. If the view cannot be read, the stream ends.
func (l *Listener) blocks(f func(v viewing, brief bool) (*outbox.Event, error)) [][]byte {
	var e *outbox.Event
	var revision uint64
	err := l.look(func(v viewing, brief bool) (err error) {
		revision = v.tx.Revision()
		e, err = f(v, brief)
		return err
	})
	if err != nil {
		l.failed(err)
		return nil
	}
	at := l.audience.host.position(revision)
	if e == nil {
		return [][]byte{l.shown.KeepAlive(at)}
	}
	e.Position = at
	return [][]byte{e.Block(&l.shown)}
}

// noView is the first event of a listener that has asked for changes alone. It begins to
// follow the view, and has the position of the state behind which they are.
func noView(viewing, bool) (*outbox.Event, error) { return nil, nil }

// Begin begins to follow the view without reading it.
func (l *Listener) Begin() error {
	return l.look(func(viewing, bool) error { return nil })
}

// whole is the event of the whole view.
func (l *Listener) whole(v viewing, brief bool) (*outbox.Event, error) {
	n, err := l.text(v, brief)
	return outbox.Put(tree.Target{Path: l.read.Path}, n), err
}

// comeBack returns the first event of a client that has all up to a position: what has changed
// since, or the whole view if that is not known.
func (l *Listener) comeBack(from resume.Position) [][]byte {
	l.audience.host.History.Reach(from, l.audience.revision.Load())
	return l.blocks(func(v viewing, brief bool) (*outbox.Event, error) {
		e, ok, err := l.since(v, from, brief)
		if err == nil && !ok {
			return l.whole(v, brief)
		}
		return e, err
	})
}
