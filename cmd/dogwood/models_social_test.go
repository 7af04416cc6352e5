package main

import (
	"context"
	"fmt"

	"github.com/dogwooddb/dogwood/sdk-go/models/social"
)

var socialModel = dataModel{
	name:   "social",
	seed:   func(data map[string]any) { data["counters"].(map[string]any)["userId"] = 8 },
	users:  map[string]map[string]any{"u1": nil, "u2": nil, "u3": nil, "u4": nil, "u5": nil, "u6": nil, "u7": nil, "u8": nil},
	client: socialClient,
}

// socialClient is a client of the network, whose passes are so small that there
// are several for each status.
func socialClient(w *modelWorker) modelDo {
	s := func() *social.Social {
		var options []social.Option
		if w.crash.model.second {
			options = append(options, social.Declared())
		}
		s := social.New(w.db, w.me(), options...)
		s.PassSize = 2
		return s
	}
	post := func(ctx context.Context) error {
		status, err := s().PostStatus(ctx, w.text())
		if status.Key != "" {
			w.mine = append(w.mine, status.Key)
		}
		return err
	}
	return modelDo{
		"next user id": func(ctx context.Context) error {
			if w.rnd.IntN(4) > 0 {
				return post(ctx)
			}
			_, err := s().NextUserID(ctx)
			return err
		},
		"create user": func(ctx context.Context) error {
			return s().CreateUser(ctx, fmt.Sprint("login", w.rnd.IntN(20)), w.text())
		},
		"set name":    func(ctx context.Context) error { return s().SetName(ctx, w.text()) },
		"post status": post,
		"delete status": func(ctx context.Context) error {
			if len(w.mine) < 5 {
				return post(ctx)
			}
			return s().DeleteStatus(ctx, w.take())
		},
		"delete another status": func(ctx context.Context) error {
			if len(w.mine) < 10 {
				return post(ctx)
			}
			return s().DeleteStatus(ctx, w.take())
		},
		"follow":    func(ctx context.Context) error { return s().Follow(ctx, w.user()) },
		"unfollow":  func(ctx context.Context) error { return s().Unfollow(ctx, w.user()) },
		"resume":    func(ctx context.Context) error { _, err := s().Resume(ctx); return err },
		"home":      func(ctx context.Context) error { _, err := s().HomeTimeline(ctx, 30); return err },
		"trim home": func(ctx context.Context) error { _, err := s().TrimHome(ctx); return err },
		"refill":    func(ctx context.Context) error { return s().RefillHome(ctx) },
	}
}
