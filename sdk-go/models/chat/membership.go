package chat

import (
	"context"

	"github.com/dogwooddb/dogwood/sdk-go/models/internal/record"
)

// CreateRoom makes a room of this user, who is its first member: the room and
// both sides of the membership, in one write.
func (c *Chat) CreateRoom(ctx context.Context, room, name, kind string) error {
	made := map[string]any{
		"rooms/" + room:                Room{Name: name, Type: kind, Owner: c.me},
		"members/" + room + "/" + c.me: true,
	}
	if !c.declared {
		made["users/"+c.me+"/rooms/"+room] = true
	}
	return c.db.Update(ctx, made)
}

// JoinRoom has this user join a public room.
func (c *Chat) JoinRoom(ctx context.Context, room string) error {
	return c.setMember(ctx, room, c.me, true)
}

// LeaveRoom has this user leave a room of another user.
func (c *Chat) LeaveRoom(ctx context.Context, room string) error {
	return c.setMember(ctx, room, c.me, nil)
}

// AddMember lets a user into a room that this user owns.
func (c *Chat) AddMember(ctx context.Context, room, user string) error {
	return c.setMember(ctx, room, user, true)
}

// RemoveMember puts a user out of a room that this user owns.
func (c *Chat) RemoveMember(ctx context.Context, room, user string) error {
	return c.setMember(ctx, room, user, nil)
}

// setMember changes both sides of a membership. The rules refuse one alone, unless the
// server keeps the other.
func (c *Chat) setMember(ctx context.Context, room, user string, value any) error {
	if c.declared {
		return c.members(room).Child(user).Set(ctx, value)
	}
	return c.db.Update(ctx, map[string]any{
		"members/" + room + "/" + user:     value,
		"users/" + user + "/rooms/" + room: value,
	})
}

// DeleteRoom deletes a room that this user owns, with its messages and all
// memberships. The rules refuse to leave a member behind, so if a user joins
// meanwhile it tries again. With Declared it removes all members without reading them.
func (c *Chat) DeleteRoom(ctx context.Context, room string) error {
	if c.declared {
		return c.db.Update(ctx, map[string]any{"rooms/" + room: nil, "messages/" + room: nil, "members/" + room: nil})
	}
	return record.Retry(ctx, func() ([]string, error) {
		return c.Members(ctx, room)
	}, func(members []string) error {
		gone := map[string]any{"rooms/" + room: nil, "messages/" + room: nil}
		for _, user := range members {
			gone["members/"+room+"/"+user] = nil
			gone["users/"+user+"/rooms/"+room] = nil
		}
		return c.db.Update(ctx, gone)
	})
}
