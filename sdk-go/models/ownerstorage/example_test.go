package ownerstorage_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/dogwooddb/dogwood/sdk-go/models/internal/modeltest"
	"github.com/dogwooddb/dogwood/sdk-go/models/ownerstorage"
)

var ctx = context.Background()

var check = modeltest.Check

// service are the claims of a game's token.
var service = map[string]any{"service": true, "appId": "game1", "regionId": "s1"}

func Example() {
	db := modeltest.Open("owner-storage")
	defer db.Close()
	game := ownerstorage.New(db.As("svc-game", service), "game1", "s1")
	check(game.Update(ctx, "player", "p1001", map[string]any{"level": 13, "nick": "Li Lei"}))
	sums, err := game.Incr(ctx, "player", "p1001", map[string]float64{"gold": 50, "kills": 1})
	check(err)
	fmt.Println(sums)
	check(game.RemoveKeys(ctx, "player", "p1001", "nick", "bag", "nothing"))
	fields, err := game.GetAll(ctx, "player", "p1001")
	check(err)
	fmt.Println(fields)
	// Output:
	// map[gold:400 kills:1]
	// map[gold:400 kills:1 level:13]
}

func ExampleBatch() {
	db := modeltest.Open("owner-storage")
	defer db.Close()
	game := ownerstorage.New(db.As("svc-game", service), "game1", "s1")
	var b ownerstorage.Batch // a player pays into the guild
	b.Incr("player", "p1001", "gold", -100)
	b.Incr("guild", "g77", "points", 100)
	b.Set("guild", "g77", "patron", "p1001")
	check(game.Apply(ctx, b))
	fields, err := game.GetByFields(ctx, "guild", "g77", "points", "patron", "motto")
	check(err)
	fmt.Println(fields)
	// Output: map[patron:p1001 points:9100]
}

func ExampleStorage_Land() {
	db := modeltest.Open("owner-storage")
	defer db.Close()
	game := ownerstorage.New(db.As("svc-game", service), "game1", "s1")
	check(game.Update(ctx, "player", "p1001", map[string]any{"level": 13}))
	check(game.RemoveKeys(ctx, "player", "p1001", "nick"))

	lander := ownerstorage.New(db.As("svc-landing", service, map[string]any{"landing": true}), "game1", "s1")
	n, err := lander.Land(ctx, 1000, func(rows []ownerstorage.Row) error {
		for _, r := range rows {
			fmt.Println(r.Logic, r.Owner, r.Key, r.Value, r.Deleted)
		}
		return nil
	})
	fmt.Println(n, err)
	// Unordered output:
	// player p1001 level 13 false
	// player p1001 nick Li true
	// 2 <nil>
}

func ExampleStorage_Watch() {
	db := modeltest.Open("owner-storage")
	defer db.Close()
	game := ownerstorage.New(db.As("svc-game", service), "game1", "s1")
	player := ownerstorage.New(db.As("p1002", map[string]any{"appId": "game1", "regionId": "s1", "ownerId": "p1002"}), "game1", "s1")
	for fields, err := range player.Watch(ctx, "player", "p1002") {
		check(err)
		fmt.Println(fields)
		if fields["level"] == 4.0 {
			return
		}
		check(game.Update(ctx, "player", "p1002", map[string]any{"level": 4}))
	}
	// Output:
	// map[gold:20 level:3]
	// map[gold:20 level:4]
}

func ExampleStorage_Get() {
	db := modeltest.Open("owner-storage")
	defer db.Close()
	game := ownerstorage.New(db.As("svc-game", service), "game1", "s1")
	level, err := game.Get(ctx, "player", "p1001", "level")
	fmt.Println(level, err)
	pet, err := game.Get(ctx, "player", "p1001", "pet")
	fmt.Println(pet, err)
	// Output:
	// 12 <nil>
	// <nil> <nil>
}

func ExampleStorage_Replay() {
	db := modeltest.Open("owner-storage")
	defer db.Close()
	game := ownerstorage.New(db.As("svc-game", service), "game1", "s1")
	check(game.Update(ctx, "player", "p1001", map[string]any{"level": 13, "nick": "much too long"}))

	lander := ownerstorage.New(db.As("svc-landing", service, map[string]any{"landing": true}), "game1", "s1")
	tooLong := errors.New("value too long for type character varying(8)")
	save := func(rows []ownerstorage.Row) error {
		for _, r := range rows {
			if r.PrimaryKey() == "player:p1001:nick" {
				return tooLong
			}
		}
		return nil
	}
	n, err := lander.Land(ctx, 1000, save)
	var bad *ownerstorage.RowError
	if errors.As(err, &bad) {
		fmt.Println(n, bad.Error())
		fmt.Println(bad.Unwrap() == tooLong)
	}
	failed, err := lander.Failed(ctx, 10)
	check(err)
	fmt.Println(len(failed), failed[0].Key, failed[0].Tries)
	n, err = lander.Replay(ctx, 10, func([]ownerstorage.Row) error { return nil }) // the column is longer now
	fmt.Println(n, err)
	// Output:
	// 1 the row player:p1001:nick was refused: value too long for type character varying(8)
	// true
	// 1 nick 1
	// 1 <nil>
}

func ExampleHeldError() {
	db := modeltest.Open("owner-storage")
	defer db.Close()
	game := ownerstorage.New(db.As("svc-game", service), "game1", "s1")
	check(game.Update(ctx, "player", "p1001", map[string]any{"level": 13}))
	lander := ownerstorage.New(db.As("svc-landing", service, map[string]any{"landing": true}), "game1", "s1")
	_, err := lander.Land(ctx, 1000, func(rows []ownerstorage.Row) error {
		_, err := lander.Land(ctx, 1000, func([]ownerstorage.Row) error { return nil }) // another one
		var held *ownerstorage.HeldError
		fmt.Println(errors.As(err, &held), held.Error() != "")
		return nil
	})
	check(err)
	// Output: true true
}
