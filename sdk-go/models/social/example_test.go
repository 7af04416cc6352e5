package social_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/dogwooddb/dogwood/sdk-go/models/internal/modeltest"
	"github.com/dogwooddb/dogwood/sdk-go/models/social"
)

var ctx = context.Background()

var check = modeltest.Check

func Example() {
	db := modeltest.Open("social")
	defer db.Close()
	josiah, lurker := social.New(db.As("u1"), "u1"), social.New(db.As("u4"), "u4")
	check(lurker.Follow(ctx, "u1"))
	_, err := josiah.PostStatus(ctx, "fan-out in one write")
	check(err)
	home, err := lurker.HomeTimeline(ctx, 30)
	check(err)
	for _, s := range home {
		fmt.Printf("%s: %s\n", s.Login, s.Message)
	}
	check(lurker.Unfollow(ctx, "u1"))
	home, err = lurker.HomeTimeline(ctx, 30)
	fmt.Println(len(home), err)
	// Output:
	// dr_josiah: Hello from chapter eight
	// dr_josiah: posting about redis and trees
	// dr_josiah: fan-out in one write
	// 0 <nil>
}

func ExampleSocial_CreateUser() {
	db := modeltest.Open("social")
	defer db.Close()
	uid, err := social.New(db.As("signup"), "").NextUserID(ctx)
	check(err)
	newcomer := social.New(db.As(uid), uid)
	fmt.Println(uid, errors.Is(newcomer.CreateUser(ctx, "REDIS_fan", "Somebody"), social.ErrTaken))
	check(newcomer.CreateUser(ctx, "NewComer", "New Comer"))
	u, _, err := newcomer.User(ctx, uid)
	fmt.Println(u.Login, u.ID, u.Posts, err)
	// Output:
	// u5 true
	// NewComer 5 0 <nil>
}

func ExampleSocial_Resume() {
	db := modeltest.Open("social")
	defer db.Close()
	josiah, fan := social.New(db.As("u1"), "u1"), social.New(db.As("u2"), "u2")
	josiah.PassSize = 1 // two followers are two passes
	status, err := josiah.PostStatus(ctx, "one by one")
	check(err)
	n, err := josiah.Resume(ctx)
	fmt.Println("unfinished:", n, err)
	home, err := fan.HomeTimeline(ctx, 1)
	fmt.Println(home[0].Key == status.Key, err)
	// Output:
	// unfinished: 0 <nil>
	// true <nil>
}

func ExampleSocial_Stream() {
	db := modeltest.Open("social")
	defer db.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	firehose := social.New(db.As("svc-feed", map[string]any{"firehose": true}), "")
	events := firehose.Stream(ctx, social.Filter{Track: []string{"sorted trees, redis"}})
	heard, done := make(chan social.Event), make(chan struct{})
	go func() {
		defer close(done)
		for e, err := range events {
			if err != nil {
				return
			}
			heard <- e
		}
	}()
	fan := social.New(db.As("u2"), "u2")
	for _, text := range []string{"I like trees", "I like redis"} {
		_, err := fan.PostStatus(ctx, text)
		check(err)
	}
	e := <-heard
	fmt.Println(e.Status.Login, e.Status.Message)
	check(fan.DeleteStatus(ctx, e.Status.Key))
	e = <-heard
	fmt.Println(e.Status.ID, e.Deleted)
	cancel()
	<-done
	// Output:
	// Redis_Fan I like redis
	// 6 true
}
