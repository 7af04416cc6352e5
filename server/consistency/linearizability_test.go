package consistency

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/server/servertest"
	"github.com/dogwooddb/dogwood/server/servertest/faultproxy"
)

// A client does what it is told, one thing at a time, and says what it learned.
type client interface {
	// read returns the string at a key; "" is nothing.
	read(key string) (value string, err error)

	// write replaces it. An error means that the outcome is unknown.
	write(key, tag string) error

	// swap replaces what it finds, by a tag of its own in each attempt. It returns
	// the attempts; done says that the last one succeeded. The outcome of the others
	// is unknown, unless they were refused.
	swap(key string, tag func() string) (tried []attempt, done bool)

	// resends says that a write may be sent again when a connection breaks, and
	// so take effect twice.
	resends() bool

	// kind names the kind of client, for the flag -clients and recorded histories.
	kind() string

	close() error
}

// An attempt is one conditional write.
type attempt struct {
	Old     string `json:"old"`
	Tag     string `json:"tag"`
	Refused bool   `json:"refused"` // for sure
}

// A watcher follows everything.
type watcher interface {
	// await waits until its view is as it should be.
	await(ctx context.Context, want map[string]string) error
	close() error
}

// How long the network is broken, and how long everything may take afterwards.
const (
	brokenTime = 3 * time.Second
	healing    = 60 * time.Second
)

// loadTime is how long clients load the server: longer with DOGWOOD_LINEAR=1m.
func loadTime() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("DOGWOOD_LINEAR")); err == nil {
		return d
	}
	return tier.Pick(brokenTime/3, brokenTime, time.Minute)
}

// keys is how many keys the clients write: few, so that they get into each other's way.
const keys = 12

var (
	clientKinds = flag.String("clients", "", "kinds of clients in TestLinearizable: rest,go,firebase,admin (default all)")
	historyFile = flag.String("history", "", "the recorded history that TestRecorded checks")
)

// faults are what happens to the connections of client i.
func faults(i int, seed uint64) faultproxy.Faults {
	return faultproxy.Faults{Cut: 6000, Silent: 0.5, Silence: 50 * time.Millisecond, Late: 0.05, MaxDelay: 20 * time.Millisecond, Seed: seed + uint64(i)}
}

// TestLinearizable has clients of every kind read, write and carry out transactions
// over connections that are cut, delayed and fall silent. Their history must be
// one that a single value of each key could have had, and in the end all listeners
// see what is there.
func TestLinearizable(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	s := servertest.New(t, servertest.Options{Dir: t.TempDir()})
	l := &load{t: t, host: s.Host, seed: seed, history: history{began: time.Now()}}
	l.add(t)
	watchers := l.watchers(t)
	l.run(loadTime())

	var final map[string]string
	if err := json.Unmarshal([]byte(s.Get("/lin")), &final); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), healing)
	defer cancel()
	for i, w := range watchers {
		if err := w.await(ctx, final); err != nil {
			t.Errorf("listener %d: %v; the seed is %d", i, err, seed)
		}
		if err := w.close(); err != nil {
			t.Errorf("listener %d: %v", i, err)
		}
	}
	l.check()
}

// A load is a server with clients, each behind a proxy of its own.
type load struct {
	t       *testing.T
	host    string
	seed    uint64
	clients []client
	proxies []*faultproxy.Proxy
	behind  []*faultproxy.Proxy // of each client
	history history
}

// proxy returns the host of another proxy, and the proxy.
func (l *load) proxy() *faultproxy.Proxy {
	l.t.Helper()
	p, err := faultproxy.Listen(l.host, faults(len(l.proxies), l.seed))
	if err != nil {
		l.t.Fatal(err)
	}
	l.proxies = append(l.proxies, p)
	l.t.Cleanup(func() { _ = p.Close() })
	return p
}

// add makes the clients.
func (l *load) add(t *testing.T) {
	l.start(t, "rest", 3, func(host string) (client, error) { return newRESTClient(host), nil })
	l.start(t, "go", 3, func(host string) (client, error) { return newGoClient(t.Context(), host) })
	for _, d := range []struct {
		kind  string
		count int
		find  func(*testing.T) func(string) *exec.Cmd
	}{{"firebase", 2, firebaseDriver}, {"admin", 1, adminDriver}} {
		if command := d.find(t); command != nil {
			l.start(t, d.kind, d.count, func(host string) (client, error) { return startDriver(d.kind, command(host)) })
		}
	}
}

// start makes clients of one kind, unless the flag -clients leaves it out.
func (l *load) start(t *testing.T, kind string, count int, dial func(host string) (client, error)) {
	t.Helper()
	if *clientKinds != "" && !slices.Contains(strings.Split(*clientKinds, ","), kind) {
		return
	}
	for range count {
		p := l.proxy()
		c, err := dial(p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		l.clients, l.behind = append(l.clients, c), append(l.behind, p)
	}
}

// watchers makes the listeners.
func (l *load) watchers(t *testing.T) (all []watcher) {
	for range 2 {
		w, err := newGoWatcher(t.Context(), l.proxy().Addr())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	if command := firebaseDriver(t); command != nil {
		w, err := startWatcher("firebase", command(l.proxy().Addr()))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	return all
}

// run has all clients at work for a while. Then the network is mended, and they
// end what they are at.
func (l *load) run(d time.Duration) {
	ctx, cancel := context.WithTimeout(l.t.Context(), d)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		for _, p := range l.proxies {
			p.Heal()
		}
	})()
	var all sync.WaitGroup
	for i := range l.clients {
		all.Go(func() { l.work(ctx, i) })
	}
	all.Wait()
	<-ctx.Done()
	for i, c := range l.clients {
		if err := c.close(); err != nil {
			l.t.Errorf("client %d: %v", i, err)
		}
	}
}

// maxThought is how long a client waits between two calls, at most.
const maxThought = 4 * time.Millisecond

func (l *load) work(ctx context.Context, i int) {
	c, rnd := l.clients[i], rand.New(rand.NewPCG(l.seed, uint64(i)))
	n := 0
	tag := func() string {
		n++
		return fmt.Sprintf("c%d-%d", i, n)
	}
	thought := time.NewTimer(0)
	defer thought.Stop()
	for {
		select {
		case <-thought.C:
			thought.Reset(time.Duration(rnd.Int64N(int64(maxThought))))
		case <-ctx.Done():
			return
		}
		o := op{Client: fmt.Sprintf("c%d", i), SDK: c.kind()}
		o.Input.Key = fmt.Sprintf("lin/k%d", rnd.IntN(keys))
		o.Call = l.history.now()
		switch rnd.IntN(3) {
		case 0:
			l.read(c, o)
		case 1:
			o.Input.Tag = tag()
			l.write(c, o, l.behind[i])
		default:
			l.swap(c, o, tag)
		}
	}
}

func (l *load) read(c client, o op) {
	value, err := c.read(o.Input.Key)
	o.Return = l.history.now()
	o.Input.Kind, o.Output = read, outcome{Unknown: err != nil, Value: value}
	l.history.add(o)
}

// write notes how often a client may have sent a write again: at most once on each
// connection that it opened meanwhile.
func (l *load) write(c client, o op, behind *faultproxy.Proxy) {
	before := behind.Accepted()
	err := c.write(o.Input.Key, o.Input.Tag)
	o.Return = l.history.now()
	o.Input.Kind, o.Output.Unknown = write, err != nil
	if c.resends() {
		o.Output.Resent = behind.Accepted() - before
	}
	l.history.add(o)
}

// swap notes each attempt. It begins when the client asks for its tag, which clients in
// other programs do once for all attempts.
func (l *load) swap(c client, o op, tag func() string) {
	var began []int64
	tried, done := c.swap(o.Input.Key, func() string {
		began = append(began, l.history.now())
		return tag()
	})
	ended := l.history.now()
	o.Input.Kind = swap
	for n, a := range tried {
		last := n == len(tried)-1
		o.Return = ended
		if len(began) == len(tried) {
			o.Call = began[n]
			if !last {
				o.Return = began[n+1]
			}
		}
		o.Input.Old, o.Input.Tag = a.Old, a.Tag
		o.Output = outcome{Refused: a.Refused, Unknown: !a.Refused && !(done && last)}
		l.history.add(o)
	}
}

// check wants a history that one value of each key could have had. One that is not is kept.
func (l *load) check() {
	l.t.Helper()
	breaks := int64(0)
	for _, p := range l.proxies {
		breaks += p.Breaks()
	}
	n := l.history.figures()
	l.t.Logf("%d clients, %d connections broke: %v", len(l.clients), breaks, n)
	if err := linearizable(l.history.ops); err != nil {
		file, keepErr := l.history.keep(failed, fmt.Sprint(l.seed))
		l.t.Errorf("not linearizable: %v\nthe seed is %d; to check the history again: go test -run TestRecorded ./server/consistency -history %s", errors.Join(err, keepErr), l.seed, file)
	}
	if breaks == 0 || n["swaps"] == 0 || n["reads"] == 0 || n["writes"] == 0 {
		l.t.Error("something never took place")
	}
}

// A history that was kept reads back as it was.
func TestKeep(t *testing.T) {
	h := history{ops: []op{
		{Client: "c0", SDK: "rest", Call: 1, Return: 4, Input: call{Kind: swap, Key: "k", Old: "a", Tag: "b"}, Output: outcome{Refused: true}},
		{Client: "c1", SDK: "go", Call: 2, Return: 3, Input: call{Kind: read, Key: "k"}, Output: outcome{Value: "a"}},
		{Client: "c2", SDK: "firebase", Call: 5, Return: 9, Input: call{Kind: write, Key: "k", Tag: "c"}, Output: outcome{Unknown: true, Resent: 2}},
	}}
	file, err := h.keep(t.TempDir(), "one")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := recorded(file); err != nil || !slices.Equal(got, h.ops) {
		t.Errorf("recorded: %v, %v; want %v", got, err, h.ops)
	}
}

// TestRecorded checks the history in the file that -history names.
func TestRecorded(t *testing.T) {
	if *historyFile == "" {
		t.Skip("-history names no file")
	}
	ops, err := recorded(*historyFile)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d calls", len(ops))
	if err := linearizable(ops); err != nil {
		t.Errorf("not linearizable: %v", err)
	}
}

// sameView reports whether a view shows the keys as they are.
func sameView(got map[string]string, want map[string]string) bool {
	return len(got) == 0 && len(want) == 0 || reflect.DeepEqual(got, want)
}
