package social_test

import (
	"fmt"

	"github.com/dogwooddb/dogwood/sdk-go/models/internal/modeltest"
	"github.com/dogwooddb/dogwood/sdk-go/models/social"
)

func ExampleSocial_Followers() {
	db := modeltest.Open("social")
	defer db.Close()
	lurker := social.New(db.As("u4"), "u4")
	followers, err := lurker.Followers(ctx, "u1", 10)
	fmt.Println(followers, err)
	following, err := lurker.Following(ctx, "u1", 10)
	fmt.Println(following, err)
	// Output:
	// [u2 u3] <nil>
	// [u3] <nil>
}

func ExampleSocial_LoginFree() {
	db := modeltest.Open("social")
	defer db.Close()
	lurker := social.New(db.As("u4"), "u4")
	for _, login := range []string{"DR_Josiah", "nobody_yet"} {
		free, err := lurker.LoginFree(ctx, login)
		fmt.Println(login, free, err)
	}
	// Output:
	// DR_Josiah false <nil>
	// nobody_yet true <nil>
}

func ExampleSocial_SetName() {
	db := modeltest.Open("social")
	defer db.Close()
	lurker := social.New(db.As("u4"), "u4")
	check(lurker.SetName(ctx, "Lou Ker"))
	u, found, err := lurker.User(ctx, "u4")
	fmt.Println(u.Name, found, err)
	// Output: Lou Ker true <nil>
}

func ExampleSocial_PostStatusFrom() {
	db := modeltest.Open("social")
	defer db.Close()
	fan, lurker := social.New(db.As("u2"), "u2"), social.New(db.As("u4"), "u4")
	posted, err := fan.PostStatusFrom(ctx, "from the pier", "34.01,-118.50")
	check(err)
	s, found, err := lurker.Status(ctx, posted.Key)
	fmt.Println(s.Message, s.Location, found, err)
	profile, err := lurker.ProfileTimeline(ctx, "u2", 10)
	check(err)
	for _, s := range profile {
		fmt.Println(s.Key, s.Message)
	}
	losAngeles := social.Filter{Location: &social.Box{West: -119, South: 33, East: -118, North: 35}}
	fmt.Println(losAngeles.Match(s), losAngeles.Match(profile[0]))
	// Output:
	// from the pier 34.01,-118.50 true <nil>
	// s2 sorted sets are timelines
	// s5 from the pier
	// true false
}

func ExampleFilter_Match() {
	f := social.Filter{Track: []string{"redis trees"}}
	fmt.Println(f.Match(social.Status{Message: "posting about redis and trees"}))
	fmt.Println(f.Match(social.Status{Message: "posting about redis"}))
	// Output:
	// true
	// false
}

func ExampleSocial_RefillHome() {
	db := modeltest.Open("social")
	defer db.Close()
	fan := social.New(db.As("u2"), "u2")
	check(fan.Unfollow(ctx, "u1"))
	check(fan.Follow(ctx, "u3"))
	check(fan.RefillHome(ctx))
	home, err := fan.HomeTimeline(ctx, 10)
	check(err)
	for _, s := range home {
		fmt.Println(s.Login, s.Message)
	}
	n, err := fan.TrimHome(ctx) // far below MaxHome
	fmt.Println(n, err)
	// Output:
	// Redis_Fan sorted sets are timelines
	// treehugger @dr_josiah trees can do it too
	// 0 <nil>
}
