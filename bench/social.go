package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/bench/connect"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// Social has users of the data model social, under its rules, that post to their
// followers: the status, the counters and the entries in the homes of the first
// followers are one write, and so are the entries of each further pass. A post is
// complete when all homes have it and all online followers have its event.
type Social struct {
	Followers int `json:"followers" help:"Followers of each poster." default:"1000" env:"-"`
	Pass      int `json:"pass" help:"Followers that one write reaches." default:"1000" env:"-"`
	Posters   int `json:"posters" help:"Users who post, and race for the next id." default:"1" env:"-"`
	Online    int `json:"online" help:"Followers who listen to their home, with a connection each." default:"100" env:"-"`
	Size      int `json:"size" help:"Bytes of a message." default:"100" env:"-"`
}

func (Social) Name() string                { return "social" }
func (Social) About() (unit, rules string) { return "posts", socialRules }

func (w Social) Describe() string {
	return fmt.Sprintf("%d posters with %d followers each, %d of whom are online; passes of %d", w.Posters, w.Followers, w.Online, w.Pass)
}

func (w Social) WithDefaults() (Workload, error) {
	err := errors.Join(
		Setting("followers", &w.Followers, 1000, 1, 100_000),
		Setting("pass", &w.Pass, 1000, 1, 10_000),
		Setting("posters", &w.Posters, 1, 1, 1000),
		Setting("size", &w.Size, 100, 1, 140),
	)
	err = errors.Join(err, Setting("online", &w.Online, min(100, w.Followers), 1, min(w.Followers, MaxConnections)))
	return w, err
}

func (w Social) Drive(ctx context.Context, r *Load) error {
	if r.Target.Secret == "" {
		return errNeedsSecret
	}
	base := time.Now().UnixMilli() - int64(w.Followers) - 1
	for path, value := range w.seed(base) {
		if err := r.Admin.PatchJSON(ctx, "/", map[string]any{path: value}); err != nil {
			return fmt.Errorf("fill the network: %w", err)
		}
	}
	s := &socialRun{Social: w, run: r, base: base}
	posters, err := connect.DialAll(ctx, r.Target, w.Posters, connect.ReadBuffer, func(i int, c *connect.Conn) error { return s.signIn(c, i) })
	if err != nil {
		return err
	}
	defer connect.CloseAll(posters)
	online, err := connect.DialAll(ctx, r.Target, w.Online, connect.MemberBuffer, func(i int, c *connect.Conn) error {
		if err := s.signIn(c, w.Posters+i); err != nil {
			return err
		}
		return c.Listen("home/"+s.user(w.Posters+i), `{"i":".value","l":30,"vf":"r"}`)
	})
	if err != nil {
		return err
	}
	defer connect.CloseAll(online)
	for _, c := range posters {
		s.posters = append(s.posters, &socialPoster{socialRun: s, conn: c, n: len(s.posters), all: make(chan struct{}, 1), seen: make([]*[]byte, w.Online)})
	}
	r.Begin()
	err = connect.Receiving(ctx, online, s.take, func(ctx context.Context) error {
		return connect.Parallel(ctx, w.Posters, w.Posters, func(ctx context.Context, i int) error { return s.posters[i].postAll(ctx) })
	})
	seconds := max(r.window(r.Now(), ctx.Err() != nil).Seconds(), 1e-9)
	r.Measure("entries in homes", float64(r.inTime.Load())*float64(w.Followers)/seconds, "/s")
	r.Measure("lost races", float64(s.races.Load()), "posts")
	return err
}

// A socialRun is a Social under way.
type socialRun struct {
	Social
	run     *Load
	base    int64 // time when the first follower came; the next ones came a millisecond later each
	posters []*socialPoster
	races   atomic.Int64
}

// user returns a user's id: the first ones post, the others follow them.
func (Social) user(i int) string { return "u" + strconv.Itoa(i+1) }

// login returns a user's login.
func (Social) login(i int) string { return "user_" + strconv.Itoa(i+1) }

// seed returns the network before the first post, by path.
func (w Social) seed(base int64) map[string]any {
	users, logins, following := make(map[string]any), make(map[string]any), make(map[string]any)
	followers := make(map[string]any)
	for i := range w.Followers {
		followers[w.user(w.Posters+i)] = base + int64(i)
	}
	seed := make(map[string]any)
	for i := range w.Posters + w.Followers {
		posts := i < w.Posters
		user := map[string]any{"login": w.login(i), "id": i + 1, "name": "User " + strconv.Itoa(i+1), "followers": 0, "following": 0, "posts": 0, "signup": base}
		if posts {
			user["followers"] = w.Followers
			seed["followers/"+w.user(i)] = followers
		} else {
			user["following"] = w.Posters
			edges := make(map[string]any)
			for p := range w.Posters {
				edges[w.user(p)] = base + int64(i-w.Posters)
			}
			following[w.user(i)] = edges
		}
		users[w.user(i)], logins[w.login(i)] = user, w.user(i)
	}
	seed["users"], seed["logins"], seed["following"] = users, logins, following
	seed["counters"] = map[string]any{"userId": w.Posters + w.Followers, "statusId": 0}
	return seed
}

func (s *socialRun) signIn(c *connect.Conn, i int) error {
	return c.SignIn(connect.UserToken(s.run.Target.Secret, s.user(i), time.Now()))
}

// take takes a message to an online follower. Any push that names a status
// on its way counts.
func (s *socialRun) take(i int, text []byte) error {
	for _, p := range s.posters {
		key := p.status.Load()
		if key != nil && p.seen[i] != key && bytes.Contains(text, *key) {
			p.seen[i] = key
			p.arrived()
		}
	}
	return nil
}

// A socialPoster posts one status after the other.
type socialPoster struct {
	*socialRun
	conn    *connect.Conn
	n       int
	last    int64                  // id of a status, as far as it knows
	status  atomic.Pointer[[]byte] // key of the one on its way, in quotes
	missing atomic.Int64           // online followers without it, and the poster
	all     chan struct{}          // gets an element when nothing is missing
	seen    []*[]byte              // key of the last one that each follower has
}

func (p *socialPoster) arrived() {
	if p.missing.Add(-1) == 0 {
		p.all <- struct{}{}
	}
}

// postAll posts until the schedule ends.
func (p *socialPoster) postAll(ctx context.Context) error {
	defer context.AfterFunc(ctx, p.conn.Close)()
	for {
		due, ok := p.run.Next()
		if !ok || !p.run.Wait(ctx, due) {
			return nil
		}
		if err := p.post(ctx); err != nil {
			return err
		}
		p.run.Done(p.n, due)
	}
}

// post posts a status and waits until all followers have it.
func (p *socialPoster) post(ctx context.Context) error {
	for {
		id := p.last + 1
		key := []byte(`"s` + strconv.FormatInt(id, 10) + `"`)
		p.missing.Store(int64(p.Online) + 1)
		p.status.Store(&key)
		err := p.pass(id, 0)
		if refused := (*connect.RefusedError)(nil); errors.As(err, &refused) && refused.Status == wire.StatusPermissionDenied {
			p.races.Add(1)
			if err := p.readLast(); err != nil {
				return err
			}
			if p.last >= id {
				continue // another poster has the id
			}
		}
		if err != nil {
			return err
		}
		p.last = id
		break
	}
	if err := p.otherPasses(); err != nil {
		return err
	}
	p.arrived()
	return inTime(ctx, p.all, func() string {
		return fmt.Sprintf("a post has not reached %d of %d followers", p.missing.Load(), p.Online)
	})
}

// otherPasses sends the status to the rest of the followers and ends the job.
func (p *socialPoster) otherPasses() error {
	for from := p.Pass; from < p.Followers; from += p.Pass {
		if err := p.pass(p.last, from); err != nil {
			return err
		}
	}
	return p.conn.Call(func(dst []byte, id int64) []byte { return wire.AppendPut(dst, id, p.job(p.last), "null") })
}

func (p *socialPoster) readLast() (err error) {
	text, err := p.conn.Ask(func(dst []byte, id int64) []byte { return wire.AppendGet(dst, id, "/counters/statusId", "") })
	if err == nil {
		p.last, err = strconv.ParseInt(string(text), 10, 64)
	}
	return err
}

func (p *socialPoster) job(id int64) string { return fmt.Sprintf("/fanout/%s/s%d", p.user(p.n), id) }

// pass reads a page of the followers and sends them a status; the first pass posts
// it.
func (p *socialPoster) pass(id int64, from int) error {
	me, to := p.user(p.n), min(from+p.Pass, p.Followers)
	query := fmt.Sprintf(`{"i":".value","sp":%d,"l":%d,"vf":"l"}`, p.base+int64(from), p.Pass)
	if err := p.conn.Call(func(dst []byte, n int64) []byte { return wire.AppendGet(dst, n, "/followers/"+me, query) }); err != nil {
		return err
	}
	var u strings.Builder
	posted := `{".sv":"timestamp"}`
	if from > 0 {
		text, err := p.conn.Ask(func(dst []byte, n int64) []byte {
			return wire.AppendGet(dst, n, fmt.Sprintf("/statuses/s%d/posted", id), "")
		})
		if err != nil {
			return err
		}
		posted = string(text)
	} else {
		fmt.Fprintf(&u, `"counters/statusId":%d,"statuses/s%[1]d":{"message":"%[2]s","posted":%[3]s,"id":%[1]d,"uid":"%[4]s","login":"%[5]s"},`, id, Padding(p.Size), posted, me, p.login(p.n))
		fmt.Fprintf(&u, `"profile/%[1]s/s%[2]d":%[3]s,"home/%[1]s/s%[2]d":%[3]s,"users/%[1]s/posts":{".sv":{"increment":1}},"users/%[1]s/lastStatus":"s%[2]d",`, me, id, posted)
	}
	for i := from; i < to; i++ {
		fmt.Fprintf(&u, `"home/%s/s%d":%s,`, p.user(p.Posters+i), id, posted)
	}
	fmt.Fprintf(&u, `"fanout/%s/s%d":{"time":%d,"key":"%s"}`, me, id, p.base+int64(to-1), p.user(p.Posters+to-1))
	return p.conn.Call(func(dst []byte, n int64) []byte { return wire.AppendMerge(dst, n, "/", "{"+u.String()+"}") })
}
