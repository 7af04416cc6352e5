package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/checks"
	"github.com/dogwooddb/dogwood/internal/tier"
	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/social"
	"github.com/dogwooddb/dogwood/tree"
)

// poster is a program that posts one status as u1, or goes on with sending it:
//
//	poster URL TOKEN PASS
func poster() {
	if err := posterRun(context.Background(), os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "poster:", err)
		os.Exit(1)
	}
}

func posterRun(ctx context.Context, url, token, pass string) error {
	db, err := dogwood.Dial(ctx, url, dogwood.Options{Token: dogwood.StaticToken(token)})
	if err != nil {
		return err
	}
	s := social.New(db, "u1")
	if s.PassSize, err = strconv.Atoi(pass); err != nil {
		return err
	}
	u, _, err := s.User(ctx, "u1")
	if err == nil && u.Posts == 0 {
		_, err = s.PostStatus(ctx, "to all of you")
	} else if err == nil {
		_, err = s.Resume(ctx)
	}
	return errors.Join(err, db.Close())
}

// A fanOut is a status on its way to many followers, whose author and server are
// killed again and again.
type fanOut struct {
	*modelCrash
	followers, pass int
	removed         map[string]bool // from the homes of these, by themselves
	posterKills     int
	db              *dogwood.Client // an administrator's, while a server runs
}

// TestFanOutCrash sends a status to thousands of followers while the program that sends
// it, and the server, are killed in turn. Each home gets the status once: after a
// follower has removed it, it does not come again.
func TestFanOutCrash(t *testing.T) {
	tier.Need(t, tier.Full)
	t.Parallel()
	for pass := 400; pass >= 10; pass /= 2 { // smaller ones give more time to kill
		if fanOutCrash(t, pass) {
			return
		}
	}
	t.Error("too little has happened in each attempt")
}

// fanOutCrash sends one status for TestFanOutCrash. It reports whether both programs were
// killed on the way. A fast or busy machine may prevent that: then the status is sent before the
// test sees how far it has come.
func fanOutCrash(t *testing.T, pass int) (killed bool) {
	t.Helper()
	f := &fanOut{followers: tier.Pick(0, 1600, 10_000), pass: pass, removed: make(map[string]bool)}
	f.modelCrash = newModelCrash(t, dataModel{name: "social", seed: f.seed})
	token := modelToken(t, f.data, "u1", nil)
	for round := 0; !f.finished(token, round); round++ {
		if round > 100 {
			t.Fatalf("it is not finished after %d rounds; the seed is %d", round, f.modelCrash.seed)
		}
	}
	f.leave()
	if err := f.server.stop(); err != nil {
		t.Error(err)
	}
	f.check()
	t.Logf("%d followers, passes of %d; the author was killed %d times, the server %d times; %d have removed the status", f.followers, f.pass, f.posterKills, f.kills, len(f.removed))
	return f.kills > 0 && f.posterKills > 0 && len(f.removed) > 0
}

func (*fanOut) follower(i int) string { return "u" + strconv.Itoa(i+2) }

// seed replaces the data by u1 and the followers.
func (f *fanOut) seed(data map[string]any) {
	clear(data)
	users, logins, following, followers := map[string]any{}, map[string]any{}, map[string]any{}, map[string]any{}
	for i := -1; i < f.followers; i++ {
		id := i + 2
		uid, login := "u"+strconv.Itoa(id), "user"+strconv.Itoa(id)
		u := map[string]any{"login": login, "id": id, "name": login, "followers": 0, "following": 1, "posts": 0, "signup": 1}
		if users[uid], logins[login] = u, uid; id == 1 {
			u["followers"], u["following"] = f.followers, 0
			continue
		}
		since := 1_700_000_000_000 + i/3 // some came in the same millisecond
		followers[uid], following[uid] = since, map[string]any{"u1": since}
	}
	data["users"], data["logins"], data["following"] = users, logins, following
	data["followers"] = map[string]any{"u1": followers}
	data["counters"] = map[string]any{"userId": f.followers + 1, "statusId": 0}
}

// finished runs the author's program until one of the two is killed, or until all
// followers have the status.
func (f *fanOut) finished(token string, round int) bool {
	f.t.Helper()
	program := exec.Command("poster", f.server.url, token, strconv.Itoa(f.pass))
	program.Stderr = os.Stderr
	if err := program.Start(); err != nil {
		f.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- program.Wait() }()
	before := f.cursor()
	for {
		select {
		case err := <-ended:
			if err != nil {
				f.t.Fatalf("the author's program: %v", err)
			}
			return true
		case <-time.After(time.Millisecond):
		}
		if at := f.cursor(); at != before && at != "" {
			break
		}
	}
	f.remove()
	time.Sleep(rand.N(20 * time.Millisecond)) // somewhere in the next pass
	if round%2 == 0 {
		f.posterKills++
		_ = program.Process.Kill() // it may have ended
		<-ended
		return false
	}
	f.leave()
	f.server.kill()
	f.kills++
	_ = program.Process.Kill() // which waits for the server
	<-ended
	f.checkInvariants()
	f.start()
	return false
}

// admin returns a client of an administrator.
func (f *fanOut) admin() *dogwood.Client {
	f.t.Helper()
	if f.db != nil {
		return f.db
	}
	secret, err := os.ReadFile(filepath.Join(f.data, "admin-secret"))
	if err != nil {
		f.t.Fatal(err)
	}
	f.db, err = dogwood.Dial(f.t.Context(), f.server.url, dogwood.Options{Token: dogwood.StaticToken(strings.TrimSpace(string(secret)))})
	if err != nil {
		f.t.Fatal(err)
	}
	return f.db
}

// leave closes the administrator's client, before its server is gone.
func (f *fanOut) leave() {
	f.t.Helper()
	if err := f.admin().Close(); err != nil {
		f.t.Error(err)
	}
	f.db = nil
}

// cursor returns the last follower that has the status, "" if no sending is under way.
func (f *fanOut) cursor() (key string) {
	f.t.Helper()
	if err := f.admin().Ref("fanout/u1/s1/key").Get(f.t.Context(), &key); err != nil {
		f.t.Fatal(err)
	}
	return key
}

// remove takes the status out of the homes of a few followers that have it.
func (f *fanOut) remove() {
	f.t.Helper()
	for range 10 {
		user := f.follower(rand.IntN(f.followers))
		home := f.admin().Ref("home").Child(user).Child("s1")
		s, err := home.Snapshot(f.t.Context())
		if err == nil && s.Exists() {
			f.removed[user] = true
			err = home.Remove(f.t.Context())
		}
		if err != nil {
			f.t.Fatal(err)
		}
	}
}

// checkInvariants looks at the file of a server that was killed.
func (f *fanOut) checkInvariants() {
	f.t.Helper()
	broken, err := checks.Invariants(f.t.Context(), filepath.Join(f.data, modelNamespace+".db"), f.invariants)
	if err := errors.Join(append(broken, err)...); err != nil {
		f.t.Errorf("after %d kills: %v", f.kills, err)
	}
}

// check reports followers that should have the status and do not.
func (f *fanOut) check() {
	f.t.Helper()
	f.checkInvariants()
	root, err := readTree(filepath.Join(f.data, modelNamespace+".db"))
	if err != nil {
		f.t.Fatal(err)
	}
	if n := root.Child("statuses").NumChildren(); n != 1 || !root.Child("fanout").IsEmpty() {
		f.t.Errorf("there are %d statuses, want 1, and the jobs %s", n, root.Child("fanout").JSON())
	}
	posted := root.Get(tree.MustParsePath("statuses/s1/posted"))
	var homes map[string]map[string]json.Number
	if err := json.Unmarshal([]byte(root.Child("home").JSON()), &homes); err != nil {
		f.t.Fatal(err)
	}
	wrong := 0
	for i := range f.followers {
		user := f.follower(i)
		want := posted.JSON()
		if f.removed[user] {
			want = ""
		}
		if got := homes[user]["s1"].String(); got != want {
			wrong++
			f.t.Logf("%s has the status from %q, want %q", user, got, want)
		}
	}
	if wrong > 0 {
		f.t.Errorf("%d of %d homes are wrong", wrong, f.followers)
	}
}
