package msgy

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/dogwooddb/dogwood/sdk-go/models/internal/record"
)

// Types of timelines.
const (
	Inbox = "Inbox" // what came
	Sent  = "Sent"  // what was sent
)

// Timeline returns the messages of a day, Day(t), the oldest first. The owner is
// this user or a group that they are in.
func (m *Msgy) Timeline(ctx context.Context, owner, kind, day string) ([]Message, error) {
	list, err := record.AllNamedRecords(ctx, m.db, m.db.Ref("timelines").Child(owner).Child(kind).Child(day), "msgs/$key", messageKey)
	slices.SortFunc(list, func(a, b Message) int {
		return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.Key, b.Key))
	})
	return list, err
}

// Last returns the last n messages of a timeline, of whatever day, the oldest of
// them first.
func (m *Msgy) Last(ctx context.Context, owner, kind string, n int) ([]Message, error) {
	q := m.db.Ref("recent").Child(owner).Child(kind).OrderByValue().LimitToLast(n)
	list, _, err := record.NamedRecords(ctx, m.db, q, "msgs/$key", messageKey)
	return list, err
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

// WatchInbox yields the newest message to this user and then each that comes, once, until
// ctx ends. A loop that is slow or was disconnected may see several messages at once, in the
// order of the senders' times.
//
// Those times are what an inbox is ordered by, and no sender need have the right one. So
// it listens to the keys of the whole inbox: a new message may be anywhere among them.
func (m *Msgy) WatchInbox(ctx context.Context) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		var inbox inbox
		for s, err := range m.db.Ref("recent").Child(m.me).Child(Inbox).OrderByValue().Values(ctx) {
			if err != nil {
				yield(Message{}, err)
				return
			}
			for _, key := range inbox.fresh(record.Keys(s)) {
				msg, found, err := m.Message(ctx, key)
				if !found && err == nil {
					continue // it is deleted
				}
				if !yield(msg, err) || err != nil {
					return
				}
			}
		}
	}
}

// An inbox is the keys that were seen in it; nil before the first time.
type inbox map[string]bool

// fresh returns what is new among the keys of an inbox; the first time, the last of them.
func (in *inbox) fresh(keys []string) (fresh []string) {
	before := *in
	*in = make(inbox, len(keys))
	for _, key := range keys {
		if (*in)[key] = true; !before[key] {
			fresh = append(fresh, key)
		}
	}
	if before == nil && len(fresh) > 0 {
		fresh = fresh[len(fresh)-1:]
	}
	return fresh
}
