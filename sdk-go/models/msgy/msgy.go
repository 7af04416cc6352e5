// Package msgy is mail inside of a company, in a tree whose keys anybody can
// compute: users by name, messages by sender and time, timelines by owner and day.
//
//	joe := msgy.New(client, "joeuser") // a client that is signed in as the account of joeuser
//	err := joe.SaveUser(ctx, msgy.User{Name: "joeuser", FullName: "Joe User", Email: "joe@example.org", UID: "uid-joe"})
//	key, err := joe.PostMessage(ctx, "marleenmgr", "thank you!")
//	messages, err := joe.LastSent(ctx, 10)
//
// The rules are those of testdata/models/msgy: what they do not allow is refused
// with dogwood.ErrPermissionDenied.
//
// With Declared the server keeps the timelines, by the data document of
// testdata/models/msgy, and a message is written once.
package msgy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/record"
)

// ErrTaken is the error of SaveUser if another user has the name.
var ErrTaken = errors.New("the name is taken")

// A User is the record of a name.
type User struct {
	Name     string `json:"user_name"` // 3 to 32 of a-z, 0-9 and _; the key, too
	FullName string `json:"full_name"` // for people to read
	Email    string `json:"email"`     // where the user is reached
	UID      string `json:"uid"`       // the account that the name belongs to
}

// A Message is one that was sent to a user or to a group.
type Message struct {
	Key       string            `json:"-"`         // of the message
	Sender    string            `json:"sender"`    // the user who sent it
	Recipient string            `json:"recipient"` // a user, or a group
	Created   string            `json:"created"`   // by the sender's clock: "2014-03-06T02:05:13.223556Z"
	Day       string            `json:"day"`       // "2014-03-06Z"
	Text      string            `json:"text"`      // up to 2000 characters
	At        dogwood.Timestamp `json:"at"`        // by the server's clock
}

func messageKey(m *Message) *string { return &m.Key }

// A Msgy is the mail of one user.
type Msgy struct {
	db       *dogwood.Client
	me       string
	declared bool
}

// An Option is one of New.
type Option func(*Msgy)

// Declared is for a server that has the data document of the model and its rules: it
// keeps the timelines by the messages.
func Declared() Option { return func(m *Msgy) { m.declared = true } }

// New returns the mail of the user with a name, with whose account's token the
// client is signed in.
func New(db *dogwood.Client, me string, options ...Option) *Msgy {
	m := &Msgy{db: db, me: me}
	for _, set := range options {
		set(m)
	}
	return m
}

// User returns the record of a name, and whether there is one.
func (m *Msgy) User(ctx context.Context, name string) (User, bool, error) {
	s, err := m.db.Ref("users").Child(name).Snapshot(ctx)
	if err != nil || !s.Exists() {
		return User{}, false, err
	}
	u, err := dogwood.Decode[User](s)
	return u, err == nil, err
}

// SaveUser takes a name for the account that the client is signed in with. If
// another user has the name the error is ErrTaken: of two who try at once, the
// rules let one win. To take a name that one has does no harm.
func (m *Msgy) SaveUser(ctx context.Context, u User) error {
	err := m.db.Update(ctx, map[string]any{"users/" + u.Name: u, "uids/" + u.UID: u.Name})
	if !record.Refused(err) {
		return err
	}
	switch there, ok, failed := m.User(ctx, u.Name); {
	case failed != nil:
		return failed
	case ok && there.UID != u.UID:
		return fmt.Errorf("%s: %w", u.Name, ErrTaken)
	case ok:
		return nil // an earlier try
	}
	return err
}

// created is how times are written: to the microsecond.
const created = "2006-01-02T15:04:05.000000Z"

// Key returns the key of a message that was created at a time. It is the sender's
// name and the time, in which a comma stands for the point that keys must not
// have.
func Key(sender string, at time.Time) string { return sender + "_" + dogwood.TimeKey(at) }

// Day returns the key of a day in timelines.
func Day(at time.Time) string { return at.UTC().Format("2006-01-02Z") }

// copies are a message and, unless the server keeps them, its places in timelines.
func (m *Msgy) copies(msg Message) map[string]any {
	if m.declared {
		return map[string]any{"msgs/" + msg.Key: msg}
	}
	return map[string]any{
		"msgs/" + msg.Key: msg,
		"timelines/" + m.me + "/Sent/" + msg.Day + "/" + msg.Key:           msg.Created,
		"timelines/" + msg.Recipient + "/Inbox/" + msg.Day + "/" + msg.Key: msg.Created,
		"recent/" + m.me + "/Sent/" + msg.Key:                              msg.Created,
		"recent/" + msg.Recipient + "/Inbox/" + msg.Key:                    msg.Created,
	}
}

// PostMessage sends a text to a user, or to a group that this user is in, and
// returns the key of the message.
func (m *Msgy) PostMessage(ctx context.Context, recipient, text string) (key string, err error) {
	return m.PostMessageAt(ctx, m.db.ServerTime(), recipient, text)
}

// PostMessageAt is PostMessage with the time when the message was created. The
// message and its four places in timelines are one write. To post a message again
// that is there already does no harm.
func (m *Msgy) PostMessageAt(ctx context.Context, at time.Time, recipient, text string) (key string, err error) {
	msg := Message{Key: Key(m.me, at), Sender: m.me, Recipient: recipient, Created: at.UTC().Format(created), Day: Day(at), Text: text}
	err = m.db.Update(ctx, m.copies(msg))
	if errors.Is(err, dogwood.ErrPermissionDenied) {
		if there, ok, _ := m.Message(ctx, msg.Key); ok && there.Recipient == recipient && there.Text == text {
			return msg.Key, nil
		}
	}
	return msg.Key, err
}

// Message returns a message that this user has sent or got, and whether there is
// one.
func (m *Msgy) Message(ctx context.Context, key string) (Message, bool, error) {
	return record.Read(ctx, m.db.Ref("msgs").Child(key), messageKey)
}

// Author returns the sender that a key names. Names may have a _ in them.
func Author(key string) string { return key[:max(0, strings.LastIndexByte(key, '_'))] }
