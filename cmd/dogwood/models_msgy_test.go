package main

import (
	"context"
	"time"

	"github.com/dogwooddb/dogwood/sdk-go/models/msgy"
)

// msgyNames are the names of the accounts of the model, and one that is free.
var msgyNames = map[string]string{"uid-joe": "joeuser", "uid-marleen": "marleenmgr", "uid-ann": "annops", "uid-joe2": "joeuser2"}

var msgyModel = dataModel{
	name:   "msgy",
	users:  map[string]map[string]any{"uid-joe": nil, "uid-marleen": nil, "uid-ann": nil, "uid-joe2": nil},
	client: msgyClient,
}

// msgyClient is a client of the mail. Times are those of a few days, so that some
// are used twice.
func msgyClient(w *modelWorker) modelDo {
	m := func() *msgy.Msgy {
		if w.crash.model.second {
			return msgy.New(w.db, msgyNames[w.me()], msgy.Declared())
		}
		return msgy.New(w.db, msgyNames[w.me()])
	}
	when := func() time.Time {
		return time.Date(2026, 1, 1+w.rnd.IntN(5), 0, 0, 0, 1000*w.rnd.IntN(100_000), time.UTC)
	}
	recipient := func() string {
		if w.rnd.IntN(3) == 0 {
			return "marketing_group"
		}
		return msgyNames[w.user()]
	}
	return modelDo{
		"save user": func(ctx context.Context) error {
			return m().SaveUser(ctx, msgy.User{Name: msgyNames[w.me()], FullName: w.text(), Email: "a@example.org", UID: w.uid})
		},
		"post message": func(ctx context.Context) error {
			_, err := m().PostMessageAt(ctx, when(), recipient(), w.text())
			return err
		},
		"post to a user": func(ctx context.Context) error {
			_, err := m().PostMessageAt(ctx, when(), msgyNames[w.user()], w.text())
			return err
		},
		"last sent": func(ctx context.Context) error { _, err := m().LastSent(ctx, 3); return err },
		"timeline": func(ctx context.Context) error {
			_, err := m().Timeline(ctx, recipient(), msgy.Inbox, "2014-03-06Z")
			return err
		},
	}
}
