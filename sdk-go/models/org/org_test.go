package org_test

import (
	"errors"
	"testing"

	"github.com/dogwooddb/dogwood/internal/leaktest"
	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/modeltest"
	"github.com/dogwooddb/dogwood/sdk-go/models/org"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestOrg(t *testing.T) {
	t.Run("fan-out", func(t *testing.T) {
		db := modeltest.Open("org")
		defer db.Close()
		testOrg(t, func(uid string) *org.Org { return org.New(db.As(uid), uid) })
	})
	// Clients that know nothing of the document may be there with those that do.
	as := modeltest.Declared(t, "org")
	for name, options := range map[string][]org.Option{"declared": {org.Declared()}, "declared, all copies written": nil} {
		t.Run(name, func(t *testing.T) {
			testOrg(t, func(uid string) *org.Org { return org.New(as(uid), uid, options...) })
		})
	}
}

// A group is deleted with its members in one write, and no user has it any more.
func TestDeleteGroup(t *testing.T) {
	as := modeltest.Declared(t, "org")
	mary := org.New(as("mchen"), "mchen", org.Declared())
	hmadi := org.New(as("hmadi"), "hmadi", org.Declared())
	check(mary.CreateGroup(ctx, "delta", "Delta Blues"))
	check(mary.AddMember(ctx, "delta", "hmadi"))
	if is, err := hmadi.IsMember(ctx, "delta"); !is || err != nil {
		t.Errorf("after it was added, is a member = %v, %v", is, err)
	}
	check(mary.DeleteGroup(ctx, "delta"))
	if is, err := hmadi.IsMember(ctx, "delta"); is || err != nil {
		t.Errorf("after the group was deleted, is a member = %v, %v", is, err)
	}
}

func testOrg(t *testing.T, as func(uid string) *org.Org) {
	mary, newbie := as("mchen"), as("newbie")
	for _, step := range []struct {
		name string
		do   func() error
		want error
	}{
		{"add who is not known", func() error { return mary.AddMember(ctx, "alpha", "newbie") }, dogwood.ErrPermissionDenied},
		{"sign up", func() error { return newbie.SignUp(ctx, "New Bie") }, nil},
		{"sign up again", func() error { return newbie.SignUp(ctx, "New Bie") }, dogwood.ErrStale},
		{"add oneself", func() error { return newbie.AddMember(ctx, "alpha", "newbie") }, dogwood.ErrPermissionDenied},
		{"add", func() error { return mary.AddMember(ctx, "alpha", "newbie") }, nil},
		{"add again", func() error { return mary.AddMember(ctx, "alpha", "newbie") }, nil},
		{"delete a member", func() error { return newbie.DeleteUser(ctx) }, dogwood.ErrPermissionDenied},
		{"remove another", func() error { return newbie.RemoveMember(ctx, "alpha", "hmadi") }, dogwood.ErrPermissionDenied},
		{"leave", func() error { return newbie.Leave(ctx, "alpha") }, nil},
		{"delete", func() error { return newbie.DeleteUser(ctx) }, nil},
		{"delete another's group", func() error { return mary.DeleteGroup(ctx, "charlie") }, dogwood.ErrPermissionDenied},
	} {
		if err := step.do(); !errors.Is(err, step.want) {
			t.Errorf("%s: err = %v, want %v", step.name, err, step.want)
		}
	}
	if _, ok, err := mary.Group(ctx, "charlie"); !ok || err != nil {
		t.Errorf("charlie is there = %v, %v", ok, err)
	}
}
