package im_test

import (
	"errors"
	"fmt"
	"time"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/im"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/modeltest"
)

// treeLovers is a group of An, in which Bo and Chen are.
const treeLovers = "g0000000000001001"

func ExampleIM_SetRole() {
	db := modeltest.Open("im")
	defer db.Close()
	a := im.New(db.As(an), an)
	check(a.SetRole(ctx, treeLovers, bo, im.RoleAdmin))
	members, err := a.Members(ctx, treeLovers)
	check(err)
	for _, m := range members {
		fmt.Println(m.Key, m.Role)
	}
	// Output:
	// u00000000000000a1 owner
	// u00000000000000b2 admin
	// u00000000000000c3 member
}

func ExampleIM_LeaveGroup() {
	db := modeltest.Open("im")
	defer db.Close()
	a, b := im.New(db.As(an), an), im.New(db.As(bo), bo)
	check(b.LeaveGroup(ctx, treeLovers))
	check(a.RemoveMember(ctx, treeLovers, chen))
	members, err := a.Members(ctx, treeLovers)
	fmt.Println(len(members), err)
	_, _, err = b.Group(ctx, treeLovers)
	fmt.Println("Bo:", errors.Is(err, dogwood.ErrPermissionDenied))
	// Output:
	// 1 <nil>
	// Bo: true
}

func ExampleIM_RenameGroup() {
	db := modeltest.Open("im")
	defer db.Close()
	a := im.New(db.As(an), an)
	check(a.RenameGroup(ctx, treeLovers, "Shrub lovers"))
	group, found, err := a.Group(ctx, treeLovers)
	fmt.Println(group.Name, group.Owner == an, found, err)
	// Output: Shrub lovers true true <nil>
}

func ExampleIM_Register() {
	db := modeltest.Open("im")
	defer db.Close()
	const eva = "u00000000000000e5"
	e := im.New(db.As(eva), eva)
	check(e.Register(ctx, "Eva"))
	fmt.Println("again:", errors.Is(e.Register(ctx, "Eve"), dogwood.ErrStale))
	u, found, err := im.New(db.As(an), an).User(ctx, eva)
	fmt.Println(u.Name, found, err)
	// Output:
	// again: true
	// Eva true <nil>
}

func ExampleIM_LogicalDelete() {
	db := modeltest.Open("im")
	defer db.Close()
	a, c := im.New(db.As(an), an), im.New(db.As(chen), chen)
	m, err := a.Send(ctx, treeLovers, "oops")
	check(err)
	check(a.LogicalDelete(ctx, treeLovers, m))
	page, err := c.Page(ctx, treeLovers, im.Message{}, 2)
	check(err)
	for _, m := range page {
		fmt.Println(m.Text, m.Deleted != 0)
	}
	// Output:
	// dogwood false
	// oops true
}

func ExampleIM_SentRequests() {
	db := modeltest.Open("im")
	defer db.Close()
	check(db.Ref("config/optionalIndexes/sentRequests").Set(ctx, true))
	a := im.New(db.As(an), an)
	key, err := a.FriendRequest(ctx, dai, "An here")
	check(err)
	sent, err := a.SentRequests(ctx)
	fmt.Println(len(sent), sent[key], err)
	// Output: 1 u00000000000000d4 <nil>
}

func ExampleConversationID() {
	fmt.Println(im.ConversationID(bo, an))
	// Output: p00000000000000a100000000000000b2
}

func ExampleBucketOf() {
	fmt.Println(im.BucketOf(time.Date(2023, time.November, 14, 0, 0, 0, 0, time.UTC)))
	// Output: 202311
}
