// Package im is instant messaging at a size at which data is divided: every read
// names whom or what it is about, and messages are kept by month, so that old
// months can be moved away as a whole.
//
//	an := im.New(client, "u00000000000000a1") // a client that is signed in as that user
//	group, err := an.CreateGroup(ctx, "Tree lovers")
//	err = an.AddMember(ctx, group, "u00000000000000b2")
//	message, err := an.Send(ctx, group, "hello")
//	page, err := an.Page(ctx, group, im.Message{}, 50)
//
// The rules are those of testdata/models/im. An operation that they do not allow fails
// with dogwood.ErrPermissionDenied. They refuse reads of messages or requests without a
// limit.
//
// With Declared the server keeps the groups of each user and owner, and counts them, by the data
// document of testdata/models/im.
package im

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strings"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/record"
)

// An IM is the service as one user sees it.
type IM struct {
	db       *dogwood.Client
	me       string
	declared bool
}

// An Option is one of New.
type Option func(*IM)

// Declared is for a server that has the data document of the model and its rules: it keeps the
// groups of each user by the members of groups, and those of each owner and their number by
// the groups.
func Declared() Option { return func(m *IM) { m.declared = true } }

// New returns the service as a user sees it, with whose token the client is signed
// in. Ids of users are "u" and 16 hexadecimal digits.
func New(db *dogwood.Client, me string, options ...Option) *IM {
	m := &IM{db: db, me: me}
	for _, set := range options {
		set(m)
	}
	return m
}

// newID returns a unique id: a letter and 8 bytes in hexadecimal.
func newID(letter string) string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return letter + hex.EncodeToString(b[:])
}

// A User is the public part of a user.
type User struct {
	Key     string            `json:"-"`       // of the user
	Name    string            `json:"name"`    // up to 80 characters
	Created dogwood.Timestamp `json:"created"` // by the server's clock
}

// Register makes the record of this user. If there is one the error is
// dogwood.ErrStale.
func (m *IM) Register(ctx context.Context, name string) error {
	return m.db.Ref("users").Child(m.me).Create(ctx, User{Name: name})
}

// User returns a user, and whether there is one.
func (m *IM) User(ctx context.Context, user string) (User, bool, error) {
	return record.Read(ctx, m.db.Ref("users").Child(user), func(u *User) *string { return &u.Key })
}

// ConversationID returns the id of the conversation of two users: "p" and both ids
// without their letters, the smaller one first. That of a group is the group's id.
func ConversationID(a, b string) string {
	a, b = min(a, b), max(a, b)
	return "p" + strings.TrimPrefix(a, "u") + strings.TrimPrefix(b, "u")
}

// OpenConversation makes sure that there is a conversation with another user, and
// returns its id.
func (m *IM) OpenConversation(ctx context.Context, other string) (id string, err error) {
	id = ConversationID(m.me, other)
	at := m.db.Ref("conversations").Child(id)
	if s, err := at.Snapshot(ctx); err == nil && s.Exists() {
		return id, nil // a user outside of a conversation cannot see that there is none
	}
	return id, at.Set(ctx, map[string]any{"kind": "private", "a": min(m.me, other), "b": max(m.me, other)})
}
