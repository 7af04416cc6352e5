package im

import (
	"context"
	"time"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/record"
)

// States of requests.
const (
	Pending  = "pending"  // not answered
	Accepted = "accepted" // for good
	Declined = "declined" // for good
)

// A Request asks a user to be a friend.
type Request struct {
	Key     string            `json:"-"`              // of the request
	From    string            `json:"from"`           // the user who asks
	Text    string            `json:"text,omitempty"` // up to 200 characters
	Created dogwood.Timestamp `json:"created"`        // by the server's clock
	State   string            `json:"state"`          // Pending, Accepted or Declined
}

func (m *IM) requests(to string) dogwood.Ref { return m.db.Ref("friendRequests").Child(to) }

// FriendRequest asks another user to be a friend, and returns the key of the
// request. If the optional index of sent requests is on, the request is entered
// there.
func (m *IM) FriendRequest(ctx context.Context, to, text string) (key string, err error) {
	at := m.requests(to).NewChild()
	if err := at.Set(ctx, Request{From: m.me, Text: text, State: Pending}); err != nil {
		return "", err
	}
	on, err := dogwood.Get[bool](ctx, m.db.Ref("config/optionalIndexes/sentRequests"))
	if err == nil && on {
		err = m.db.Ref("sentRequests").Child(m.me).Child(at.Key()).Set(ctx, to)
	}
	return at.Key(), err
}

// Requests returns the last n requests to this user, 50 at most, that were made
// since a time, the oldest of them first.
func (m *IM) Requests(ctx context.Context, since time.Time, n int) ([]Request, error) {
	s, err := m.requests(m.me).OrderByChild("created").StartAt(since.UnixMilli()).LimitToLast(n).Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return record.List(s, func(r *Request) *string { return &r.Key })
}

// Answer accepts or declines a request to this user, once.
func (m *IM) Answer(ctx context.Context, request, state string) error {
	return m.requests(m.me).Child(request).Child("state").Set(ctx, state)
}

// SentRequests returns to whom this user has sent requests, by their keys. It is
// denied unless the optional index is on.
func (m *IM) SentRequests(ctx context.Context) (map[string]string, error) {
	return dogwood.Get[map[string]string](ctx, m.db.Ref("sentRequests").Child(m.me))
}
