// Package social is a small network of people who follow each other: statuses that
// copy the login of their author, counters that agree with what they count, and
// home timelines that every new status is sent to.
//
//	josiah := social.New(client, "u1") // a client that is signed in as u1
//	status, err := josiah.PostStatus(ctx, "sorted sets are timelines")
//	err = josiah.Follow(ctx, "u2")
//	home, err := josiah.HomeTimeline(ctx, 30)
//
// A status is sent in passes. A cursor in the tree moves in the same write as each pass.
// So an interrupted program goes on with Resume, and no home gets a status twice.
//
// The rules are those of testdata/models/social: what they do not allow is refused
// with dogwood.ErrPermissionDenied.
//
// With Declared the server keeps logins, followers, profiles and the counters, and bounds homes,
// by the data document of testdata/models/social. Statuses are sent to homes as without it.
package social

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/record"
)

// Bounds of the model.
const (
	MaxHome  = 1000 // entries of a home timeline, after TrimHome
	PassSize = 1000 // followers that get a status in one write
)

// ErrTaken is the error of CreateUser if another user has the login, in whatever case.
var ErrTaken = errors.New("the login is taken")

// A User is the part of a user that every signed-in client may read.
type User struct {
	Key       string            `json:"-"`         // "u" and the ID
	Login     string            `json:"login"`     // 1 to 15 letters, digits and _
	ID        int64             `json:"id"`        // counts users, from 1
	Name      string            `json:"name"`      // up to 80 characters
	Followers int64             `json:"followers"` // how many follow the user
	Following int64             `json:"following"` // how many the user follows
	Posts     int64             `json:"posts"`     // how many statuses there are
	Signup    dogwood.Timestamp `json:"signup"`    // by the server's clock
}

// A Social is the network as one user sees it.
type Social struct {
	// PassSize is how many followers get a status in one write. It is PassSize, the
	// constant, unless it is changed before anything else is done.
	PassSize int

	db       *dogwood.Client
	me       string
	declared bool
}

// An Option is one of New.
type Option func(*Social)

// Declared is for a server that has the data document of the model and its rules: it keeps
// logins, followers, profiles and the counters by users, edges and statuses, and homes at
// MaxHome entries.
func Declared() Option { return func(s *Social) { s.declared = true } }

// New returns the network as a user sees it, with whose token the client is signed
// in. Ids of users are "u" and a number.
func New(db *dogwood.Client, me string, options ...Option) *Social {
	s := &Social{PassSize: PassSize, db: db, me: me}
	for _, set := range options {
		set(s)
	}
	return s
}

// LoginFree reports whether no user has a login.
func (s *Social) LoginFree(ctx context.Context, login string) (bool, error) {
	snap, err := s.db.Ref("logins").Child(strings.ToLower(login)).Snapshot(ctx)
	return !snap.Exists(), err
}

// NextUserID returns an id for a user who signs up: "u5". The issuer of tokens makes
// one for it.
func (s *Social) NextUserID(ctx context.Context) (string, error) {
	n, err := dogwood.Transaction(ctx, s.db.Ref("counters/userId"), func(n int64) (int64, error) { return n + 1, nil })
	return "u" + strconv.FormatInt(n, 10), err
}

// CreateUser makes the record of this user and claims the login, in one write. If
// another user has it the error is ErrTaken.
func (s *Social) CreateUser(ctx context.Context, login, name string) error {
	id, err := strconv.ParseInt(strings.TrimPrefix(s.me, "u"), 10, 64)
	if err != nil {
		return fmt.Errorf("the user %q has no number: %w", s.me, err)
	}
	update := map[string]any{
		"users/" + s.me:                    User{Login: login, ID: id, Name: name},
		"logins/" + strings.ToLower(login): s.me,
	}
	if s.declared {
		update = map[string]any{"users/" + s.me: map[string]any{"login": login, "id": id, "name": name, "signup": dogwood.ServerTimestamp}}
	}
	err = s.db.Update(ctx, update)
	if record.Refused(err) {
		if free, failed := s.LoginFree(ctx, login); failed == nil && !free {
			return fmt.Errorf("%s: %w", login, ErrTaken)
		}
	}
	return err
}

// User returns a user, and whether there is one.
func (s *Social) User(ctx context.Context, user string) (User, bool, error) {
	return record.Read(ctx, s.db.Ref("users").Child(user), func(u *User) *string { return &u.Key })
}

// SetName gives this user another name.
func (s *Social) SetName(ctx context.Context, name string) error {
	return s.db.Ref("users").Child(s.me).Child("name").Set(ctx, name)
}
