package chat

import (
	"context"
	"errors"
	"iter"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/record"
)

// A Message is one that was posted. Its key sorts by the time at which it was
// posted.
type Message struct {
	Key    string            `json:"-"`       // of the message, in its room
	Sender string            `json:"sender"`  // the user who posted it
	Text   string            `json:"message"` // up to 2000 characters
	Sent   dogwood.Timestamp `json:"sent"`    // by the server's clock
}

func messageKey(m *Message) *string { return &m.Key }

// PostMessage posts a text to a room that this user is in, and returns its key.
func (c *Chat) PostMessage(ctx context.Context, room, text string) (key string, err error) {
	posted, err := c.messages(room).Push(ctx, Message{Sender: c.me, Text: text})
	return posted.Key(), err
}

// DeleteMessage deletes a message of this user; or, in a room that this user owns,
// one of a user who is no longer in it.
func (c *Chat) DeleteMessage(ctx context.Context, room, key string) error {
	return c.messages(room).Child(key).Remove(ctx)
}

// Newest returns the n newest messages of a room, the oldest of them first.
func (c *Chat) Newest(ctx context.Context, room string, n int) ([]Message, error) {
	return page(ctx, c.messages(room).OrderByKey().LimitToLast(n))
}

// Older returns the n messages before the one with the key before, the oldest of
// them first.
func (c *Chat) Older(ctx context.Context, room, before string, n int) ([]Message, error) {
	return page(ctx, c.messages(room).OrderByKey().EndBefore(before).LimitToLast(n))
}

func page(ctx context.Context, q dogwood.Query) ([]Message, error) {
	s, err := q.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return record.List(s, messageKey)
}

// Tail yields the n newest messages of a room and then each that the server takes,
// once, until ctx ends or this user is put out. After the first n they come in the order
// of Sent, also those with lower keys, whose writers were disconnected for long. Messages
// of this client itself come at once, before the server has them.
//
// All who follow a room see the messages of others in the same order. A loop that is slow,
// or was disconnected, may see them in groups, in which those of one millisecond are in
// the order of their keys. It gets each message, however many came meanwhile, unless the
// message was deleted before the loop saw it.
func (c *Chat) Tail(ctx context.Context, room string, n int) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		t := tail{
			db: c.db, list: c.messages(room), size: n, most: max(n, usualView),
			yield: func(m Message) bool { return yield(m, nil) },
		}
		if err := t.run(ctx); !errors.Is(err, errLeft) {
			yield(Message{}, err)
		}
	}
}
