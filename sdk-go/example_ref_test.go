package dogwood_test

import (
	"errors"
	"fmt"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

func ExampleRef_Key() {
	db := sample()
	defer db.Close()
	fmt.Println(db.Ref("rooms/r1").Key())
	// Output: r1
}

func ExampleRef_Path() {
	db := sample()
	defer db.Close()
	fmt.Println(db.Ref("rooms").Child("r1").Path())
	// Output: /rooms/r1
}

func ExampleRef_Child() {
	db := sample()
	defer db.Close()
	fmt.Println(db.Ref("rooms").Child("r1/members/ana"))
	// Output: /rooms/r1/members/ana
}

func ExampleRef_Parent() {
	db := sample()
	defer db.Close()
	fmt.Println(db.Ref("rooms/r1").Parent())
	// Output: /rooms
}

func ExampleRef_Root() {
	db := sample()
	defer db.Close()
	fmt.Println(db.Ref("rooms/r1").Root().Child("scores"))
	// Output: /scores
}

func ExampleRef_NewChild() {
	db := sample()
	defer db.Close()
	message := db.Ref("messages/r1").NewChild()
	check(db.Update(ctx, map[string]any{
		"messages/r1/" + message.Key(): "hello",
		"rooms/r1/last":                message.Key(),
	}))
	fmt.Println(len(message.Key()))
	// Output: 20
}

func ExampleRef_Set() {
	db := sample()
	defer db.Close()
	check(db.Ref("rooms/r3").Set(ctx, Room{Name: "Attic"}))
	printKeys(db.Ref("rooms").Query)
	// Output: r1 r2 r3
}

func ExampleRef_SetWithPriority() {
	db := sample()
	defer db.Close()
	check(db.Ref("rooms/r3").SetWithPriority(ctx, Room{Name: "Attic"}, -1))
	printKeys(db.Ref("rooms").Query) // those without a priority come first
	// Output: r1 r2 r3
}

func ExampleRef_SetPriority() {
	db := sample()
	defer db.Close()
	check(db.Ref("rooms/r1").SetPriority(ctx, 1))
	printKeys(db.Ref("rooms").Query)
	// Output: r2 r1
}

func ExampleRef_Remove() {
	db := sample()
	defer db.Close()
	check(db.Ref("rooms/r1").Remove(ctx))
	printKeys(db.Ref("rooms").Query)
	// Output: r2
}

func ExampleRef_Push() {
	db := sample()
	defer db.Close()
	for _, text := range []string{"hello", "is anybody here?"} {
		_, err := db.Ref("messages/r1").Push(ctx, text)
		check(err)
	}
	s, err := db.Ref("messages/r1").Snapshot(ctx)
	check(err)
	for _, message := range s.Children() {
		fmt.Println(message.Value())
	}
	// Output:
	// hello
	// is anybody here?
}

func ExampleRef_Update() {
	db := sample()
	defer db.Close()
	check(db.Ref("rooms").Update(ctx, map[string]any{"r1/topic": "news", "r2": nil}))
	s, err := db.Ref("rooms").Snapshot(ctx)
	check(err)
	fmt.Println(s.JSON())
	// Output: {"r1":{"name":"Lobby","topic":"news"}}
}

func ExampleRef_SetIf() {
	db := sample()
	defer db.Close()
	topic := db.Ref("rooms/r2/topic")
	seen, err := topic.Snapshot(ctx)
	check(err)
	fmt.Println(topic.SetIf(ctx, seen, "tulips"))
	err = topic.SetIf(ctx, seen, "weeds")
	fmt.Println(errors.Is(err, dogwood.ErrStale))
	// Output:
	// <nil>
	// true
}

func ExampleRef_Create() {
	db := sample()
	defer db.Close()
	fmt.Println(db.Ref("users/ana").Create(ctx, "Ana"))
	fmt.Println(errors.Is(db.Ref("users/ana").Create(ctx, "Another Ana"), dogwood.ErrStale))
	// Output:
	// <nil>
	// true
}

func ExampleRef_Transaction() {
	db := sample()
	defer db.Close()
	s, err := db.Ref("rooms/r1").Transaction(ctx, func(s dogwood.Snapshot) (any, error) {
		room, err := dogwood.Decode[Room](s)
		if err != nil {
			return nil, err
		}
		if room.Topic != "" {
			return nil, errors.New("somebody was faster")
		}
		room.Topic = "news"
		return room, nil
	})
	fmt.Println(s.JSON(), err)
	// Output: {"name":"Lobby","topic":"news"} <nil>
}

func ExampleTransaction() {
	db := sample()
	defer db.Close()
	visits, err := dogwood.Transaction(ctx, db.Ref("visits/r1"), func(n int) (int, error) { return n + 1, nil })
	fmt.Println(visits, err)
	// Output: 1 <nil>
}

func ExampleIncrement() {
	db := sample()
	defer db.Close()
	check(db.Ref("scores/ana").Set(ctx, dogwood.Increment(5)))
	fmt.Println(dogwood.Get[int](ctx, db.Ref("scores/ana")))
	// Output: 35 <nil>
}

func ExampleMax() {
	db := sample()
	defer db.Close()
	best := db.Ref("best/ana")
	check(best.Set(ctx, dogwood.Max(30)))
	check(best.Set(ctx, dogwood.Max(20)))
	fmt.Println(dogwood.Get[int](ctx, best))
	// Output: 30 <nil>
}

func ExampleMin() {
	db := sample()
	defer db.Close()
	values, err := db.Ref("fastest").UpdateReturning(ctx, map[string]any{"ana": dogwood.Min(9.5)})
	check(err)
	fmt.Println(values["ana"])
	// Output: 9.5
}

func ExampleWithPriority() {
	db := sample()
	defer db.Close()
	check(db.Ref("queue").Set(ctx, map[string]any{
		"later": dogwood.WithPriority("sweep", 2),
		"now":   dogwood.WithPriority("open the door", 1),
	}))
	printKeys(db.Ref("queue").Query)
	// Output: now later
}

func ExampleRef_OnDisconnect() {
	db := sample()
	defer db.Close()
	ana, err := db.As(map[string]any{"uid": "ana"})
	check(err)
	check(ana.Ref("open/ana").Set(ctx, "online"))
	check(ana.Ref("open/ana").OnDisconnect().Set(ctx, "offline"))
	check(ana.Close())
	fmt.Println(dogwood.Get[string](ctx, db.Ref("open/ana")))
	// Output: offline <nil>
}

func ExampleOnDisconnect_Set() {
	db := sample()
	defer db.Close()
	ana, err := db.As(map[string]any{"uid": "ana"})
	check(err)
	check(ana.Ref("open/seen").OnDisconnect().Set(ctx, dogwood.ServerTimestamp))
	check(ana.Close())
	s, err := db.Ref("open/seen").Snapshot(ctx)
	fmt.Println(s.Exists(), err)
	// Output: true <nil>
}

func ExampleOnDisconnect_If() {
	db := sample()
	defer db.Close()
	me := func(c *dogwood.Client) dogwood.Ref { return c.Ref("open/ana") }
	enter := func(session string) *dogwood.Client {
		c, err := db.As(map[string]any{"uid": "ana"})
		check(err)
		check(me(c).OnDisconnect().If("session", session).Remove(ctx))
		check(me(c).Set(ctx, map[string]any{"session": session}))
		return c
	}
	first, second := enter("s1"), enter("s2")
	check(first.Close()) // it is late, and has nothing to remove any more
	s, err := me(db.Client).Snapshot(ctx)
	fmt.Println(s, err)
	check(second.Close())
	s, err = me(db.Client).Snapshot(ctx)
	fmt.Println(s.Exists(), err)
	// Output:
	// {"session":"s2"} <nil>
	// false <nil>
}

func ExampleOnDisconnect_Update() {
	db := sample()
	defer db.Close()
	ana, err := db.As(map[string]any{"uid": "ana"})
	check(err)
	check(ana.Ref("open").OnDisconnect().Update(ctx, map[string]any{"ana": nil, "last": "ana"}))
	check(ana.Close())
	fmt.Println(dogwood.Get[string](ctx, db.Ref("open/last")))
	// Output: ana <nil>
}

func ExampleOnDisconnect_Remove() {
	db := sample()
	defer db.Close()
	ana, err := db.As(map[string]any{"uid": "ana"})
	check(err)
	check(ana.Ref("open/ana").Set(ctx, true))
	check(ana.Ref("open/ana").OnDisconnect().Remove(ctx))
	check(ana.Close())
	s, err := db.Ref("open").Snapshot(ctx)
	fmt.Println(s.Exists(), err)
	// Output: false <nil>
}

func ExampleOnDisconnect_Cancel() {
	db := sample()
	defer db.Close()
	ana, err := db.As(map[string]any{"uid": "ana"})
	check(err)
	check(ana.Ref("open/left").OnDisconnect().Set(ctx, true))
	check(ana.Ref("open").OnDisconnect().Cancel(ctx))
	check(ana.Close())
	s, err := db.Ref("open").Snapshot(ctx)
	fmt.Println(s.Exists(), err)
	// Output: false <nil>
}
