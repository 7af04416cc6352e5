package org_test

import (
	"context"
	"errors"
	"fmt"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/modeltest"
	"github.com/dogwooddb/dogwood/sdk-go/models/org"
)

var ctx = context.Background()

var check = modeltest.Check

func Example() {
	db := modeltest.Open("org")
	defer db.Close()
	mary, rin := org.New(db.As("mchen"), "mchen"), org.New(db.As("brinchen"), "brinchen")

	_, _, err := mary.Group(ctx, "bravo")
	fmt.Println("before:", errors.Is(err, dogwood.ErrPermissionDenied))
	check(rin.AddMember(ctx, "bravo", "mchen"))
	group, _, err := mary.Group(ctx, "bravo")
	check(err)
	fmt.Println("then:", group.Name, group.Owner, len(group.Members))
	names, err := mary.OwnGroups(ctx)
	check(err)
	fmt.Println(names)
	// Output:
	// before: true
	// then: Bravo Foxtrot brinchen 2
	// map[alpha:Alpha Tango bravo:Bravo Foxtrot charlie:Charlie Kilo]
}

func ExampleOrg_DeleteGroup() {
	db := modeltest.Open("org")
	defer db.Close()
	mary := org.New(db.As("mchen"), "mchen")
	check(mary.CreateGroup(ctx, "delta", "Delta Blues"))
	check(mary.RenameGroup(ctx, "delta", "Delta Waltz"))
	check(mary.AddMember(ctx, "delta", "hmadi"))
	check(mary.DeleteGroup(ctx, "delta"))
	member, err := org.New(db.As("hmadi"), "hmadi").IsMember(ctx, "delta")
	fmt.Println(member, err)
	// Output: false <nil>
}

func ExampleOrg_WatchGroups() {
	db := modeltest.Open("org")
	defer db.Close()
	solo, rin := org.New(db.As("solo"), "solo"), org.New(db.As("brinchen"), "brinchen")
	check(rin.AddMember(ctx, "bravo", "solo"))
	for c, err := range solo.WatchGroups(ctx) {
		check(err)
		if c.Value == nil {
			fmt.Println("not in", c.Group)
			return
		}
		fmt.Println("in", c.Value.Name)
		check(rin.RemoveMember(ctx, "bravo", "solo"))
	}
	// Output:
	// in Bravo Foxtrot
	// not in bravo
}

func ExampleOrg_SignUp() {
	db := modeltest.Open("org")
	defer db.Close()
	zoe, mary := org.New(db.As("zoe"), "zoe"), org.New(db.As("mchen"), "mchen")
	check(zoe.SignUp(ctx, "Zoe Zhou"))
	fmt.Println("again:", errors.Is(zoe.SignUp(ctx, "Zoe"), dogwood.ErrStale))
	check(mary.AddMember(ctx, "alpha", "zoe"))
	fmt.Println("in a group:", errors.Is(zoe.DeleteUser(ctx), dogwood.ErrPermissionDenied))
	check(zoe.Leave(ctx, "alpha"))
	fmt.Println("in none:", zoe.DeleteUser(ctx))
	// Output:
	// again: true
	// in a group: true
	// in none: <nil>
}

// One side of a membership is written, and the server keeps the other.
func ExampleDeclared() {
	db := modeltest.OpenDeclared("org")
	defer db.Close()
	solo := org.New(db.As("solo"), "solo", org.Declared())
	check(solo.CreateGroup(ctx, "delta", "Delta Blues"))
	names, err := solo.OwnGroups(ctx)
	check(err)
	fmt.Println(names)
	// Output: map[delta:Delta Blues]
}
