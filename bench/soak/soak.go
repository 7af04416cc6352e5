// Package soak loads a server in many ways at once for a long time, and checks that it loses
// nothing and does not grow: it is the workload of "dogwood bench soak".
package soak

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/bench"
	"github.com/dogwooddb/dogwood/bench/connect"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// A Workload is many kinds of load at once for a long time, with an eye on what must
// hold all the while. Messages are posted to streams, each an update of three
// places that adds one message, removes the oldest and moves a pointer. They are
// followed by steady clients, by clients that come and go, and by one that reads
// too slowly. At the same time there are increments, conditional requests, queries,
// exports and backups.
//
// A [bench.Result] has a fault for each thing that is wrong: an event that a follower
// missed, a view that differs from the database in the end, a write that was
// lost, a disconnect operation that was not carried out once, and memory or
// goroutines of the server that grow.
type Workload struct {
	Streams int `json:"streams" help:"Streams of messages, with a writer each. --rate says how many messages per second there are in all; 200 if it does not." default:"20" env:"-"`
	Steady  int `json:"steady" help:"Clients of each stream that stay connected." default:"2" env:"-"`
	Passing int `json:"passing" help:"Clients that come and go." default:"20" env:"-"`
	Keep    int `json:"keep" help:"Messages in a stream." default:"100" env:"-"`
	Window  int `json:"window" help:"Messages that clients with a window follow." default:"20" env:"-"`
	Size    int `json:"size" help:"Bytes of a message." default:"100" env:"-"`
	Rows    int `json:"rows" help:"Rows in addition to the streams, some 220 bytes each." default:"20000" env:"-"`

	Life  time.Duration `json:"life" help:"How long clients that come and go stay, on average." default:"5s" env:"-"`
	Every time.Duration `json:"every" help:"How long an interval of the report is." default:"1m" env:"-"`
}

// soakRate is how many posts per second are due unless the options have a rate.
const soakRate = 200

// Places of the soak. None of them is below another one.
const (
	listPath  = "list"  // the messages of each stream
	lastPath  = "last"  // the number of the last message of each stream
	leftPath  = "left"  // how often each passing client has left
	countPath = "count" // increments of each counter
	etagPath  = "etag"  // what conditional requests count in
)

func (Workload) Name() string                { return "soak" }
func (Workload) About() (unit, rules string) { return "posts", bench.RowRules }

func (w Workload) Describe() string {
	return fmt.Sprintf("%d streams × %d steady followers, %d that come and go, a slow one; increments, conditions, queries, exports and backups",
		w.Streams, w.Steady, w.Passing)
}

func (w Workload) WithDefaults() (bench.Workload, error) {
	w.Life, w.Every = cmp.Or(w.Life, 5*time.Second), cmp.Or(w.Every, time.Minute)
	err := errors.Join(
		bench.Setting("streams", &w.Streams, 20, 1, maxStreams),
		bench.Setting("steady followers", &w.Steady, 2, 1, bench.MaxConnections/maxStreams),
		bench.Setting("passing followers", &w.Passing, 20, 1, bench.MaxConnections),
		bench.Setting("messages in a stream", &w.Keep, 100, 2, maxKeep),
		bench.Setting("size", &w.Size, 100, 1, 2000),
		bench.Setting("rows", &w.Rows, 20_000, 1, bench.MaxRows),
	)
	err = errors.Join(err, bench.Setting("window", &w.Window, 20, 1, w.Keep))
	if w.Life < 10*time.Millisecond || w.Every < time.Second {
		err = errors.Join(err, errors.New("a connection must live for at least 10ms, and an interval must last for at least 1s"))
	}
	return w, err
}

// Bounds of a soak: views are kept in memory, once for each follower.
const (
	maxStreams = 1000
	maxKeep    = 10_000
)

// A soak is a Workload under way.
//
// Every message has a number within its stream, so a follower notices messages
// that are lost, doubled or out of order. Growth is judged from the readings:
// the memory of a server may rise while it warms up, and not from then on.
type soak struct {
	Workload
	*bench.Load
	streams   []*stream
	followers []*follower
	counters  []*counter
	interval  *interval     // the one that runs
	readings  []reading     // of the server's health, one per second
	ending    chan struct{} // closed when the writers are done

	dropped     atomic.Int64 // how often the server has dropped the slow follower
	conditional atomic.Int64 // conditional writes that took place
}

func (w Workload) Drive(ctx context.Context, r *bench.Load) error {
	if r.Target.Secret == "" {
		return errors.New("exports and backups need the credential of an administrator")
	}
	r.DefaultRate(soakRate)
	s := newSoak(w, r)
	if err := s.fill(ctx); err != nil {
		return fmt.Errorf("fill the database: %w", err)
	}
	before := s.Health(ctx)
	if err := s.load(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	if err := s.compareLeft(ctx); err != nil {
		return err
	}
	s.judge()
	s.compareGoroutines(ctx, before)
	return nil
}

func newSoak(w Workload, r *bench.Load) *soak {
	s := &soak{Workload: w, Load: r, interval: newInterval(), ending: make(chan struct{})}
	for i := range w.Streams {
		st := newStream(w, i)
		s.streams = append(s.streams, st)
		for n := range w.Steady {
			f := newFollower(st)
			if n%2 == 1 {
				f.window = w.Window
			}
			s.followers = append(s.followers, f)
		}
	}
	for i := range w.Passing {
		f := newFollower(s.streams[i%len(s.streams)])
		f.leaves, f.life = fmt.Sprintf("%s/p%d", leftPath, i), w.Life
		s.followers = append(s.followers, f)
	}
	slow := newFollower(s.streams...)
	slow.slow = true
	s.followers = append(s.followers, slow)
	for i := range soakCounters {
		s.counters = append(s.counters, &counter{path: fmt.Sprintf("%s/c%d", countPath, i)})
	}
	return s
}

// fill writes the data before the load.
func (s *soak) fill(ctx context.Context) error {
	if err := (bench.Rows{Rows: s.Rows}).Load(ctx, s.Load); err != nil {
		return err
	}
	update := make(map[string]any)
	for _, st := range s.streams {
		messages := make(map[string]any)
		for seq := range int64(s.Keep) {
			messages[string(bench.AppendKey(nil, seq))] = map[string]any{"at": 0, "n": seq, "text": bench.Padding(s.Size)}
		}
		update[st.path] = messages
		update[lastPath+"/"+st.name] = s.Keep - 1
	}
	return s.Admin.PatchJSON(ctx, "/", update)
}

// load runs everything until the schedule ends, and compares the results.
func (s *soak) load(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var following, loading sync.WaitGroup
	start := func(g *sync.WaitGroup, f func(ctx context.Context) error) {
		g.Go(func() {
			if err := f(ctx); err != nil {
				cancel(err)
			}
		})
	}
	for _, f := range s.followers {
		start(&following, func(ctx context.Context) error { return s.follow(ctx, f) })
	}
	if err := s.ready(ctx); err != nil {
		cancel(err)
	}
	s.Begin()
	start(&loading, s.report)
	for _, side := range s.sides() {
		start(&loading, func(ctx context.Context) error { return s.repeat(ctx, side) })
	}
	for _, c := range s.counters {
		start(&loading, func(ctx context.Context) error { return s.count(ctx, c) })
	}
	start(&loading, s.postAll)
	loading.Wait()
	if ctx.Err() == nil {
		if err := s.compare(ctx); err != nil {
			cancel(err)
		}
	}
	cancel(connect.ErrEnded)
	following.Wait()
	if cause := context.Cause(ctx); cause != connect.ErrEnded {
		return cause
	}
	return nil
}

// ready waits for the first view of every follower.
func (s *soak) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for _, f := range s.followers {
		if err := f.await(ctx); err != nil {
			return fmt.Errorf("wait for the first views: %w", err)
		}
	}
	return nil
}

// postAll runs the writers until the schedule ends.
func (s *soak) postAll(ctx context.Context) error {
	defer close(s.ending)
	return connect.Parallel(ctx, len(s.streams), len(s.streams), func(ctx context.Context, i int) error { return s.post(ctx, s.streams[i], i) })
}

// A stream is a list of the last messages, and the client that writes it.
type stream struct {
	name  string // s0
	path  string // list/s0
	keep  int
	size  int
	acked last // the last message that is there for sure
}

func newStream(w Workload, n int) *stream {
	name := fmt.Sprintf("s%d", n)
	st := &stream{name: name, path: listPath + "/" + name, keep: w.Keep, size: w.Size}
	st.acked.Store(int64(w.Keep - 1))
	return st
}

// post writes to a stream. Now and then it does so over a new connection, when
// nothing is on its way: what becomes of writes whose answers are lost is for
// other tests.
func (s *soak) post(ctx context.Context, st *stream, n int) error {
	for {
		life := time.Now().Add(randomLife(s.Life * 4))
		err := s.connected(ctx, func(c *connect.Conn) (again error) { return s.postUntil(ctx, c, st, n, life) })
		if !errors.Is(err, errAgain) {
			return err
		}
		s.interval.reconnects.Add(1)
	}
}

// errAgain ends a connection that is to be followed by another one.
var errAgain = errors.New("connect again")

func (s *soak) postUntil(ctx context.Context, c *connect.Conn, st *stream, n int, life time.Time) error {
	for time.Now().Before(life) {
		due, ok := s.Next()
		if !ok || !s.Wait(ctx, due) {
			return nil
		}
		seq := st.acked.Load() + 1
		err := c.CallWithin(bench.PostTimeout, func(dst []byte, id int64) []byte {
			return wire.AppendMerge(dst, id, "/", st.appendPost(nil, seq, due))
		})
		if err != nil {
			return fmt.Errorf("post to %s: %w", st.path, err)
		}
		st.acked.Store(seq)
		s.Done(n, due)
		s.interval.posts.Record(s.Now() - due)
	}
	return errAgain
}

// appendPost appends the update that posts a message which was due at a time.
func (st *stream) appendPost(dst []byte, seq int64, due time.Duration) []byte {
	return fmt.Appendf(dst, `{"%[1]s/%[2]s":{"at":%[3]d,"n":%[4]d,"text":"%[5]s"},"%[1]s/%[6]s":null,"%[7]s/%[8]s":%[4]d}`,
		st.path, bench.AppendKey(nil, seq), due.Microseconds(), seq, bench.Padding(st.size), bench.AppendKey(nil, seq-int64(st.keep)), lastPath, st.name)
}

// connected calls f with a connection that is closed when ctx ends, and after.
func (s *soak) connected(ctx context.Context, f func(c *connect.Conn) error) error {
	c, err := connect.Dial(ctx, s.Target, connect.MemberBuffer)
	if err != nil {
		return notInterrupted(ctx, err)
	}
	defer c.Close()
	defer context.AfterFunc(ctx, c.Close)()
	return notInterrupted(ctx, f(c))
}

// notInterrupted is err, unless it comes from the end of ctx.
func notInterrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// randomLife returns a time that is d on average and has no rhythm.
func randomLife(d time.Duration) time.Duration {
	return time.Duration(float64(d) * min(rand.ExpFloat64(), 5))
}

// keyNumber returns the number of a key of appendKey.
func keyNumber(key string) (n int64, err error) {
	digits, ok := strings.CutPrefix(key, "k")
	if !ok {
		return 0, fmt.Errorf("%q is not the key of a message", key)
	}
	return parseNumber(digits)
}
