package social

import (
	"context"
	"maps"
	"slices"
	"sort"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/record"
)

func (s *Social) home() dogwood.Ref { return s.db.Ref("home").Child(s.me) }

// HomeTimeline returns the n newest statuses of this user and of those they follow,
// the oldest of them first. Entries of statuses that their authors have deleted are
// left out and removed.
func (s *Social) HomeTimeline(ctx context.Context, n int) ([]Status, error) {
	list, gone, err := s.statuses(ctx, s.home().OrderByValue().LimitToLast(n))
	if err != nil || len(gone) == 0 {
		return list, err
	}
	return list, s.db.Update(ctx, s.update(gone, false))
}

// ProfileTimeline returns the n newest statuses of a user, the oldest of them
// first.
func (s *Social) ProfileTimeline(ctx context.Context, user string, n int) ([]Status, error) {
	list, _, err := s.statuses(ctx, s.db.Ref("profile").Child(user).OrderByValue().LimitToLast(n))
	return list, err
}

// statuses reads the statuses that a timeline names, in one round trip. gone are
// the entries whose status is not there.
func (s *Social) statuses(ctx context.Context, q dogwood.Query) (list []Status, gone timeline, err error) {
	list, missing, err := record.NamedRecords(ctx, s.db, q, "statuses/$key", statusKey)
	gone = make(timeline)
	for _, key := range missing {
		gone[key] = 0
	}
	return list, gone, err
}

// TrimHome removes the oldest entries of this user's home timeline beyond MaxHome.
// It returns how many. With Declared the server does that in each write, and none is left.
func (s *Social) TrimHome(ctx context.Context) (int, error) {
	if s.declared {
		return 0, nil
	}
	home, err := dogwood.Get[timeline](ctx, s.home())
	if err != nil || len(home) <= MaxHome {
		return 0, err
	}
	excess := oldestFirst(home)[:len(home)-MaxHome]
	update := make(map[string]any)
	for _, status := range excess {
		update["home/"+s.me+"/"+status] = nil
	}
	return len(excess), s.db.Update(ctx, update)
}

// RefillHome enters the newest statuses of all whom this user follows, which is
// what a home lacks after Unfollow.
func (s *Social) RefillHome(ctx context.Context) error {
	following, err := dogwood.Get[timeline](ctx, s.db.Ref("following").Child(s.me))
	if err != nil {
		return err
	}
	return record.Retry(ctx, func() (timeline, error) {
		all := make(timeline)
		for user := range following {
			newest, err := s.newest(ctx, user)
			if err != nil {
				return nil, err
			}
			maps.Copy(all, newest)
		}
		return all, nil
	}, func(all timeline) error {
		for _, old := range oldestFirst(all)[:max(0, len(all)-MaxHome)] {
			delete(all, old)
		}
		return s.db.Update(ctx, s.update(all, true))
	})
}

func oldestFirst(t timeline) []string {
	list := slices.Collect(maps.Keys(t))
	sort.Slice(list, func(i, j int) bool { return t[list[i]] < t[list[j]] })
	return list
}
