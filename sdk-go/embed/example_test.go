package embed_test

import (
	"context"
	"fmt"
	"log"
	"os"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/embed"
)

var ctx = context.Background()

// check ends an example that fails.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// directory makes a directory for an example.
func directory() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "embed")
	check(err)
	return dir, func() { check(os.RemoveAll(dir)) }
}

func ExampleOpen() {
	dir, remove := directory()
	defer remove()
	for range 2 { // what is written stays
		db, err := embed.Open(dir)
		check(err)
		n, err := dogwood.Transaction(ctx, db.Ref("starts"), func(n int) (int, error) { return n + 1, nil })
		check(err)
		fmt.Println("start", n)
		check(db.Close())
	}
	// Output:
	// start 1
	// start 2
}

func ExampleOpenWith() {
	db, err := embed.OpenWith("", embed.Options{Rules: `{"rules": {".read": true}}`})
	check(err)
	defer db.Close()
	anybody, err := db.As(nil)
	check(err)
	fmt.Println(anybody.Ref("a").Set(ctx, 1))
	// Output: set /a: permission denied
}

func ExampleDatabase_As() {
	db, err := embed.OpenWith("", embed.Options{Rules: `{"rules": {"$uid": {".write": "auth.uid === $uid"}}}`})
	check(err)
	defer db.Close()
	ana, err := db.As(map[string]any{"uid": "ana"})
	check(err)
	fmt.Println(ana.Ref("ana").Set(ctx, "mine"))
	fmt.Println(ana.Ref("bo").Set(ctx, "mine, too"))
	// Output:
	// <nil>
	// set /bo: permission denied
}

func ExampleDatabase_SetRules() {
	db, err := embed.Open("")
	check(err)
	defer db.Close()
	check(db.SetRules(ctx, `{"rules": {"open": {".write": true}}}`))
	anybody, err := db.As(nil)
	check(err)
	fmt.Println(anybody.Ref("open").Set(ctx, 1))
	// Output: <nil>
}

func ExampleDatabase_Close() {
	db, err := embed.Open("")
	check(err)
	fmt.Println(db.Close())
	fmt.Println(db.Ref("a").Set(ctx, 1))
	// Output:
	// <nil>
	// set /a: the client is closed
}

// A program listens to its own database. Values yields the value, and the new one after each
// change.
func Example() {
	db, err := embed.Open("")
	check(err)
	defer db.Close()
	name := db.Ref("rooms/r1/name")
	check(name.Set(ctx, "Lobby"))
	for text, err := range dogwood.Values[string](ctx, name) {
		check(err)
		fmt.Println(text)
		if text == "Lounge" {
			break
		}
		check(name.Set(ctx, "Lounge"))
	}
	// Output:
	// Lobby
	// Lounge
}

// Users share a database under its rules: each has a client of their own.
func Example_users() {
	db, err := embed.OpenWith("", embed.Options{Rules: `{"rules": {"scores": {".read": true, "$uid": {".write": "auth.uid === $uid", ".validate": "newData.isNumber()"}}}}`})
	check(err)
	defer db.Close()
	for uid, score := range map[string]any{"ana": 30, "bo": 10} {
		user, err := db.As(map[string]any{"uid": uid})
		check(err)
		check(user.Ref("scores").Child(uid).Set(ctx, score))
		check(user.Close())
	}
	anybody, err := db.As(nil)
	check(err)
	scores, err := dogwood.Get[map[string]int](ctx, anybody.Ref("scores"))
	check(err)
	fmt.Println(scores)
	// Output: map[ana:30 bo:10]
}

// The counter is part of the write of a member.
func ExampleDatabase_SetData() {
	db, err := embed.Open("")
	check(err)
	defer db.Close()
	check(db.SetData(ctx, `{"format": "dogwood-data/1", "define": {
		"members": {"count": "/rooms/$room/members/$user", "to": "/sizes/$room"}}}`))
	check(db.Ref("rooms/one/members/ana").Set(ctx, true))
	n, err := dogwood.Get[int](ctx, db.Ref("sizes/one"))
	fmt.Println(n, err)
	// Output: 1 <nil>
}
