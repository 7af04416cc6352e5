package msgy_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dogwooddb/dogwood/sdk-go/models/internal/modeltest"
	"github.com/dogwooddb/dogwood/sdk-go/models/msgy"
)

var ctx = context.Background()

var check = modeltest.Check

func Example() {
	db := modeltest.Open("msgy")
	defer db.Close()
	joe, marleen := msgy.New(db.As("uid-joe"), "joeuser"), msgy.New(db.As("uid-marleen"), "marleenmgr")
	at := time.Date(2014, 3, 6, 10, 0, 0, 2000, time.UTC)
	key, err := joe.PostMessageAt(ctx, at, "marleenmgr", "thank you!")
	check(err)
	fmt.Println(key, "of", msgy.Author(key))
	inbox, err := marleen.Timeline(ctx, "marleenmgr", msgy.Inbox, msgy.Day(at))
	check(err)
	for _, m := range inbox {
		fmt.Printf("%s: %s\n", m.Sender, m.Text)
	}
	// Output:
	// joeuser_2014-03-06T10:00:00,000002Z of joeuser
	// joeuser: thank you!
}

func ExampleMsgy_SaveUser() {
	db := modeltest.Open("msgy")
	defer db.Close()
	other := msgy.New(db.As("uid-joe2"), "joeuser2")
	u := msgy.User{Name: "joeuser", FullName: "Other Joe", Email: "joe@other.example", UID: "uid-joe2"}
	fmt.Println(errors.Is(other.SaveUser(ctx, u), msgy.ErrTaken))
	u.Name = "joeuser2"
	fmt.Println(other.SaveUser(ctx, u))
	// Output:
	// true
	// <nil>
}

func ExampleMsgy_LastSent() {
	db := modeltest.Open("msgy")
	defer db.Close()
	messages, err := msgy.New(db.As("uid-joe"), "joeuser").LastSent(ctx, 3)
	check(err)
	for _, m := range messages {
		fmt.Println(m.Created, m.Text)
	}
	// Output:
	// 2014-03-05T13:15:09.223559Z status report 10
	// 2014-03-05T14:15:00.223550Z status report 11
	// 2014-03-05T15:15:01.223551Z status report 12
}

func ExampleMsgy_WatchInbox() {
	db := modeltest.Open("msgy")
	defer db.Close()
	joe, marleen := msgy.New(db.As("uid-joe"), "joeuser"), msgy.New(db.As("uid-marleen"), "marleenmgr")
	for m, err := range marleen.WatchInbox(ctx) {
		check(err)
		fmt.Println(m.Text)
		if m.Text == "hello" {
			return
		}
		_, err := joe.PostMessage(ctx, "marleenmgr", "hello")
		check(err)
	}
	// Output:
	// status report 12
	// hello
}

func ExampleMsgy_User() {
	db := modeltest.Open("msgy")
	defer db.Close()
	u, found, err := msgy.New(db.As("uid-joe"), "joeuser").User(ctx, "marleenmgr")
	fmt.Println(u.FullName, u.Email, found, err)
	// Output: Marleen Manager marleen.manager@basho.com true <nil>
}

func ExampleMsgy_Message() {
	db := modeltest.Open("msgy")
	defer db.Close()
	joe := msgy.New(db.As("uid-joe"), "joeuser")
	key := msgy.Key("marleenmgr", time.Date(2014, 3, 6, 2, 5, 13, 223556000, time.UTC))
	m, found, err := joe.Message(ctx, key)
	fmt.Println(key)
	fmt.Println(m.Text, found, err)
	// Output:
	// marleenmgr_2014-03-06T02:05:13,223556Z
	// Welcome to the company! true <nil>
}

func ExampleMsgy_Days() {
	db := modeltest.Open("msgy")
	defer db.Close()
	joe := msgy.New(db.As("uid-joe"), "joeuser")
	days, err := joe.Days(ctx, "joeuser", msgy.Sent)
	fmt.Println(days, err)
	last, err := joe.Last(ctx, "marketing_group", msgy.Inbox, 1)
	check(err)
	fmt.Println(last[0].Sender, last[0].Text)
	// Output:
	// [2014-03-04Z 2014-03-05Z] <nil>
	// marleenmgr Campaign starts today
}

// A message is written, and the server keeps the timelines.
func ExampleDeclared() {
	db := modeltest.OpenDeclared("msgy")
	defer db.Close()
	joe := msgy.New(db.As("uid-joe"), "joeuser", msgy.Declared())
	marleen := msgy.New(db.As("uid-marleen"), "marleenmgr", msgy.Declared())
	at := time.Date(2014, 3, 6, 10, 0, 0, 2000, time.UTC)
	_, err := joe.PostMessageAt(ctx, at, "marleenmgr", "thank you!")
	check(err)
	inbox, err := marleen.Timeline(ctx, "marleenmgr", msgy.Inbox, msgy.Day(at))
	check(err)
	for _, m := range inbox {
		fmt.Printf("%s: %s\n", m.Sender, m.Text)
	}
	// Output: joeuser: thank you!
}
