// Package chat is a chat in the tree: rooms, their members and their messages are
// apart, so that a list of rooms costs no messages and a page of messages costs
// no more than the page.
//
//	mary := chat.New(client, "mchen") // a client that is signed in as mchen
//	err := mary.CreateRoom(ctx, "four", "room delta", chat.Private)
//	key, err := mary.PostMessage(ctx, "four", "who is here?")
//	for message, err := range mary.Tail(ctx, "four", 50) { … }
//
// The rules are those of testdata/models/chat: what they do not allow is refused
// with dogwood.ErrPermissionDenied.
//
// With Declared the server keeps the rooms of each user, by the data document of
// testdata/models/chat, and members are written once.
package chat

import (
	"context"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/record"
)

// Types of rooms.
const (
	Public  = "public"  // every user may read it and join
	Private = "private" // its owner lets people in
)

// A Room is what is known of a room without its members and messages.
type Room struct {
	Key     string            `json:"-"`       // of the room
	Name    string            `json:"name"`    // up to 80 characters
	Type    string            `json:"type"`    // Public or Private
	Owner   string            `json:"owner"`   // made it, and cannot leave it
	Created dogwood.Timestamp `json:"created"` // by the server's clock
}

func roomKey(r *Room) *string { return &r.Key }

// A Chat is the chat as one user sees it.
type Chat struct {
	db       *dogwood.Client
	me       string
	declared bool
}

// An Option is one of New.
type Option func(*Chat)

// Declared is for a server that has the data document of the model and its rules: it
// keeps the rooms of each user by the members of the rooms.
func Declared() Option { return func(c *Chat) { c.declared = true } }

// New returns the chat as a user sees it, with whose token the client is signed
// in.
func New(db *dogwood.Client, me string, options ...Option) *Chat {
	c := &Chat{db: db, me: me}
	for _, set := range options {
		set(c)
	}
	return c
}

// SetName gives this user a name of up to 80 characters, which also makes the
// user: others can let only users into rooms that have one.
func (c *Chat) SetName(ctx context.Context, name string) error {
	return c.db.Ref("users").Child(c.me).Child("name").Set(ctx, name)
}

// PublicRooms returns the rooms that every user may join.
func (c *Chat) PublicRooms(ctx context.Context) ([]Room, error) {
	s, err := c.db.Ref("rooms").OrderByChild("type").EqualTo(Public).Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return record.List(s, roomKey)
}

// OwnRooms returns the rooms that this user is in, private ones among them. It
// takes one round trip for each thousand: others may let the user into any number.
func (c *Chat) OwnRooms(ctx context.Context) ([]Room, error) {
	index := c.db.Ref("users").Child(c.me).Child("rooms")
	return record.AllNamedRecords(ctx, c.db, index, "rooms/$key", roomKey)
}

// Room returns a room, and whether there is one.
func (c *Chat) Room(ctx context.Context, room string) (Room, bool, error) {
	return record.Read(ctx, c.db.Ref("rooms").Child(room), roomKey)
}

// IsMember reports whether a user is in a room. It reads one leaf.
func (c *Chat) IsMember(ctx context.Context, room, user string) (bool, error) {
	s, err := c.members(room).Child(user).Snapshot(ctx)
	return s.Exists(), err
}

// Members returns the users who are in a room.
func (c *Chat) Members(ctx context.Context, room string) ([]string, error) {
	s, err := c.members(room).Snapshot(ctx)
	return record.Keys(s), err
}

func (c *Chat) members(room string) dogwood.Ref  { return c.db.Ref("members").Child(room) }
func (c *Chat) messages(room string) dogwood.Ref { return c.db.Ref("messages").Child(room) }
