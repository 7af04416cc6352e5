package main

import (
	"context"
	"errors"

	"github.com/dogwooddb/dogwood/sdk-go/models/ownerstorage"
)

// Tokens of the model: of the game, of the program that lands, of another region and
// of a player.
var storageModel = dataModel{
	name: "owner-storage",
	users: map[string]map[string]any{
		"svc-game":    {"service": true, "appId": "game1", "regionId": "s1"},
		"svc-game-2":  {"service": true, "appId": "game1", "regionId": "s1"},
		"svc-game-3":  {"service": true, "appId": "game1", "regionId": "s1"},
		"svc-landing": {"service": true, "landing": true, "appId": "game1", "regionId": "s1"},
		"svc-s2":      {"service": true, "appId": "game1", "regionId": "s2"},
		"p1":          {"appId": "game1", "regionId": "s1", "ownerId": "p1"},
	},
	client: storageClient,
}

// storageClient is a client of the storage of a few players. It never sets or removes
// counters.
func storageClient(w *modelWorker) modelDo {
	s := func() *ownerstorage.Storage {
		region := "s1"
		if w.me() == "svc-s2" {
			region = "s2"
		}
		return ownerstorage.New(w.db, "game1", region)
	}
	player := func() string { return w.some("p", 10) }
	field := func() string { return w.some("field", 5) }
	counter := func() string { return w.some("counter", 3) }
	do := modelDo{
		"update": func(ctx context.Context) error {
			return s().Update(ctx, "player", player(), map[string]any{field(): w.text(), field(): w.rnd.IntN(100)})
		},
		"incr": func(ctx context.Context) error {
			_, err := s().Incr(ctx, "player", player(), map[string]float64{counter(): float64(w.rnd.IntN(9) - 4)})
			return err
		},
		"batch": func(ctx context.Context) error {
			var b ownerstorage.Batch
			b.Incr("guild", w.some("g", 3), "points", 5)
			b.Incr("player", player(), counter(), -5)
			b.Set("player", player(), field(), w.text())
			return s().Apply(ctx, b)
		},
		"remove keys": func(ctx context.Context) error { return s().RemoveKeys(ctx, "player", player(), field(), field()) },
		"get all":     func(ctx context.Context) error { _, err := s().GetAll(ctx, "player", player()); return err },
		"land": func(ctx context.Context) error {
			_, err := s().Land(ctx, 5, func([]ownerstorage.Row) error { return nil })
			var held *ownerstorage.HeldError
			if errors.As(err, &held) || errors.Is(err, ownerstorage.ErrLeaseLost) {
				return nil // another one lands
			}
			return err
		},
	}
	if w.crash.model.second {
		do["owners"] = func(ctx context.Context) error {
			for _, err := range s().Owners(ctx, "player") {
				if err != nil {
					return err
				}
			}
			return nil
		}
	}
	return do
}
