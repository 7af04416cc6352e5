package social

import (
	"context"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/record"
)

// A timeline is keys of statuses with the times when they were posted.
type timeline map[string]int64

// update returns an update that enters a timeline into the home of this user, or
// removes it.
func (s *Social) update(t timeline, enter bool) map[string]any {
	update := make(map[string]any)
	for status, posted := range t {
		if update["home/"+s.me+"/"+status] = nil; enter {
			update["home/"+s.me+"/"+status] = posted
		}
	}
	return update
}

// newest reads the newest statuses of a user, as many as a home has room for.
func (s *Social) newest(ctx context.Context, user string) (timeline, error) {
	return dogwood.Get[timeline](ctx, s.db.Ref("profile").Child(user).OrderByValue().LimitToLast(MaxHome))
}

// edge returns an update of both sides of an edge from this user to another one,
// and of both counters. The counter of this user names the edge that it counts. If the server
// keeps the other side and the counters it is one place.
func (s *Social) edge(user string, since any, by float64) map[string]any {
	following := "following/" + s.me + "/" + user
	if s.declared {
		return map[string]any{following: since}
	}
	return map[string]any{
		following:                        since,
		"followers/" + user + "/" + s.me: since,
		"users/" + s.me + "/following":   dogwood.Increment(by),
		"users/" + s.me + "/lastEdge":    user,
		"users/" + user + "/followers":   dogwood.Increment(by),
	}
}

// Follow has this user follow another one, whose newest statuses come into this user's
// home timeline.
func (s *Social) Follow(ctx context.Context, user string) error {
	var merged timeline
	err := record.Retry(ctx, func() (timeline, error) {
		return s.newest(ctx, user)
	}, func(newest timeline) error {
		merged = newest
		update := s.edge(user, dogwood.ServerTimestamp, 1)
		for path, value := range s.update(newest, true) {
			update[path] = value
		}
		return s.db.Update(ctx, update)
	})
	if err != nil {
		return err
	}
	return s.catchUp(ctx, user, merged)
}

// catchUp enters the statuses that another user has posted since their timeline was
// read. The passes of such a status may have been over before this user was a follower.
func (s *Social) catchUp(ctx context.Context, user string, merged timeline) error {
	return record.Retry(ctx, func() (timeline, error) {
		newest, err := s.newest(ctx, user)
		for status := range merged {
			delete(newest, status)
		}
		return newest, err
	}, func(missing timeline) error {
		return s.db.Update(ctx, s.update(missing, true))
	})
}

// Unfollow has this user no longer follow another one, whose statuses leave this user's
// home timeline. RefillHome fills the gap.
func (s *Social) Unfollow(ctx context.Context, user string) error {
	gone, err := s.homeOf(ctx, user)
	if err != nil {
		return err
	}
	update := s.edge(user, nil, -1)
	for path, value := range s.update(gone, false) {
		update[path] = value
	}
	if err := s.db.Update(ctx, update); err != nil {
		return err
	}
	// No status follows these: the rules refuse further passes to this home.
	late, err := s.homeOf(ctx, user)
	if err != nil {
		return err
	}
	return s.db.Update(ctx, s.update(late, false))
}

// homeOf returns the entries of this user's home that are statuses of another one.
func (s *Social) homeOf(ctx context.Context, user string) (timeline, error) {
	home, err := dogwood.Get[timeline](ctx, s.home())
	if err != nil || len(home) == 0 {
		return nil, err
	}
	oldest := int64(0)
	for _, posted := range home {
		if oldest == 0 || posted < oldest {
			oldest = posted
		}
	}
	profile, err := dogwood.Get[timeline](ctx, s.db.Ref("profile").Child(user).OrderByValue().StartAt(oldest))
	for status := range home {
		if _, ok := profile[status]; !ok {
			delete(home, status)
		}
	}
	return home, err
}

// Followers returns whom a user's statuses are sent to, in the order in which they
// came; n at most.
func (s *Social) Followers(ctx context.Context, user string, n int) ([]string, error) {
	snap, err := s.db.Ref("followers").Child(user).OrderByValue().LimitToFirst(n).Snapshot(ctx)
	return record.Keys(snap), err
}

// Following returns at most n of the users that a user follows, the first one followed
// first.
func (s *Social) Following(ctx context.Context, user string, n int) ([]string, error) {
	snap, err := s.db.Ref("following").Child(user).OrderByValue().LimitToFirst(n).Snapshot(ctx)
	return record.Keys(snap), err
}
