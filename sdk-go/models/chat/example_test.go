package chat_test

import (
	"context"
	"errors"
	"fmt"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/chat"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/modeltest"
)

var ctx = context.Background()

var check = modeltest.Check

func Example() {
	db := modeltest.Open("chat")
	defer db.Close()
	mary, rin := chat.New(db.As("mchen"), "mchen"), chat.New(db.As("brinchen"), "brinchen")

	check(mary.CreateRoom(ctx, "four", "room delta", chat.Private))
	err := rin.JoinRoom(ctx, "four")
	fmt.Println("rin joins:", errors.Is(err, dogwood.ErrPermissionDenied))
	check(mary.AddMember(ctx, "four", "brinchen"))
	_, err = rin.PostMessage(ctx, "four", "thank you!")
	check(err)

	messages, err := mary.Newest(ctx, "four", 50)
	check(err)
	for _, m := range messages {
		fmt.Printf("%s: %s\n", m.Sender, m.Text)
	}
	// Output:
	// rin joins: true
	// brinchen: thank you!
}

func ExampleChat_OwnRooms() {
	db := modeltest.Open("chat")
	defer db.Close()
	mary := chat.New(db.As("mchen"), "mchen")
	rooms, err := mary.OwnRooms(ctx)
	check(err)
	for _, r := range rooms {
		fmt.Println(r.Key, r.Name, r.Type)
	}
	rooms, err = mary.PublicRooms(ctx)
	check(err)
	for _, r := range rooms {
		member, err := mary.IsMember(ctx, r.Key, "mchen")
		check(err)
		fmt.Println(r.Key, r.Type, member)
	}
	// Output:
	// one room alpha private
	// three room charlie public
	// three public true
	// two public false
}

func ExampleChat_Older() {
	db := modeltest.Open("chat")
	defer db.Close()
	mary := chat.New(db.As("mchen"), "mchen")
	page, err := mary.Newest(ctx, "one", 2)
	check(err)
	for len(page) > 0 {
		for _, m := range page {
			fmt.Printf("%s: %s\n", m.Sender, m.Text)
		}
		fmt.Println("--")
		page, err = mary.Older(ctx, "one", page[0].Key, 2)
		check(err)
	}
	// Output:
	// hmadi: after the tests pass
	// mchen: ok
	// --
	// hmadi: bar
	// mchen: shall we ship today?
	// --
	// mchen: foo
	// --
}

func ExampleChat_Tail() {
	db := modeltest.Open("chat")
	defer db.Close()
	mary, hamadi := chat.New(db.As("mchen"), "mchen"), chat.New(db.As("hmadi"), "hmadi")
	for m, err := range hamadi.Tail(ctx, "one", 2) {
		check(err)
		fmt.Printf("%s: %s\n", m.Sender, m.Text)
		switch m.Text {
		case "ok":
			_, err := mary.PostMessage(ctx, "one", "shipped")
			check(err)
		case "shipped":
			return
		}
	}
	// Output:
	// hmadi: after the tests pass
	// mchen: ok
	// mchen: shipped
}

func ExampleChat_DeleteRoom() {
	db := modeltest.Open("chat")
	defer db.Close()
	mary, hamadi := chat.New(db.As("mchen"), "mchen"), chat.New(db.As("hmadi"), "hmadi")
	fmt.Println(mary.LeaveRoom(ctx, "one") != nil) // an owner cannot leave
	check(mary.DeleteRoom(ctx, "one"))
	rooms, err := hamadi.OwnRooms(ctx)
	check(err)
	fmt.Println(len(rooms), rooms[0].Key)
	// Output:
	// true
	// 1 two
}

func ExampleChat_RemoveMember() {
	db := modeltest.Open("chat")
	defer db.Close()
	mary := chat.New(db.As("mchen"), "mchen")
	members, err := mary.Members(ctx, "one")
	fmt.Println(members, err)
	check(mary.RemoveMember(ctx, "one", "hmadi"))
	members, err = mary.Members(ctx, "one")
	fmt.Println(members, err)
	// Output:
	// [hmadi mchen] <nil>
	// [mchen] <nil>
}

func ExampleChat_DeleteMessage() {
	db := modeltest.Open("chat")
	defer db.Close()
	mary, hamadi := chat.New(db.As("mchen"), "mchen"), chat.New(db.As("hmadi"), "hmadi")
	key, err := mary.PostMessage(ctx, "one", "oops")
	check(err)
	fmt.Println("by somebody else:", errors.Is(hamadi.DeleteMessage(ctx, "one", key), dogwood.ErrPermissionDenied))
	check(mary.DeleteMessage(ctx, "one", key))
	newest, err := mary.Newest(ctx, "one", 1)
	check(err)
	fmt.Println(newest[0].Text)
	// Output:
	// by somebody else: true
	// ok
}

func ExampleChat_SetName() {
	db := modeltest.Open("chat")
	defer db.Close()
	mary, zoe := chat.New(db.As("mchen"), "mchen"), chat.New(db.As("zoe"), "zoe")
	fmt.Println("before:", errors.Is(mary.AddMember(ctx, "one", "zoe"), dogwood.ErrPermissionDenied))
	check(zoe.SetName(ctx, "Zoe Zhou"))
	check(mary.AddMember(ctx, "one", "zoe"))
	room, found, err := zoe.Room(ctx, "one")
	fmt.Println("then:", room.Name, room.Owner, found, err)
	// Output:
	// before: true
	// then: room alpha mchen true <nil>
}

// The members of a room are written, and the server keeps the rooms of each user.
func ExampleDeclared() {
	db := modeltest.OpenDeclared("chat")
	defer db.Close()
	mary := chat.New(db.As("mchen"), "mchen", chat.Declared())
	check(mary.CreateRoom(ctx, "four", "room delta", chat.Private))
	rooms, err := mary.OwnRooms(ctx)
	check(err)
	for _, r := range rooms {
		fmt.Println(r.Key, r.Name)
	}
	// Output:
	// four room delta
	// one room alpha
	// three room charlie
}
