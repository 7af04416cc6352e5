package consistency

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/dogwooddb/dogwood/server/servertest"
	"github.com/dogwooddb/dogwood/server/servertest/faultproxy"
)

// A client does what it is told, one thing at a time, and says what it learned.
type client interface {
	// read returns the string at a key; "" is nothing.
	read(key string) (value string, err error)

	// write replaces it. An error means that nobody knows.
	write(key, tag string) error

	// swap replaces what it finds, by a tag of its own in each attempt. It returns
	// the attempts; done says that the last one succeeded. Of the others nobody
	// knows, unless they were refused for sure.
	swap(key string, tag func() string) (tried []attempt, done bool)

	// resends says that a write may be sent again when a connection breaks, and
	// so take effect twice.
	resends() bool

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
	if testing.Short() {
		return brokenTime / 3
	}
	return brokenTime
}

// places are what clients write: few, so that they get into each other's way.
const places = 12

// faults are what happens to the connections of client i.
func faults(i int, seed uint64) faultproxy.Faults {
	return faultproxy.Faults{Cut: 6000, Silent: 0.5, Silence: 50 * time.Millisecond, Late: 0.05, MaxDelay: 20 * time.Millisecond, Seed: seed + uint64(i)}
}

// TestLinearizable has clients of every kind read, write and carry out transactions
// over connections that are cut, delayed and fall silent. Their history must be
// one that a single value in each place could have had, and in the end all
// listeners see what is there.
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
	use := func(c client, err error, p *faultproxy.Proxy) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		l.clients, l.behind = append(l.clients, c), append(l.behind, p)
	}
	for range 3 {
		p := l.proxy()
		use(newRESTClient(p.Addr()), nil, p)
	}
	for range 3 {
		p := l.proxy()
		c, err := newGoClient(t.Context(), p.Addr())
		use(c, err, p)
	}
	for range 2 {
		if command := firebaseDriver(t); command != nil {
			p := l.proxy()
			c, err := startDriver(command(p.Addr()))
			use(c, err, p)
		}
	}
	if command := adminDriver(t); command != nil {
		p := l.proxy()
		c, err := startDriver(command(p.Addr()))
		use(c, err, p)
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
		w, err := startWatcher(command(l.proxy().Addr()))
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
		key := fmt.Sprintf("lin/k%d", rnd.IntN(places))
		began := l.history.now()
		switch rnd.IntN(3) {
		case 0:
			value, err := c.read(key)
			l.history.add(i, began, call{kind: read, key: key}, outcome{unknown: err != nil, value: value})
		case 1:
			l.write(i, key, tag(), began)
		default:
			l.swap(i, key, tag, began)
		}
	}
}

func (l *load) write(i int, key, tag string, began int64) {
	before := l.behind[i].Accepted()
	err := l.clients[i].write(key, tag)
	w := call{kind: write, key: key, tag: tag}
	l.history.add(i, began, w, outcome{unknown: err != nil})
	if l.clients[i].resends() {
		for range l.behind[i].Accepted() - before {
			l.history.add(i, began, w, outcome{unknown: true})
		}
	}
}

func (l *load) swap(i int, key string, tag func() string, began int64) {
	tried, done := l.clients[i].swap(key, tag)
	for n, a := range tried {
		o := outcome{unknown: true}
		switch {
		case a.Refused:
			o = outcome{refused: true}
		case done && n == len(tried)-1:
			o = outcome{}
		}
		l.history.add(i, began, call{kind: swap, key: key, old: a.Old, tag: a.Tag}, o)
	}
}

// checking is how long the checker may take.
const checking = time.Minute

// check wants a history that one value in each place could have had.
func (l *load) check() {
	l.t.Helper()
	breaks := int64(0)
	for _, p := range l.proxies {
		breaks += p.Breaks()
	}
	l.t.Logf("%d clients, %d connections broke: %v", len(l.clients), breaks, l.history.figures())
	result, info := linearizable(l.history.ops, checking)
	switch {
	case result == porcupine.Unknown:
		l.t.Errorf("the checker takes more than %s; the seed is %d", checking, l.seed)
	case result != porcupine.Ok:
		file := filepath.Join(os.TempDir(), fmt.Sprintf("linearizability-%d.html", l.seed))
		l.t.Errorf("not linearizable; %s shows where, %v; the seed is %d", file, porcupine.VisualizePath(model(), info, file), l.seed)
	}
	if n := l.history.figures(); breaks == 0 || n["swaps"] == 0 || n["reads"] == 0 || n["writes"] == 0 {
		l.t.Error("something never took place")
	}
}

// sameView reports whether a view shows the places as they are.
func sameView(got map[string]string, want map[string]string) bool {
	return len(got) == 0 && len(want) == 0 || reflect.DeepEqual(got, want)
}
