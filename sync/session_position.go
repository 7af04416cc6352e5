package sync

import (
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/sync/resume"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// positionEvery is how often a client is told its position that gets one event after the other.
const positionEvery = time.Second

// A placing tells the client of a session its position in the log: that it has been sent all
// events up to there. With that it asks for what it has missed when it connects again.
//
// It is told when nothing waits for it any more: at once after the first messages of a listen, at
// most once a second after events, and when the server looks whether the client is there. It
// costs clients that do not ask for it nothing.
type placing struct {
	marks  atomic.Pointer[resume.Marks]
	viewed atomic.Bool // a listen was answered since the last position

	// Of the last position. The lock of the outbox guards them.
	told resume.Position
	by   *resume.Marks
	due  time.Time // of the next
}

// place begins to tell the client its positions, if the database has any.
func (s *Session) place() {
	marks := s.db.audience.SessionMarks(s.as())
	if marks == nil || s.placing.Load() != nil {
		return
	}
	p := new(placing)
	p.marks.Store(marks)
	s.placing.Store(p)
	s.db.audience.Reach()
	s.out.Mark(func() []byte { return p.next(s.db) })
}

// next returns the push with a new position, nil if there is none or it is not due.
//
// The order matters: nothing waits for the client, and after that the revision is loaded. The
// events of a commit are queued before its revision is set.
func (p *placing) next(d *Database) []byte {
	at, by, now := d.audience.Reached(), p.marks.Load(), d.options.Now()
	if at.Revision == 0 || !p.viewed.Load() && (now.Before(p.due) || at == p.told && by == p.by) {
		return nil
	}
	p.viewed.Store(false)
	p.told, p.by, p.due = at, by, now.Add(positionEvery)
	return wire.AppendPosition(nil, by.Append(nil, at))
}

// since returns the position that a client says it has.
func (s *Session) since(text string) (from resume.Position, ok bool) {
	if p := s.placing.Load(); p != nil {
		return p.marks.Load().Read(text)
	}
	return from, false
}
