package msgy

import (
	"context"
	"iter"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/record"
)

// Types of timelines.
const (
	Inbox = "Inbox" // what came
	Sent  = "Sent"  // what was sent
)

// Timeline returns the messages of a day, Day(t), the oldest first. The owner is
// this user or a group that he is in.
func (m *Msgy) Timeline(ctx context.Context, owner, kind, day string) ([]Message, error) {
	return m.listed(ctx, m.db.Ref("timelines").Child(owner).Child(kind).Child(day).OrderByValue())
}

// Last returns the last n messages of a timeline, of whatever day, the oldest of
// them first.
func (m *Msgy) Last(ctx context.Context, owner, kind string, n int) ([]Message, error) {
	return m.listed(ctx, m.db.Ref("recent").Child(owner).Child(kind).OrderByValue().LimitToLast(n))
}

// LastSent returns the last n messages that this user has sent.
func (m *Msgy) LastSent(ctx context.Context, n int) ([]Message, error) {
	return m.Last(ctx, m.me, Sent, n)
}

// Days returns the days on which a timeline has messages.
func (m *Msgy) Days(ctx context.Context, owner, kind string) (days []string, err error) {
	for day, err := range m.db.Ref("timelines").Child(owner).Child(kind).Keys(ctx) {
		if err != nil {
			return nil, err
		}
		days = append(days, day)
	}
	return days, nil
}

// listed returns the messages whose keys a query finds, in one round trip.
func (m *Msgy) listed(ctx context.Context, q dogwood.Query) ([]Message, error) {
	list, _, err := record.NamedRecords(ctx, m.db, q, "msgs/$key", messageKey)
	return list, err
}

// WatchInbox yields the newest message to this user and each that comes, until ctx
// ends. A loop that is slow sees the newest of several.
func (m *Msgy) WatchInbox(ctx context.Context) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		for ev, err := range m.db.Ref("recent").Child(m.me).Child(Inbox).OrderByValue().LimitToLast(1).Events(ctx) {
			var msg Message
			if err == nil && ev.Type != dogwood.ChildAdded {
				continue
			}
			if err == nil {
				msg, _, err = m.Message(ctx, ev.Key)
			}
			if !yield(msg, err) || err != nil {
				return
			}
		}
	}
}
