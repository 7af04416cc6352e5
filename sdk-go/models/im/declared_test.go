package im_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/im"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/modeltest"
)

// Groups and members are written, and the server keeps the groups of each user.
func ExampleDeclared() {
	db := modeltest.OpenDeclared("im")
	defer db.Close()
	a, b := im.New(db.As(an), an, im.Declared()), im.New(db.As(bo), bo, im.Declared())
	group, err := a.CreateGroup(ctx, "Climbers")
	check(err)
	check(a.AddMember(ctx, group, bo))
	owned, err := a.OwnedGroups(ctx)
	check(err)
	groups, _, _, err := b.Groups(ctx, 0)
	check(err)
	_, in := groups[group]
	fmt.Println(len(owned), len(groups), in)
	// Output: 2 3 true
}

func TestDeclared(t *testing.T) {
	for name, options := range map[string][]im.Option{"declared": {im.Declared()}, "declared, all copies written": nil} {
		t.Run(name, func(t *testing.T) {
			as := modeltest.Declared(t, "im")
			testGroups(t, as, options)
		})
	}
}

// Of many groups that are made at once there are as many as a user may own, also after one is
// deleted.
func testGroups(t *testing.T, as func(uid string) *dogwood.Client, options []im.Option) {
	ctx := t.Context()
	a, b := im.New(as(an), an, options...), im.New(as(bo), bo, options...)
	var all sync.WaitGroup
	made := make(chan string, 8)
	for range cap(made) {
		all.Go(func() {
			group, err := a.CreateGroup(ctx, "One of many")
			if err == nil {
				made <- group
				return
			}
			wantDenied(t, "one group too many", err)
		})
	}
	all.Wait()
	close(made)
	if len(made) != 2 { // and one was there
		t.Fatalf("%d groups were made", len(made))
	}
	group := <-made
	want(t, a.AddMember(ctx, group, bo))
	wantDenied(t, "another member adds", b.AddMember(ctx, group, dai))
	groups, version, changed, err := b.Groups(ctx, 0)
	if _, in := groups[group]; err != nil || !changed || !in {
		t.Errorf("the groups of a new member: %v, %v", groups, err)
	}
	for time.Now().UnixMilli() <= version { // versions are times: a change in the same millisecond is not told apart
		time.Sleep(100 * time.Microsecond)
	}
	want(t, b.LeaveGroup(ctx, group))
	if groups, _, changed, err = b.Groups(ctx, version); err != nil || !changed || len(groups) != 2 {
		t.Errorf("after leaving: %v, %v, %v", groups, changed, err)
	}
	want(t, a.DeleteGroup(ctx, group))
	if owned, err := a.OwnedGroups(ctx); err != nil || len(owned) != 2 {
		t.Errorf("after a deletion: %v, %v", owned, err)
	}
	_, err = a.CreateGroup(ctx, "In its place")
	want(t, err)
	_, err = a.CreateGroup(ctx, "Again too many")
	wantDenied(t, "the fourth group", err)
}

// A user that owns more than the bound, since it was lowered, can still delete groups.
func TestLowerBound(t *testing.T) {
	db := modeltest.OpenDeclared("im")
	defer db.Close()
	a := im.New(db.As(an), an, im.Declared())
	var groups []string
	for range 2 {
		group, err := a.CreateGroup(t.Context(), "Group")
		want(t, err)
		groups = append(groups, group)
	}
	want(t, db.Ref("limits/ownedGroups").Set(t.Context(), 1))
	for _, group := range groups {
		want(t, a.DeleteGroup(t.Context(), group))
	}
	_, err := a.CreateGroup(t.Context(), "Group")
	wantDenied(t, "a second group", err)
}
