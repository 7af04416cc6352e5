package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// kills is how often TestCrash kills a server.
func kills() int {
	return tier.Count("DOGWOOD_KILLS", 2, 6, 1000)
}

// crashRules allow everything.
const crashRules = `{"rules":{".read":true,".write":true}}`

// How long a server is under load before it is killed, and how long it runs if it
// is killed while it starts, at most.
const (
	crashLoad  = 160 * time.Millisecond
	crashStart = 80 * time.Millisecond
)

// TestCrash kills a server at random moments, under load or while it starts, and
// then looks at its files, starts it again on them and reads the data:
// everything that was acknowledged, of each client's other writes the first ones
// and no others, no update in part, and what clients left for their disconnect
// once. With DOGWOOD_KILLS=1000 it does so as often.
func TestCrash(t *testing.T) {
	t.Parallel()
	c := newCrashTest(t, crashSockets, "one", "two")
	for round := 0; round < kills() || !c.busy() && round < kills()+100; round++ {
		if round%5 == 4 {
			c.killStarting()
		}
		c.start()
		c.compare()
		c.load()
		c.checkFiles()
		if t.Failed() {
			t.Fatalf("round %d; the seed is %d", round+1, c.seed)
		}
	}
	c.start()
	c.compare()
	if err := c.server.stop(); err != nil {
		t.Error(err)
	}
	c.checkFiles()
	c.report()
}

// A crashTest is a server that is killed and what is known of its databases.
type crashTest struct {
	t      *testing.T
	seed   uint64
	rnd    *rand.Rand
	data   string
	args   []string
	server *serverProcess
	most   time.Duration // under load
	killed atomic.Bool   // the server that runs, or is about to be
	dbs    []*crashDB
	starts int // servers that were killed while they started
	loads  int // and under load
}

func newCrashTest(t *testing.T, sockets int, namespaces ...string) *crashTest {
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules.json")
	if err := os.WriteFile(rules, []byte(crashRules), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &crashTest{t: t, most: crashLoad, seed: uint64(time.Now().UnixNano()), data: filepath.Join(dir, "data")}
	c.rnd = rand.New(rand.NewPCG(c.seed, 0))
	c.args = []string{"serve", "--port", "0", "--data", c.data, "--rules", rules, "--namespace", strings.Join(namespaces, ",")}
	for _, ns := range namespaces {
		c.dbs = append(c.dbs, newCrashDB(ns, c.seed, sockets))
	}
	return c
}

func (c *crashTest) start() {
	c.t.Helper()
	c.killed.Store(false)
	c.server = startProcess(c.t, c.args...)
	if err := c.server.listening(); err != nil {
		c.t.Fatal(err)
	}
}

// killStarting kills a server that begins to read its files.
func (c *crashTest) killStarting() {
	s := startProcess(c.t, c.args...)
	moment := time.NewTimer(time.Duration(c.rnd.Int64N(int64(crashStart))))
	defer moment.Stop()
	<-moment.C
	s.kill()
	c.starts++
}

// load has clients do what they do until the server is killed.
func (c *crashTest) load() {
	server := c.server
	killing := time.AfterFunc(time.Duration(c.rnd.Int64N(int64(c.most))), func() {
		c.killed.Store(true)
		server.kill()
	})
	defer killing.Stop()
	c.work(server.url)
	server.ended()
	c.loads++
}

// work runs all clients until the server is gone.
func (c *crashTest) work(url string) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	for _, db := range c.dbs {
		for _, work := range db.clients(url, client) {
			all.Go(func() {
				if err := work(); err != nil && (!c.killed.Load() || errors.Is(err, errWrong)) {
					c.t.Errorf("%s: %v", db.ns, err)
				}
			})
		}
	}
	all.Wait()
}

// checkFiles verifies what a killed server has left.
func (c *crashTest) checkFiles() {
	c.t.Helper()
	for _, db := range c.dbs {
		findings, err := store.CheckFile(filepath.Join(c.data, db.ns+".db"))
		if err := errors.Join(append(findings, err)...); err != nil {
			c.t.Errorf("check %s: %v", db.ns, err)
		}
	}
}

// compare asks the server for everything and compares that with what is known.
func (c *crashTest) compare() {
	c.t.Helper()
	for _, db := range c.dbs {
		root, err := c.export(db.ns)
		if err == nil {
			err = db.compare(root)
		}
		if err == nil {
			db.begin(root)
		} else {
			c.t.Errorf("%s, after %d kills: %v", db.ns, c.loads, err)
		}
	}
	if c.t.Failed() {
		c.t.Fatalf("the seed is %d", c.seed)
	}
}

func (c *crashTest) export(ns string) (tree.Node, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.server.url+"/.json?format=export&ns="+ns, nil)
	if err != nil {
		return tree.Empty, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return tree.Empty, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return tree.Empty, fmt.Errorf("export: %s %.200s, %w", resp.Status, text, err)
	}
	return tree.ParseNode(string(text))
}

// report says what the kills have met, and that it was not nothing.
func (c *crashTest) report() {
	c.t.Logf("%d kills under load, %d at the start: %+v", c.loads, c.starts, c.figures())
	if !c.busy() {
		c.t.Error("some kind of write never took place")
	}
}

// busy reports whether each kind of write took place. On a busy machine some kinds may not,
// for some rounds.
func (c *crashTest) busy() bool {
	f := c.figures()
	return f.Acked > 0 && f.Disconnects > 0 && f.Conditional > 0 && f.Increments > 0
}

func (c *crashTest) figures() (sum crashFigures) {
	for _, db := range c.dbs {
		sum.add(db.figures)
	}
	return sum
}
