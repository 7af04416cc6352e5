package dogwood_test

import (
	"fmt"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

func ExampleQuery_OrderByChild() {
	db := sample()
	defer db.Close()
	check(db.Ref("scores").Set(ctx, map[string]any{"ana": map[string]int{"points": 3}, "bo": map[string]int{"points": 1}}))
	printKeys(db.Ref("scores").OrderByChild("points"))
	// Output: bo ana
}

func ExampleQuery_OrderByChildren() {
	db := sample()
	defer db.Close()
	check(db.SetData(ctx, `{"format": "dogwood-data/1", "define": {"byOwner": {"index": "/groups", "by": ["owner", "created"]}}}`))
	check(db.Ref("groups").Set(ctx, map[string]any{
		"alpha": map[string]any{"owner": "ana", "created": 5}, "bravo": map[string]any{"owner": "bo", "created": 1},
		"delta": map[string]any{"owner": "ana", "created": 3}, "echo": map[string]any{"owner": "ana", "created": 8},
	}))
	byOwner := db.Ref("groups").OrderByChildren("owner", "created")
	printKeys(byOwner)
	printKeys(byOwner.EqualTo([]any{"ana"}))
	printKeys(byOwner.StartAt([]any{"ana", 5}).EndAt([]any{"ana"}).LimitToLast(1))
	// Output:
	// delta alpha echo bravo
	// delta alpha echo
	// echo
}

func ExampleQuery_OrderByKey() {
	db := sample()
	defer db.Close()
	printKeys(db.Ref("scores").OrderByKey())
	// Output: ana bo cy
}

func ExampleQuery_OrderByValue() {
	db := sample()
	defer db.Close()
	printKeys(db.Ref("scores").OrderByValue())
	// Output: bo cy ana
}

func ExampleQuery_OrderByPriority() {
	db := sample()
	defer db.Close()
	check(db.Ref("scores/ana").SetPriority(ctx, 1))
	printKeys(db.Ref("scores").OrderByPriority())
	// Output: bo cy ana
}

func ExampleQuery_StartAt() {
	db := sample()
	defer db.Close()
	printKeys(db.Ref("scores").OrderByValue().StartAt(20))
	printKeys(db.Ref("scores").OrderByValue().StartAt(20, "d"))
	// Output:
	// cy ana
	// ana
}

func ExampleQuery_StartAfter() {
	db := sample()
	defer db.Close()
	page := db.Ref("scores").OrderByKey().LimitToFirst(2)
	printKeys(page)
	printKeys(page.StartAfter("bo"))
	// Output:
	// ana bo
	// cy
}

func ExampleQuery_EndAt() {
	db := sample()
	defer db.Close()
	printKeys(db.Ref("scores").OrderByValue().EndAt(20))
	// Output: bo cy
}

func ExampleQuery_EndBefore() {
	db := sample()
	defer db.Close()
	printKeys(db.Ref("scores").OrderByValue().EndBefore(20))
	// Output: bo
}

func ExampleQuery_EqualTo() {
	db := sample()
	defer db.Close()
	printKeys(db.Ref("scores").OrderByValue().EqualTo(30))
	// Output: ana
}

func ExampleQuery_LimitToFirst() {
	db := sample()
	defer db.Close()
	printKeys(db.Ref("scores").OrderByValue().LimitToFirst(1))
	// Output: bo
}

func ExampleQuery_LimitToLast() {
	db := sample()
	defer db.Close()
	printKeys(db.Ref("scores").OrderByValue().LimitToLast(2))
	// Output: cy ana
}

func ExampleQuery_Ref() {
	db := sample()
	defer db.Close()
	fmt.Println(db.Ref("scores").LimitToLast(2).Ref())
	// Output: /scores
}

func ExampleQuery_Get() {
	db := sample()
	defer db.Close()
	var room Room
	check(db.Ref("rooms/r2").Get(ctx, &room))
	var best map[string]int
	check(db.Ref("scores").OrderByValue().LimitToLast(1).Get(ctx, &best))
	fmt.Println(room.Topic, best)
	// Output: roses map[ana:30]
}

func ExampleQuery_Snapshot() {
	db := sample()
	defer db.Close()
	s, err := db.Ref("rooms/r1").Snapshot(ctx)
	check(err)
	fmt.Println(s.Exists(), s.Child("name").Value())
	// Output: true Lobby
}

func ExampleQuery_Values() {
	db := sample()
	defer db.Close()
	go db.Ref("rooms/r1/topic").Set(ctx, "news") // another client, some time
	for room, err := range db.Ref("rooms/r1").Values(ctx) {
		check(err)
		if topic := room.Child("topic"); topic.Exists() {
			fmt.Println(topic.Value())
			break
		}
	}
	// Output: news
}

// Follow the last two scores until a third comes.
func ExampleQuery_Events() {
	db := sample()
	defer db.Close()
	for ev, err := range db.Ref("scores").OrderByValue().LimitToLast(2).Events(ctx) {
		check(err)
		fmt.Println(ev.Type, ev.Key, ev.Value.Value())
		switch ev.Key {
		case "ana":
			go db.Ref("scores/dan").Set(ctx, 40)
		case "dan":
			return
		}
	}
	// Output:
	// child_added cy 20
	// child_added ana 30
	// child_removed cy 20
	// child_added dan 40
}

func ExampleGet() {
	db := sample()
	defer db.Close()
	rooms, err := dogwood.Get[map[string]Room](ctx, db.Ref("rooms"))
	fmt.Println(rooms["r2"].Name, err)
	// Output: Garden <nil>
}

func ExampleValues() {
	db := sample()
	defer db.Close()
	for room, err := range dogwood.Values[Room](ctx, db.Ref("rooms/r1")) {
		check(err)
		fmt.Println(room.Name)
		break
	}
	// Output: Lobby
}

func ExampleDecode() {
	db := sample()
	defer db.Close()
	s, err := db.Ref("rooms").Snapshot(ctx)
	check(err)
	for key, child := range s.Children() {
		room, err := dogwood.Decode[Room](child)
		check(err)
		fmt.Println(key, room.Name)
	}
	// Output:
	// r1 Lobby
	// r2 Garden
}
