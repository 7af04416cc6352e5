// Package org is an organisation in the tree: users belong to groups and groups
// list users. Each side is an index of the other, with keys for names and true for
// values: whether a user is in a group is one leaf, and adding twice is harmless.
//
//	mary := org.New(client, "mchen") // a client that is signed in as mchen
//	err := mary.CreateGroup(ctx, "delta", "Delta Blues")
//	err = mary.AddMember(ctx, "delta", "hmadi")
//	groups, err := mary.OwnGroups(ctx)
//
// The rules are those of testdata/models/org: what they do not allow is refused
// with dogwood.ErrPermissionDenied.
//
// With Declared the server keeps the groups of each user, by the data document of
// testdata/models/org. Each method that changes something is one write of one place then.
package org

import (
	"context"
	"errors"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/record"
)

// A Group is a group as its members see it.
type Group struct {
	Key     string          `json:"-"`                 // of the group
	Name    string          `json:"name"`              // up to 80 characters
	Owner   string          `json:"owner"`             // adds and removes members
	Members map[string]bool `json:"members,omitempty"` // the users in it, each true
}

func groupKey(g *Group) *string { return &g.Key }

// An Org is the organisation as one user sees it.
type Org struct {
	db       *dogwood.Client
	me       string
	declared bool
}

// An Option is one of New.
type Option func(*Org)

// Declared is for a server that has the data document of the model and its rules: it
// keeps the groups of each user by the members of the groups.
func Declared() Option { return func(o *Org) { o.declared = true } }

// New returns the organisation as a user sees it, with whose token the client is
// signed in.
func New(db *dogwood.Client, me string, options ...Option) *Org {
	o := &Org{db: db, me: me}
	for _, set := range options {
		set(o)
	}
	return o
}

func (o *Org) user() dogwood.Ref              { return o.db.Ref("users").Child(o.me) }
func (o *Org) group(group string) dogwood.Ref { return o.db.Ref("groups").Child(group) }

// SignUp makes the record of this user. If there is one the error is
// dogwood.ErrStale.
func (o *Org) SignUp(ctx context.Context, name string) error {
	return o.user().Create(ctx, map[string]any{"name": name})
}

// DeleteUser deletes the record of this user, who must be in no group.
func (o *Org) DeleteUser(ctx context.Context) error { return o.user().Remove(ctx) }

// IsMember reports whether this user is in a group. It reads one leaf.
func (o *Org) IsMember(ctx context.Context, group string) (bool, error) {
	s, err := o.user().Child("groups").Child(group).Snapshot(ctx)
	return s.Exists(), err
}

// OwnGroups returns the names of the groups that this user is in, by their keys. It
// takes one round trip for each thousand: others may add the user to any number.
func (o *Org) OwnGroups(ctx context.Context) (map[string]string, error) {
	found, err := record.AllNamed(ctx, o.db, o.user().Child("groups"), "groups/$key/name")
	names := make(map[string]string)
	for _, s := range found {
		name, failed := dogwood.Decode[string](s)
		names[s.Ref().Parent().Key()], err = name, errors.Join(err, failed)
	}
	return names, err
}

// Group returns a group that this user is in or owns, and whether there is one.
func (o *Org) Group(ctx context.Context, group string) (Group, bool, error) {
	return record.Read(ctx, o.group(group), groupKey)
}

// CreateGroup makes a group of this user, who is its first member.
func (o *Org) CreateGroup(ctx context.Context, group, name string) error {
	g := Group{Name: name, Owner: o.me, Members: map[string]bool{o.me: true}}
	if o.declared {
		return o.group(group).Set(ctx, g)
	}
	return o.db.Update(ctx, map[string]any{"groups/" + group: g, index(o.me, group): true})
}

// RenameGroup gives another name to a group of this user.
func (o *Org) RenameGroup(ctx context.Context, group, name string) error {
	return o.group(group).Child("name").Set(ctx, name)
}

// AddMember adds a user to a group that this user owns. To do so twice does no
// harm.
func (o *Org) AddMember(ctx context.Context, group, user string) error {
	return o.setMember(ctx, group, user, true)
}

// RemoveMember removes a user from a group that this user owns.
func (o *Org) RemoveMember(ctx context.Context, group, user string) error {
	return o.setMember(ctx, group, user, nil)
}

// Leave has this user leave a group.
func (o *Org) Leave(ctx context.Context, group string) error {
	return o.setMember(ctx, group, o.me, nil)
}

// setMember changes both sides of the index. The rules refuse one alone, unless the
// server keeps the other.
func (o *Org) setMember(ctx context.Context, group, user string, value any) error {
	if o.declared {
		return o.db.Ref(member(group, user)).Set(ctx, value)
	}
	return o.db.Update(ctx, map[string]any{member(group, user): value, index(user, group): value})
}

func member(group, user string) string { return "groups/" + group + "/members/" + user }
func index(user, group string) string  { return "users/" + user + "/groups/" + group }

// DeleteGroup deletes a group of this user. That takes two writes, since one
// update cannot name a place and another one below it: first all memberships, then
// the group. If a user is added meanwhile it tries again. With Declared it is one write.
func (o *Org) DeleteGroup(ctx context.Context, group string) error {
	if o.declared {
		return o.group(group).Remove(ctx)
	}
	return record.Retry(ctx, func() (Group, error) {
		g, _, err := o.Group(ctx, group)
		return g, err
	}, func(g Group) error {
		gone := make(map[string]any)
		for user := range g.Members {
			gone[member(group, user)], gone[index(user, group)] = nil, nil
		}
		if err := o.db.Update(ctx, gone); err != nil {
			return err
		}
		return o.group(group).Remove(ctx)
	})
}
