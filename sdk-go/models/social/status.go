package social

import (
	"context"
	"maps"
	"strconv"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/record"
)

// A Status is a message to all followers.
type Status struct {
	Key      string            `json:"-"`                  // "s" and the ID
	Message  string            `json:"message"`            // up to 140 characters
	Posted   dogwood.Timestamp `json:"posted"`             // by the server's clock
	ID       int64             `json:"id"`                 // counts statuses, from 1
	UID      string            `json:"uid"`                // the author
	Login    string            `json:"login"`              // of the author
	Location string            `json:"location,omitempty"` // latitude and longitude: "34.05,-118.24"
}

func statusKey(s *Status) *string { return &s.Key }

func (s *Social) status(key string) dogwood.Ref { return s.db.Ref("statuses").Child(key) }

// Status returns a status, and whether there is one.
func (s *Social) Status(ctx context.Context, key string) (Status, bool, error) {
	return record.Read(ctx, s.status(key), statusKey)
}

// PostStatus posts a message and sends it to the homes of all followers. If it
// fails after the status was posted, it returns the status and an error; Resume goes
// on then.
func (s *Social) PostStatus(ctx context.Context, message string) (Status, error) {
	return s.PostStatusFrom(ctx, message, "")
}

// PostStatusFrom is PostStatus with a place: latitude and longitude in degrees,
// "34.05,-118.24".
func (s *Social) PostStatusFrom(ctx context.Context, message, location string) (Status, error) {
	login, err := dogwood.Get[string](ctx, s.db.Ref("users").Child(s.me).Child("login"))
	if err != nil {
		return Status{}, err
	}
	status := Status{Message: message, UID: s.me, Login: login, Location: location}
	if err := s.post(ctx, &status); err != nil {
		return Status{}, err
	}
	if err := s.send(ctx, status.Key); err != nil {
		return status, err
	}
	status, _, err = s.Status(ctx, status.Key)
	return status, err
}

// A draft is what a new status depends on.
type draft struct {
	Last int64 // id that a status has
	Page page  // of followers
}

// post makes the status: its id, the counter, the author's own timelines and the
// first pass are one write. A program that loses the race for an id takes
// the next one.
func (s *Social) post(ctx context.Context, status *Status) error {
	return record.Retry(ctx, func() (d draft, err error) {
		if d.Last, err = dogwood.Get[int64](ctx, s.db.Ref("counters/statusId")); err != nil {
			return d, err
		}
		d.Page, err = s.oldFollowers(ctx)
		return d, err
	}, func(d draft) error {
		status.ID = d.Last + 1
		status.Key = "s" + strconv.FormatInt(status.ID, 10)
		update := s.count(status.Key, dogwood.ServerTimestamp, 1)
		update["counters/statusId"] = status.ID
		update["statuses/"+status.Key] = status
		update["home/"+s.me+"/"+status.Key] = dogwood.ServerTimestamp
		maps.Copy(update, s.pass(status.Key, d.Page, dogwood.ServerTimestamp))
		return s.db.Update(ctx, update)
	})
}

// count returns an update that enters a status of this user into the profile, or takes it out,
// and counts that. The counter names the status that it counts. Nothing is left to do if the
// server keeps both.
func (s *Social) count(key string, posted any, by float64) map[string]any {
	if s.declared {
		return make(map[string]any)
	}
	return map[string]any{
		"profile/" + s.me + "/" + key:   posted,
		"users/" + s.me + "/posts":      dogwood.Increment(by),
		"users/" + s.me + "/lastStatus": key,
	}
}

// DeleteStatus deletes a status of this user, and its entries in the homes of as
// many followers as one write has; others find that it is gone when they read it.
func (s *Social) DeleteStatus(ctx context.Context, key string) error {
	first, err := s.followers(ctx, cursor{})
	if err != nil {
		return err
	}
	update := s.count(key, nil, -1)
	for _, at := range []string{"statuses/" + key, "home/" + s.me + "/" + key, s.job(key)} {
		update[at] = nil
	}
	for _, f := range first.Followers {
		update["home/"+f+"/"+key] = nil
	}
	return s.db.Update(ctx, update)
}
