package main

import (
	"context"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/sdk-go/models/im"
)

var imModel = dataModel{
	name: "im",
	seed: func(data map[string]any) {
		now := time.Now().UTC()
		for _, t := range []time.Time{now, now.AddDate(0, 0, 7)} { // which may be another month
			from := time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
			data["buckets"].(map[string]any)[im.BucketOf(t)] = map[string]any{"from": from.UnixMilli(), "to": from.AddDate(0, 1, 0).UnixMilli(), "tier": "hot"}
		}
		data["config"].(map[string]any)["optionalIndexes"].(map[string]any)["sentRequests"] = true
	},
	users:  map[string]map[string]any{"u00000000000000a1": nil, "u00000000000000b2": nil, "u00000000000000c3": nil, "u00000000000000d4": nil, "u00000000000000e5": nil},
	client: imClient,
}

// imClient is a client of the messenger.
func imClient(w *modelWorker) modelDo {
	m := func() *im.IM {
		if w.crash.model.second {
			return im.New(w.db, w.me(), im.Declared())
		}
		return im.New(w.db, w.me())
	}
	// group is one of those that the data have, or that this client has made.
	group := func() string {
		if n := len(w.mine); n > 0 && w.rnd.IntN(2) == 0 {
			return w.mine[w.rnd.IntN(n)]
		}
		return w.some("g000000000000100", 3)
	}
	var sent []string // conversation, month and key of messages
	send := func(ctx context.Context, conversation string) error {
		msg, err := m().Send(ctx, conversation, w.text())
		if err == nil {
			sent = append(sent, conversation+" "+msg.Bucket+" "+msg.Key)
		}
		return err
	}
	return modelDo{
		"register": func(ctx context.Context) error { return m().Register(ctx, w.text()) },
		"create group": func(ctx context.Context) error {
			id, err := m().CreateGroup(ctx, w.text())
			return w.made(id, err)
		},
		"delete group":  func(ctx context.Context) error { return m().DeleteGroup(ctx, w.take()) },
		"rename group":  func(ctx context.Context) error { return m().RenameGroup(ctx, group(), w.text()) },
		"add":           func(ctx context.Context) error { return m().AddMember(ctx, group(), w.user()) },
		"remove":        func(ctx context.Context) error { return m().RemoveMember(ctx, group(), w.user()) },
		"leave":         func(ctx context.Context) error { return m().LeaveGroup(ctx, group()) },
		"set role":      func(ctx context.Context) error { return m().SetRole(ctx, group(), w.user(), im.RoleAdmin) },
		"send to group": func(ctx context.Context) error { return send(ctx, group()) },
		"send": func(ctx context.Context) error {
			id, err := m().OpenConversation(ctx, w.user())
			if err != nil {
				return err
			}
			return send(ctx, id)
		},
		"logical delete": func(ctx context.Context) error {
			if len(sent) == 0 {
				return send(ctx, group())
			}
			parts := strings.Fields(sent[0])
			sent = sent[1:]
			return m().LogicalDelete(ctx, parts[0], im.Message{Bucket: parts[1], Key: parts[2]})
		},
		"page":           func(ctx context.Context) error { _, err := m().Page(ctx, group(), im.Message{}, 20); return err },
		"friend request": func(ctx context.Context) error { _, err := m().FriendRequest(ctx, w.user(), w.text()); return err },
		"answer": func(ctx context.Context) error {
			requests, err := m().Requests(ctx, time.UnixMilli(0), 50)
			if err != nil || len(requests) == 0 {
				return err
			}
			return m().Answer(ctx, requests[w.rnd.IntN(len(requests))].Key, im.Accepted)
		},
		"groups": func(ctx context.Context) error { _, _, _, err := m().Groups(ctx, 0); return err },
	}
}
