package main

import (
	"context"

	"github.com/dogwooddb/dogwood/sdk-go/models/org"
)

var orgModel = dataModel{
	name:   "org",
	users:  map[string]map[string]any{"mchen": nil, "brinchen": nil, "hmadi": nil, "solo": nil, "newbie": nil},
	client: orgClient,
}

// orgClient is a client of an organisation with a few groups.
func orgClient(w *modelWorker) modelDo {
	o := func() *org.Org {
		if w.crash.model.second {
			return org.New(w.db, w.me(), org.Declared())
		}
		return org.New(w.db, w.me())
	}
	group := func() string { return w.some("group", 8) }
	return modelDo{
		"sign up":      func(ctx context.Context) error { return o().SignUp(ctx, w.text()) },
		"delete user":  func(ctx context.Context) error { return o().DeleteUser(ctx) },
		"create group": func(ctx context.Context) error { return o().CreateGroup(ctx, group(), w.text()) },
		"rename group": func(ctx context.Context) error { return o().RenameGroup(ctx, group(), w.text()) },
		"add":          func(ctx context.Context) error { return o().AddMember(ctx, group(), w.user()) },
		"remove":       func(ctx context.Context) error { return o().RemoveMember(ctx, group(), w.user()) },
		"leave":        func(ctx context.Context) error { return o().Leave(ctx, group()) },
		"delete group": func(ctx context.Context) error { return o().DeleteGroup(ctx, group()) },
		"own groups":   func(ctx context.Context) error { _, err := o().OwnGroups(ctx); return err },
	}
}
