package social

import (
	"context"
	"errors"
	"fmt"
	"time"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/record"
)

// Sending a status to many homes is a job at fanout/$author/$status. It is there
// from the write that posts the status until all followers have it, and its value
// is the cursor of the last pass.

// A cursor is the last follower who has a status: followers are in the order in
// which they came, and those of one millisecond in that of their keys.
type cursor struct {
	Time int64  `json:"time"` // when the follower came, in milliseconds since 1970
	Key  string `json:"key"`  // of the follower; "": no follower has the status
}

// A page is the followers behind a cursor.
type page struct {
	Followers []string
	Last      cursor // of the page; where it began if the page is empty
}

// followers reads a page of this user's followers.
func (s *Social) followers(ctx context.Context, after cursor) (page, error) {
	q := s.db.Ref("followers").Child(s.me).OrderByValue().LimitToFirst(s.PassSize)
	if after.Key != "" {
		q = q.StartAfter(after.Time, after.Key)
	}
	return readPage(ctx, q, after)
}

// settled is how long ago a user must have followed to be on the first page.
const settled = 10 * time.Second

// oldFollowers reads the page that a status is posted with. It is read before the
// status is there. A user who follows in the same millisecond as the last one on the page
// would be on no page, so the newest followers are left to the next page.
func (s *Social) oldFollowers(ctx context.Context) (page, error) {
	now := s.db.ServerTime()
	q := s.db.Ref("followers").Child(s.me).OrderByValue().EndBefore(now.Add(-settled).UnixMilli())
	return readPage(ctx, q.LimitToFirst(s.PassSize), cursor{})
}

func readPage(ctx context.Context, q dogwood.Query, after cursor) (page, error) {
	snap, err := q.Snapshot(ctx)
	p := page{Last: after}
	for key, since := range snap.Children() {
		p.Followers = append(p.Followers, key)
		p.Last = cursor{Key: key}
		if err := since.Decode(&p.Last.Time); err != nil {
			return page{}, err
		}
	}
	return p, err
}

func (s *Social) job(status string) string { return "fanout/" + s.me + "/" + status }

// pass returns an update that sends a status to a page of followers. The cursor
// moves in the same write, and the rules let it move only forward. So a pass is made
// once, also if a program is interrupted or two work on the same job.
func (s *Social) pass(status string, p page, posted any) map[string]any {
	update := map[string]any{s.job(status): p.Last}
	for _, f := range p.Followers {
		update["home/"+f+"/"+status] = posted
	}
	return update
}

// send makes passes until a page is empty. Each page is read after the status is there,
// so that no new follower is forgotten: they are either on a page, or find the status in
// the profile after they have followed.
func (s *Social) send(ctx context.Context, status string) error {
	for {
		done, err := s.sendPage(ctx, status)
		if err != nil {
			return fmt.Errorf("send %s: %w", status, err)
		}
		if done {
			return nil
		}
	}
}

// A turn is what a pass depends on.
type turn struct {
	At     cursor
	Page   page
	Posted int64 // when the status was posted; 0: it is gone
	Open   bool  // the job is there
}

// sendPage makes one pass. If a follower of the page is gone meanwhile the rules
// refuse it, and it is read again.
func (s *Social) sendPage(ctx context.Context, status string) (done bool, err error) {
	err = record.Retry(ctx, func() (turn, error) {
		return s.turn(ctx, status)
	}, func(t turn) error {
		if done = !t.Open || t.Posted == 0 || len(t.Page.Followers) == 0; done {
			return s.close(ctx, status, t)
		}
		return s.db.Update(ctx, s.pass(status, t.Page, t.Posted))
	})
	return done, err
}

// turn reads what the next pass of a job depends on.
func (s *Social) turn(ctx context.Context, status string) (t turn, err error) {
	job, err := s.db.Ref(s.job(status)).Snapshot(ctx)
	if err != nil || !job.Exists() {
		return t, err
	}
	t.Open = true
	if err := job.Decode(&t.At); err != nil {
		return t, err
	}
	if t.Posted, err = dogwood.Get[int64](ctx, s.status(status).Child("posted")); err != nil {
		return t, err
	}
	t.Page, err = s.followers(ctx, t.At)
	return t, err
}

// close ends a job that no other worker has moved on.
func (s *Social) close(ctx context.Context, status string, t turn) error {
	if !t.Open {
		return nil
	}
	err := s.db.Ref(s.job(status)).SetIf(ctx, t.At, nil)
	if errors.Is(err, dogwood.ErrStale) {
		return nil // another worker goes on with it
	}
	return err
}

// Resume goes on with statuses of this user that were not sent to all followers,
// because the sending program was interrupted. It returns how many there were. It does
// no harm to call it while PostStatus works elsewhere.
func (s *Social) Resume(ctx context.Context) (int, error) {
	jobs, err := s.db.Ref("fanout").Child(s.me).Snapshot(ctx)
	if err != nil {
		return 0, err
	}
	for status := range jobs.Children() {
		if err := s.send(ctx, status); err != nil {
			return 0, err
		}
	}
	return jobs.NumChildren(), nil
}
