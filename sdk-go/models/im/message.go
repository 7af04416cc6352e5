package im

import (
	"context"
	"slices"
	"time"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/record"
)

// A Message is one of a conversation.
type Message struct {
	Key     string            `json:"-"`                   // sorts by the time when it was sent
	Bucket  string            `json:"-"`                   // the month that it is kept in
	From    string            `json:"from"`                // the user who sent it
	Text    string            `json:"text"`                // up to 2000 characters
	Sent    dogwood.Timestamp `json:"sent"`                // by the server's clock
	Deleted int64             `json:"deletedAt,omitempty"` // in milliseconds since 1970; 0: it is not
}

// BucketOf returns the month that a time is in: "202311".
func BucketOf(t time.Time) string { return t.UTC().Format("200601") }

func (m *IM) messages(bucket, conversation string) dogwood.Ref {
	return m.db.Ref("messages").Child(bucket).Child(conversation)
}

// Send sends a text to a conversation that this user is in.
func (m *IM) Send(ctx context.Context, conversation, text string) (Message, error) {
	msg := Message{Bucket: BucketOf(m.db.ServerTime()), From: m.me, Text: text}
	at, err := m.messages(msg.Bucket, conversation).Push(ctx, msg)
	msg.Key = at.Key()
	return msg, err
}

// LogicalDelete hides a message of this user, once. Its text stays for those who
// have to audit it; others should not show it.
func (m *IM) LogicalDelete(ctx context.Context, conversation string, msg Message) error {
	return m.messages(msg.Bucket, conversation).Child(msg.Key).Child("deletedAt").Set(ctx, dogwood.ServerTimestamp)
}

// Page returns the n messages before another one, the oldest of them first; the
// newest ones before the zero Message. n is 100 at most. It goes back through the
// months that there are.
func (m *IM) Page(ctx context.Context, conversation string, before Message, n int) ([]Message, error) {
	buckets, err := m.buckets(ctx)
	if err != nil {
		return nil, err
	}
	var list []Message
	for _, bucket := range slices.Backward(buckets) {
		if len(list) == n || before.Bucket != "" && bucket > before.Bucket {
			continue
		}
		q := m.messages(bucket, conversation).OrderByKey().LimitToLast(n - len(list))
		if bucket == before.Bucket {
			q = q.EndBefore(before.Key)
		}
		older, err := m.page(ctx, bucket, q)
		if err != nil {
			return nil, err
		}
		list = append(older, list...)
	}
	return list, nil
}

// Since returns the n messages behind another one, the oldest of them first; n is
// 100 at most. It goes on through the months that there are.
func (m *IM) Since(ctx context.Context, conversation string, after Message, n int) ([]Message, error) {
	buckets, err := m.buckets(ctx)
	if err != nil {
		return nil, err
	}
	var list []Message
	for _, bucket := range buckets {
		if len(list) == n || bucket < after.Bucket {
			continue
		}
		q := m.messages(bucket, conversation).OrderByKey().LimitToFirst(n - len(list))
		if bucket == after.Bucket {
			q = q.StartAfter(after.Key)
		}
		newer, err := m.page(ctx, bucket, q)
		if err != nil {
			return nil, err
		}
		list = append(list, newer...)
	}
	return list, nil
}

func (m *IM) page(ctx context.Context, bucket string, q dogwood.Query) ([]Message, error) {
	s, err := q.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	list, err := record.List(s, func(m *Message) *string { return &m.Key })
	for i := range list {
		list[i].Bucket = bucket
	}
	return list, err
}

// buckets returns the months that there are, the first one first.
func (m *IM) buckets(ctx context.Context) ([]string, error) {
	s, err := m.db.Ref("buckets").Snapshot(ctx)
	return record.Keys(s), err
}
