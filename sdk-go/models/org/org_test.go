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
	db := modeltest.Open("org")
	defer db.Close()
	mary, newbie := org.New(db.As("mchen"), "mchen"), org.New(db.As("newbie"), "newbie")
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
