package dogwood_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/server/servertest"
	"github.com/dogwooddb/dogwood/server/servertest/faultproxy"
)

// A shown is what a view shows at the moment.
type shown struct {
	mu   sync.Mutex
	text string
	news chan struct{}
}

func follow(ctx context.Context, t *testing.T, running *sync.WaitGroup, values func(func(dogwood.Snapshot, error) bool)) *shown {
	v := &shown{news: make(chan struct{}, 1)}
	running.Go(func() {
		for s, err := range values {
			if err != nil {
				if ctx.Err() == nil {
					t.Errorf("values: %v", err)
				}
				return
			}
			v.mu.Lock()
			v.text = s.JSON()
			v.mu.Unlock()
			select {
			case v.news <- struct{}{}:
			default:
			}
		}
	})
	return v
}

// wait waits until the view shows a value.
func (v *shown) wait(t *testing.T, want string) {
	t.Helper()
	late := time.After(time.Minute)
	for {
		v.mu.Lock()
		text := v.text
		v.mu.Unlock()
		if text == want {
			return
		}
		select {
		case <-v.news:
		case <-late:
			t.Fatalf("the view shows %.2000s, want %.2000s", text, want)
		}
	}
}

func faulty(t *testing.T, s *servertest.Server, f faultproxy.Faults) (*faultproxy.Proxy, *dogwood.Client) {
	t.Helper()
	p, err := faultproxy.Listen(s.Host, f)
	want(t, err)
	t.Cleanup(func() { want(t, p.Close()) })
	return p, dial(t, strings.Replace(s.URL, s.Host, p.Addr(), 1), quick)
}

// TestResumeSendsLess: of a large view that has changed a little, a client that comes back is
// sent the change.
func TestResumeSendsLess(t *testing.T) {
	for _, logged := range []bool{true, false} {
		o := servertest.Options{}
		if logged {
			o.Dir = t.TempDir()
		}
		s := servertest.New(t, o)
		p, c := faulty(t, s, faultproxy.Faults{})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		list := make(map[string]string)
		for i := range 1000 {
			list[fmt.Sprintf("k%03d", i)] = strings.Repeat("x", 90)
		}
		direct := dial(t, s.URL, quick)
		want(t, direct.Ref("list").Set(ctx, list))
		v := follow(ctx, t, &running, c.Ref("list").Values(ctx))
		v.wait(t, value(t, direct.Ref("list")))
		want(t, c.Ref("other").Set(ctx, 1)) // what is answered after this comes behind a position
		want(t, c.Ref("other").Set(ctx, 2))
		before := p.Answered()
		c.GoOffline()
		want(t, direct.Ref("list/k500").Set(ctx, "changed"))
		want(t, direct.Ref("list/k501").Remove(ctx))
		c.GoOnline()
		v.wait(t, value(t, direct.Ref("list")))
		sent := p.Answered() - before
		if less := sent < 2000; less != logged {
			t.Errorf("log: %t; the client was sent %d bytes", logged, sent)
		}
		t.Logf("log: %t; the client was sent %d bytes", logged, sent)
		cancel()
		running.Wait()
	}
}

// TestResumeModel: over a network that breaks connections at random places, a client's views are
// what the server has after every step, with its own writes and those of another client.
func TestResumeModel(t *testing.T) {
	s := servertest.New(t, servertest.Options{Dir: t.TempDir()})
	p, c := faulty(t, s, faultproxy.Faults{Cut: 8000, Silent: 0.1, Seed: 16})
	direct := dial(t, s.URL, quick)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	want(t, direct.Ref("list/base").Set(ctx, strings.Repeat("x", 2000)))
	queries := []func(c *dogwood.Client) dogwood.Query{
		func(c *dogwood.Client) dogwood.Query { return c.Ref("list").Query },
		func(c *dogwood.Client) dogwood.Query { return c.Ref("list").OrderByKey().StartAt("k") },
		func(c *dogwood.Client) dogwood.Query { return c.Ref("list").OrderByKey().LimitToLast(3) },
		func(c *dogwood.Client) dogwood.Query { return c.Ref("other/deep").Query },
	}
	var views []*shown
	for _, q := range queries {
		views = append(views, follow(ctx, t, &running, q(c).Values(ctx)))
	}
	rnd := rand.New(rand.NewPCG(16, 2))
	count := 0.0
	for step := range 60 {
		from := []*dogwood.Client{direct, c}[rnd.IntN(2)]
		for range rnd.IntN(4) {
			key := fmt.Sprintf("list/%c%d", "akz"[rnd.IntN(3)], rnd.IntN(4))
			switch rnd.IntN(6) {
			case 0:
				want(t, from.Ref(key).Remove(ctx))
			case 1:
				want(t, from.Ref(key).Update(ctx, map[string]any{"a": step, "b/c": nil}))
			case 2:
				want(t, from.Ref("other/deep/at").Set(ctx, dogwood.ServerTimestamp))
			case 3:
				_, err := from.Ref("list/counter").Increment(ctx, 1)
				want(t, err)
				count++
			case 4:
				want(t, from.Ref(key+"/b/c").Set(ctx, rnd.IntN(9)))
			default:
				want(t, from.Ref(key+"/b").Remove(ctx))
			}
		}
		if rnd.IntN(3) == 0 {
			p.Cut()
		}
		for i, v := range views {
			v.wait(t, value(t, queries[i](direct)))
		}
	}
	if got := value(t, direct.Ref("list/counter")); got != fmt.Sprint(count) {
		t.Errorf("the counter is %s after %v increments", got, count)
	}
	t.Logf("%d connections, %d bytes", p.Accepted(), p.Answered())
}

// TestResumeAfterDisconnect: what a client has left for its disconnect, and shows as done, is not
// shown any more if the server has not done it.
func TestResumeAfterDisconnect(t *testing.T) {
	s := servertest.New(t, servertest.Options{Dir: t.TempDir()})
	s.SetRules(`{"rules":{".read":true,"locked":{".write":true},"here":{".write":true,"bo":{".validate":"!root.child('locked').exists()"}}}}`)
	p, c := faulty(t, s, faultproxy.Faults{})
	direct := dial(t, s.URL, quick)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	want(t, direct.Ref("here").Set(ctx, map[string]any{"ana": true, "bo": true, "base": strings.Repeat("x", 3000)}))
	everybody := value(t, direct.Ref("here"))
	v := follow(ctx, t, &running, c.Ref("here").Values(ctx))
	v.wait(t, everybody)
	want(t, c.Ref("here/ana").OnDisconnect().Set(ctx, false))
	want(t, c.Ref("here/bo").OnDisconnect().Set(ctx, false))
	want(t, direct.Ref("locked").Set(ctx, true))
	before := p.Answered()
	c.GoOffline()
	v.wait(t, strings.ReplaceAll(everybody, "true", "false"))
	c.GoOnline()
	v.wait(t, strings.Replace(everybody, "true", "false", 1))
	if got, want := value(t, direct.Ref("here")), strings.Replace(everybody, "true", "false", 1); got != want {
		t.Errorf("on the server there is %s, want %s", got, want)
	}
	if sent := p.Answered() - before; sent > 2000 {
		t.Errorf("the client was sent %d bytes", sent)
	}
}
