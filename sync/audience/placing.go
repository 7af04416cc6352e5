package audience

import (
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/sync/access"
	"github.com/dogwooddb/dogwood/sync/resume"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// placedEvery is how often a client is told its position that gets one event after the other.
const placedEvery = time.Second

// A Placing tells the client of a session its position in the log: that it has been sent all
// events up to there. With that it asks for what it has missed when it connects again.
//
// It is told when nothing waits for it any more: at once after the first messages of a listen, at
// most once a second after events, and when the server looks whether the client is there. It
// costs clients that do not ask for it nothing.
type Placing struct {
	audience *Audience
	now      func() time.Time
	marks    atomic.Pointer[resume.Marks]
	answered atomic.Bool // a listen, since the last position

	// Of the last position. The lock of the outbox guards them.
	told resume.Position
	by   *resume.Marks
	due  time.Time // of the next
}

// Place returns what tells a client its positions, nil if the database has none.
func (a *Audience) Place(c access.Caller, now func() time.Time) *Placing {
	if a.host.History == nil {
		return nil
	}
	p := &Placing{audience: a, now: now}
	p.Become(c)
	a.host.position(a.revision.Load()) // reads what next needs of the log
	return p
}

// Become changes the identity of the client. Nil does nothing.
//
// Positions are of all that rules see of the client. They see the times of a token, too, so what a
// client may know can differ between it and the next one of the same user.
func (p *Placing) Become(c access.Caller) {
	if p == nil {
		return
	}
	identity := "administrator"
	if !c.Admin {
		identity = c.Auth.JSON
	}
	p.marks.Store(resume.SessionMarks(p.audience.host.LogID, identity))
}

// Answered says that the first messages of a listen are about to be sent. Nil does nothing.
func (p *Placing) Answered() {
	if p != nil {
		p.answered.Store(true)
	}
}

// Read returns the position that a client says it has. Nil knows none.
func (p *Placing) Read(text string) (from resume.Position, ok bool) {
	if p == nil {
		return from, false
	}
	return p.marks.Load().Read(text)
}

// Next returns the push with a new position, nil if there is none or it is not due. It is the
// mark of an outbox.
//
// The order matters: nothing waits for the client, and after that the revision is loaded. The
// events of a commit are queued before its revision is set.
func (p *Placing) Next() []byte {
	at, by, now := p.audience.host.History.Known(p.audience.revision.Load()), p.marks.Load(), p.now()
	if at.Revision == 0 || !p.answered.Load() && (now.Before(p.due) || at == p.told && by == p.by) {
		return nil
	}
	p.answered.Store(false)
	p.told, p.by, p.due = at, by, now.Add(placedEvery)
	return wire.AppendPosition(nil, by.Append(nil, at))
}
