package social_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/modeltest"
	"github.com/dogwooddb/dogwood/sdk-go/models/social"
)

// Users, statuses and edges are written once, and the server keeps the rest.
func ExampleDeclared() {
	db := modeltest.OpenDeclared("social")
	defer db.Close()
	fan := social.New(db.As("u2"), "u2", social.Declared())
	check(fan.Follow(ctx, "u3"))
	status, err := fan.PostStatus(ctx, "trees, then")
	check(err)
	me, _, err := fan.User(ctx, "u2")
	check(err)
	followers, err := fan.Followers(ctx, "u3", 10)
	check(err)
	fmt.Println(status.Key, me.Posts, me.Following, followers)
	// Output: s5 2 2 [u1 u2]
}

// forms calls f with what makes the network of a user: with writes of one side, and with those of
// all copies, at a server with the data document.
func forms(t *testing.T, f func(t *testing.T, as func(uid string) *social.Social)) {
	for name, options := range map[string][]social.Option{"declared": {social.Declared()}, "declared, all copies written": nil} {
		t.Run(name, func(t *testing.T) {
			as := modeltest.Declared(t, "social")
			f(t, func(uid string) *social.Social { return social.New(as(uid), uid, options...) })
		})
	}
}

func wantUser(t *testing.T, s *social.Social, user string, followers, following, posts int64) {
	t.Helper()
	u, ok, err := s.User(context.Background(), user)
	if err != nil || !ok || u.Followers != followers || u.Following != following || u.Posts != posts {
		t.Errorf("%s has %d followers, follows %d and has %d posts, %v; want %d, %d, %d", user, u.Followers, u.Following, u.Posts, err, followers, following, posts)
	}
}

func TestDeclared(t *testing.T) {
	forms(t, func(t *testing.T, as func(uid string) *social.Social) {
		ctx := t.Context()
		josiah, lurker := as("u1"), as("u4")
		status, err := josiah.PostStatus(ctx, "counted by the server")
		want(t, err)
		wantUser(t, josiah, "u1", 2, 1, 3)
		want(t, lurker.Follow(ctx, "u1"))
		wantUser(t, josiah, "u1", 3, 1, 3)
		wantUser(t, josiah, "u4", 0, 1, 0)
		for _, user := range []string{"u1", "u4", "ghost"} {
			if err := lurker.Follow(ctx, user); !errors.Is(err, dogwood.ErrPermissionDenied) {
				t.Errorf("follow %s: err = %v", user, err)
			}
		}
		home, err := lurker.HomeTimeline(ctx, 10)
		want(t, err)
		if got := fmt.Sprint(keys(home)); got != "[s1 s3 s5]" {
			t.Errorf("home has %s", got)
		}
		want(t, lurker.Unfollow(ctx, "u1"))
		wantUser(t, josiah, "u4", 0, 0, 0) // the counter is gone, and the user is there
		if err := lurker.DeleteStatus(ctx, status.Key); !errors.Is(err, dogwood.ErrPermissionDenied) {
			t.Errorf("delete a status of another user: err = %v", err)
		}
		want(t, josiah.DeleteStatus(ctx, status.Key))
		wantUser(t, josiah, "u1", 2, 1, 2)
		profile, err := lurker.ProfileTimeline(ctx, "u1", 10)
		want(t, err)
		if got := fmt.Sprint(keys(profile)); got != "[s1 s3]" {
			t.Errorf("profile has %s", got)
		}
	})
}

// If many users want one login at once, one gets it, and nothing of the others is there.
func TestOneLogin(t *testing.T) {
	forms(t, func(t *testing.T, as func(uid string) *social.Social) {
		const n = 20
		var all sync.WaitGroup
		var won atomic.Int32
		for range n {
			uid, err := as("u1").NextUserID(t.Context())
			want(t, err)
			s := as(uid)
			all.Go(func() {
				switch err := s.CreateUser(t.Context(), "NewComer", "New "+uid); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, social.ErrTaken):
					t.Errorf("%s: err = %v, want %v", uid, err, social.ErrTaken)
				}
			})
		}
		all.Wait()
		users := 0
		for i := range n {
			if _, ok, err := as("u1").User(t.Context(), fmt.Sprint("u", i+5)); ok && err == nil {
				users++
			}
		}
		if won.Load() != 1 || users != 1 {
			t.Errorf("%d got the login, and %d users are there", won.Load(), users)
		}
	})
}

// A home is bounded by the write that would make it longer.
func TestHomeIsBounded(t *testing.T) {
	db := modeltest.OpenDeclared("social")
	defer db.Close()
	ctx := t.Context()
	full := make(map[string]int)
	for i := range social.MaxHome {
		full[fmt.Sprint("old", i)] = 1_600_000_000_000 + i
	}
	want(t, db.Ref("home/u2").Set(ctx, full))
	status, err := social.New(db.As("u1"), "u1", social.Declared()).PostStatus(ctx, "for the newest place")
	want(t, err)
	home, err := db.Ref("home/u2").Snapshot(ctx)
	want(t, err)
	if home.NumChildren() != social.MaxHome || !home.Child(status.Key).Exists() || home.Child("old0").Exists() {
		t.Errorf("home has %d entries; the new one is there: %v, the oldest one: %v", home.NumChildren(), home.Child(status.Key).Exists(), home.Child("old0").Exists())
	}
	if n, err := social.New(db.As("u2"), "u2", social.Declared()).TrimHome(ctx); n != 0 || err != nil {
		t.Errorf("trim: %d, %v", n, err)
	}
}
