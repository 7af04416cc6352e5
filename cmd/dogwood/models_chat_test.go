package main

import (
	"context"
	"strings"

	"github.com/dogwooddb/dogwood/sdk-go/models/chat"
)

var chatModel = dataModel{
	name:   "chat",
	users:  map[string]map[string]any{"mchen": nil, "brinchen": nil, "hmadi": nil, "new": nil},
	client: chatClient,
}

// chatClient is a client of a chat with a few rooms that all use.
func chatClient(w *modelWorker) modelDo {
	c := func() *chat.Chat {
		if w.crash.model.second {
			return chat.New(w.db, w.me(), chat.Declared())
		}
		return chat.New(w.db, w.me())
	}
	room := func() string { return w.some("room", 6) }
	post := func(ctx context.Context) error {
		r := room()
		key, err := c().PostMessage(ctx, r, w.text())
		return w.made(r+"/"+key, err)
	}
	return modelDo{
		"set name": func(ctx context.Context) error { return c().SetName(ctx, w.text()) },
		"create room": func(ctx context.Context) error {
			return c().CreateRoom(ctx, room(), w.text(), [2]string{chat.Public, chat.Private}[w.rnd.IntN(2)])
		},
		"join room":  func(ctx context.Context) error { return c().JoinRoom(ctx, room()) },
		"leave room": func(ctx context.Context) error { return c().LeaveRoom(ctx, room()) },
		"add":        func(ctx context.Context) error { return c().AddMember(ctx, room(), w.user()) },
		"remove":     func(ctx context.Context) error { return c().RemoveMember(ctx, room(), w.user()) },
		"delete room": func(ctx context.Context) error {
			if w.rnd.IntN(4) > 0 {
				return post(ctx)
			}
			return c().DeleteRoom(ctx, room())
		},
		"post message": post,
		"delete message": func(ctx context.Context) error {
			r, key, ok := strings.Cut(w.take(), "/")
			if !ok {
				return post(ctx)
			}
			return c().DeleteMessage(ctx, r, key)
		},
		"own rooms": func(ctx context.Context) error { _, err := c().OwnRooms(ctx); return err },
		"older":     func(ctx context.Context) error { _, err := c().Older(ctx, room(), "-z", 5); return err },
	}
}
