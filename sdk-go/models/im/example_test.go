package im_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/im"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/modeltest"
)

var ctx = context.Background()

var check = modeltest.Check

// Users of the data.
const (
	an   = "u00000000000000a1"
	bo   = "u00000000000000b2"
	chen = "u00000000000000c3"
	dai  = "u00000000000000d4"
)

func Example() {
	db := modeltest.Open("im")
	defer db.Close()
	a, d := im.New(db.As(an), an), im.New(db.As(dai), dai)
	group, err := a.CreateGroup(ctx, "Night owls")
	check(err)
	check(a.AddMember(ctx, group, dai))
	_, err = a.Send(ctx, group, "who is awake?")
	check(err)
	page, err := d.Page(ctx, group, im.Message{}, 50)
	check(err)
	for _, m := range page {
		fmt.Printf("%s %s: %s\n", m.Bucket, m.From, m.Text)
	}
	// Output: 202311 u00000000000000a1: who is awake?
}

func ExampleIM_CreateGroup() {
	db := modeltest.Open("im")
	defer db.Close()
	a := im.New(db.As(an), an) // has one group, and may have three
	for range 3 {
		_, err := a.CreateGroup(ctx, "Another")
		fmt.Println(errors.Is(err, dogwood.ErrPermissionDenied))
	}
	owned, err := a.OwnedGroups(ctx)
	check(err)
	check(a.DeleteGroup(ctx, owned[2]))
	_, err = a.CreateGroup(ctx, "After all")
	fmt.Println(err)
	// Output:
	// false
	// false
	// true
	// <nil>
}

func ExampleIM_Page() {
	db := modeltest.Open("im")
	defer db.Close()
	b := im.New(db.As(bo), bo)
	conversation, err := b.OpenConversation(ctx, an)
	check(err)
	var first im.Message
	for { // from the newest one into the month before
		page, err := b.Page(ctx, conversation, first, 2)
		check(err)
		if len(page) == 0 {
			break
		}
		first = page[0]
		for _, m := range page {
			fmt.Println(m.Bucket, m.Text)
		}
		fmt.Println("--")
	}
	next, err := b.Since(ctx, conversation, first, 1)
	check(err)
	fmt.Println(next[0].Bucket)
	// Output:
	// 202311 hi An
	// 202311 lunch?
	// --
	// 202310 last month
	// 202311 hi Bo
	// --
	// 202311
}

func ExampleIM_Groups() {
	db := modeltest.Open("im")
	defer db.Close()
	c := im.New(db.As(chen), chen)
	groups, version, _, err := c.Groups(ctx, 0)
	check(err)
	fmt.Println(len(groups))
	_, version, changed, err := c.Groups(ctx, version)
	check(err)
	fmt.Println(changed)
	check(im.New(db.As(bo), bo).AddMember(ctx, "g0000000000001002", chen))
	groups, _, changed, err = c.Groups(ctx, version)
	check(err)
	fmt.Println(changed, len(groups))
	// Output:
	// 1
	// false
	// true 2
}

func ExampleIM_FriendRequest() {
	db := modeltest.Open("im")
	defer db.Close()
	a, c := im.New(db.As(an), an), im.New(db.As(chen), chen)
	_, err := a.FriendRequest(ctx, chen, "An here")
	check(err)
	requests, err := c.Requests(ctx, time.UnixMilli(1699900000000), 50)
	check(err)
	for _, r := range requests {
		fmt.Println(r.From, r.Text, r.State)
		check(c.Answer(ctx, r.Key, im.Accepted))
		fmt.Println("again:", errors.Is(c.Answer(ctx, r.Key, im.Declined), dogwood.ErrPermissionDenied))
	}
	// Output:
	// u00000000000000a1 An here pending
	// again: true
}
