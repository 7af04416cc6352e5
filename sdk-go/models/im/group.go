package im

import (
	"context"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/record"
)

// Roles of members.
const (
	RoleOwner  = "owner"  // made the group, and manages it
	RoleAdmin  = "admin"  // a member whom programs may show as such; the rules allow no more
	RoleMember = "member" // anybody else
)

// A Group is a group without its members and messages.
type Group struct {
	Key     string            `json:"-"`       // of the group
	Owner   string            `json:"owner"`   // the user who made it
	Name    string            `json:"name"`    // up to 80 characters
	Created dogwood.Timestamp `json:"created"` // by the server's clock
}

// A Member is what a group knows of a user.
type Member struct {
	Key    string            `json:"-"`      // of the user
	Role   string            `json:"role"`   // RoleOwner, RoleAdmin or RoleMember
	Joined dogwood.Timestamp `json:"joined"` // by the server's clock
}

// CreateGroup makes a group of this user and returns its id. The rules count a
// user's groups and refuse one too many.
func (m *IM) CreateGroup(ctx context.Context, name string) (group string, err error) {
	group = newID("g")
	update := m.membership(group, m.me, Member{Role: RoleOwner}, dogwood.ServerTimestamp)
	update["groups/"+group] = Group{Owner: m.me, Name: name}
	update["conversations/"+group] = map[string]any{"kind": "group", "group": group}
	m.own(update, group, dogwood.ServerTimestamp, 1)
	return group, m.db.Update(ctx, update)
}

// own adds to an update that this user owns a group from now on, or no longer. The
// counter names the group that it counts. With Declared both follow from the group.
func (m *IM) own(update map[string]any, group string, value any, count float64) {
	if m.declared {
		return
	}
	update["ownedGroups/"+m.me+"/"+group] = value
	update["stats/"+m.me+"/ownedGroups"] = dogwood.Increment(count)
	update["stats/"+m.me+"/lastOwned"] = group
}

// membership returns an update of both sides of a membership and of the user's
// version, by which their devices see that there is something to read. With Declared the
// server keeps one of the sides.
func (m *IM) membership(group, user string, member, joined any) map[string]any {
	update := map[string]any{
		"groupMembers/" + group + "/" + user: member,
		"versions/" + user + "/groups":       dogwood.ServerTimestamp,
	}
	if !m.declared {
		update["userGroups/"+user+"/"+group] = joined
	}
	return update
}

// DeleteGroup deletes a group of this user with all memberships; its messages
// stay, so its id is not used again. If a user joins or leaves meanwhile it
// tries again.
func (m *IM) DeleteGroup(ctx context.Context, group string) error {
	return record.Retry(ctx, func() ([]string, error) {
		s, err := m.db.Ref("groupMembers").Child(group).Snapshot(ctx)
		return record.Keys(s), err
	}, func(members []string) error {
		update := map[string]any{"groups/" + group: nil}
		m.own(update, group, nil, -1)
		for _, user := range members {
			for path, value := range m.membership(group, user, nil, nil) {
				update[path] = value
			}
		}
		return m.db.Update(ctx, update)
	})
}

// RenameGroup gives another name to a group of this user.
func (m *IM) RenameGroup(ctx context.Context, group, name string) error {
	return m.db.Ref("groups").Child(group).Child("name").Set(ctx, name)
}

// AddMember lets a user into a group of this user.
func (m *IM) AddMember(ctx context.Context, group, user string) error {
	return m.db.Update(ctx, m.membership(group, user, Member{Role: RoleMember}, dogwood.ServerTimestamp))
}

// RemoveMember puts a user out of a group of this user.
func (m *IM) RemoveMember(ctx context.Context, group, user string) error {
	return m.db.Update(ctx, m.membership(group, user, nil, nil))
}

// LeaveGroup has this user leave a group of another user.
func (m *IM) LeaveGroup(ctx context.Context, group string) error {
	return m.RemoveMember(ctx, group, m.me)
}

// SetRole makes a member of a group of this user an admin or a member.
func (m *IM) SetRole(ctx context.Context, group, user, role string) error {
	return m.db.Ref("groupMembers").Child(group).Child(user).Child("role").Set(ctx, role)
}

// Group returns a group that this user is in, and whether there is one.
func (m *IM) Group(ctx context.Context, group string) (Group, bool, error) {
	return record.Read(ctx, m.db.Ref("groups").Child(group), func(g *Group) *string { return &g.Key })
}

// Members returns the members of a group that this user is in.
func (m *IM) Members(ctx context.Context, group string) ([]Member, error) {
	s, err := m.db.Ref("groupMembers").Child(group).Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return record.List(s, func(m *Member) *string { return &m.Key })
}

// Groups returns the groups that this user is in, and when they joined. since is the
// version that an earlier call has returned: if there was no change since then, it
// is all that is read, and changed is false.
func (m *IM) Groups(ctx context.Context, since int64) (groups map[string]dogwood.Timestamp, version int64, changed bool, err error) {
	version, err = dogwood.Get[int64](ctx, m.db.Ref("versions").Child(m.me).Child("groups"))
	if err != nil || version == since && since != 0 {
		return nil, version, false, err
	}
	groups, err = dogwood.Get[map[string]dogwood.Timestamp](ctx, m.db.Ref("userGroups").Child(m.me))
	return groups, version, err == nil, err
}

// OwnedGroups returns the groups that this user owns.
func (m *IM) OwnedGroups(ctx context.Context) ([]string, error) {
	s, err := m.db.Ref("ownedGroups").Child(m.me).Snapshot(ctx)
	return record.Keys(s), err
}
