package social_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/dogwooddb/dogwood/internal/leaktest"
	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/modeltest"
	"github.com/dogwooddb/dogwood/sdk-go/models/social"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func want(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func keys(list []social.Status) (keys []string) {
	for _, s := range list {
		keys = append(keys, s.Key)
	}
	return keys
}

// Filters are tried with the cases of the model.
func TestFilter(t *testing.T) {
	text, err := os.ReadFile("../../../testdata/models/social/ops.json")
	want(t, err)
	var ops struct {
		BeyondCases []struct {
			ID     string
			Filter struct {
				Track, Follow []string
				Location      *[4]float64
				Sample        *social.Sample
			}
			ExpectKeys  []string
			Deleted     string
			ExpectEvent json.RawMessage
		}
	}
	want(t, json.Unmarshal(text, &ops))
	db := modeltest.Open("social")
	defer db.Close()
	u1 := social.New(db.As("u1"), "u1")
	for _, c := range ops.BeyondCases {
		f := social.Filter{Track: c.Filter.Track, Follow: c.Filter.Follow, Sample: c.Filter.Sample}
		if b := c.Filter.Location; b != nil {
			f.Location = &social.Box{West: b[0], South: b[1], East: b[2], North: b[3]}
		}
		expect := c.ExpectKeys
		if c.Deleted != "" && string(c.ExpectEvent) != "null" {
			expect = []string{c.Deleted}
		}
		var got []string
		for _, key := range []string{"s1", "s2", "s3", "s4"} {
			s, ok, err := u1.Status(ctx, key)
			if want(t, err); !ok {
				t.Fatalf("no status %s", key)
			}
			if (c.Deleted == "" || c.Deleted == key) && f.Match(s) {
				got = append(got, key)
			}
		}
		if !slices.Equal(got, expect) {
			t.Errorf("%s: got %q, want %q", c.ID, got, expect)
		}
	}
	if len(ops.BeyondCases) < 10 {
		t.Errorf("%d cases, want 10", len(ops.BeyondCases))
	}
}

// A sample is a part of all statuses, and another one for another identifier.
func TestSample(t *testing.T) {
	count := func(f social.Filter) (n int) {
		for id := range int64(100) {
			if f.Match(social.Status{ID: id}) {
				n++
			}
		}
		return n
	}
	one, other := social.Sample{Identifier: "1"}, social.Sample{Percent: 35, Identifier: "2"}
	if got := count(social.Filter{Sample: &one}); got != 10 {
		t.Errorf("%d of 100, want 10", got)
	}
	if got := count(social.Filter{Sample: &other}); got != 35 {
		t.Errorf("%d of 100, want 35", got)
	}
}

// Posts that race for an id all succeed, one after the other.
func TestPostsRace(t *testing.T) {
	db := modeltest.Open("social")
	defer db.Close()
	const each = 5
	var all sync.WaitGroup
	for _, u := range []string{"u1", "u2", "u3", "u4"} {
		s := social.New(db.As(u), u)
		all.Go(func() {
			for i := range each {
				if _, err := s.PostStatus(ctx, fmt.Sprint("post ", i)); err != nil {
					t.Errorf("%s: %v", u, err)
				}
			}
		})
	}
	all.Wait()
	last, err := dogwood.Get[int](ctx, db.Ref("counters/statusId"))
	if err != nil || last != 4+4*each {
		t.Errorf("the last id is %d, %v, want %d", last, err, 4+4*each)
	}
	jobs, err := db.Ref("fanout").Snapshot(ctx)
	if err != nil || jobs.Exists() {
		t.Errorf("jobs are left: %s, %v", jobs, err)
	}
}

// A program that goes on with a job sends the status to the followers who do not have it,
// and to none twice.
func TestResume(t *testing.T) {
	db := modeltest.Open("social")
	defer db.Close()
	u1, u4 := social.New(db.As("u1"), "u1"), social.New(db.As("u4"), "u4")
	want(t, u4.Follow(ctx, "u1"))
	status, err := u1.PostStatus(ctx, "hello")
	want(t, err)
	// As if it had ended after u2, who has removed the status since.
	since, err := dogwood.Get[int64](ctx, db.Ref("followers/u1/u2"))
	want(t, err)
	want(t, db.Update(ctx, map[string]any{
		"fanout/u1/" + status.Key: map[string]any{"time": since, "key": "u2"},
		"home/u2/" + status.Key:   nil, "home/u3/" + status.Key: nil, "home/u4/" + status.Key: nil,
	}))
	n, err := u1.Resume(ctx)
	if err != nil || n != 1 {
		t.Fatalf("Resume() = %d, %v", n, err)
	}
	for user, has := range map[string]bool{"u1": true, "u2": false, "u3": true, "u4": true} {
		s, err := db.Ref("home").Child(user).Child(status.Key).Snapshot(ctx)
		if err != nil || s.Exists() != has {
			t.Errorf("%s has it = %v, %v, want %v", user, s.Exists(), err, has)
		}
	}
	// A status that is gone ends its job.
	want(t, db.Ref("fanout/u1/s99").Set(ctx, map[string]any{"time": 1, "key": "u2"}))
	if n, err := u1.Resume(ctx); n != 1 || err != nil {
		t.Errorf("Resume() = %d, %v", n, err)
	}
	if s, err := db.Ref("fanout").Snapshot(ctx); s.Exists() || err != nil {
		t.Errorf("jobs are left: %s, %v", s, err)
	}
}

// Entries whose status was deleted leave the home when they are read.
func TestHomeIsCleaned(t *testing.T) {
	db := modeltest.Open("social")
	defer db.Close()
	u1, u2 := social.New(db.As("u1"), "u1"), social.New(db.As("u2"), "u2")
	u1.PassSize = 1
	status, err := u1.PostStatus(ctx, "soon gone")
	want(t, err)
	u3 := social.New(db.As("u3"), "u3")
	want(t, u1.DeleteStatus(ctx, status.Key)) // from u2 at once, from u3 when u3 reads
	for _, s := range []*social.Social{u2, u3} {
		home, err := s.HomeTimeline(ctx, 30)
		if want(t, err); slices.Contains(keys(home), status.Key) {
			t.Errorf("home = %q", keys(home))
		}
	}
	s, err := db.Ref("home/u3").Child(status.Key).Snapshot(ctx)
	if err != nil || s.Exists() {
		t.Errorf("the entry is left: %s, %v", s, err)
	}
	profile, err := u2.ProfileTimeline(ctx, "u1", 1)
	if err != nil || len(profile) != 1 || profile[0].Key != "s3" {
		t.Errorf("profile = %q, %v", keys(profile), err)
	}
}

func TestHomeIsTrimmedAndFilled(t *testing.T) {
	db := modeltest.Open("social")
	defer db.Close()
	u2 := social.New(db.As("u2"), "u2")
	home := map[string]any{}
	for i := range social.MaxHome + 7 { // the first ones are the oldest
		home[fmt.Sprintf("s%d", 1000+i)] = 1000 + i
	}
	want(t, db.Ref("home/u2").Set(ctx, home))
	n, err := u2.TrimHome(ctx)
	left, err2 := db.Ref("home/u2").Snapshot(ctx)
	if err := errors.Join(err, err2); err != nil || n != 7 || left.NumChildren() != social.MaxHome || left.Child("s1006").Exists() {
		t.Errorf("TrimHome() = %d, %v; %d are left", n, err, left.NumChildren())
	}
	want(t, db.Ref("home/u2").Remove(ctx))
	want(t, u2.RefillHome(ctx))
	list, err := u2.HomeTimeline(ctx, 30)
	if want := []string{"s1", "s3"}; err != nil || !slices.Equal(keys(list), want) {
		t.Errorf("home = %q, %v, want %q", keys(list), err, want)
	}
	following, err := u2.Following(ctx, "u2", 10)
	followers, err2 := u2.Followers(ctx, "u1", 10)
	if err := errors.Join(err, err2); err != nil || !slices.Equal(following, []string{"u1"}) || !slices.Equal(followers, []string{"u2", "u3"}) {
		t.Errorf("u2 follows %q, u1 is followed by %q, %v", following, followers, err)
	}
	want(t, u2.SetName(ctx, "Rita"))
}
