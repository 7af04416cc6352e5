package server

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
)

// An idleTest is a server whose databases become idle when the test says so.
type idleTest struct {
	*testServer
	dir  string
	time atomic.Int64 // nanoseconds
}

const idleAfter = time.Hour // in which the server does not look by itself

func startIdle(t *testing.T) *idleTest {
	it := &idleTest{dir: t.TempDir()}
	it.testServer = serveTest(t, Options{Dir: it.dir, Dev: true, Limits: Limits{IdleAfter: idleAfter},
		uptime: func() time.Duration { return time.Duration(it.time.Load()) }})
	return it
}

// settle puts what is in the log into the file of a database, which is open.
func (it *idleTest) settle(name string) {
	it.t.Helper()
	ns, err := it.spaces.find(name)
	if err != nil {
		it.t.Fatal(err)
	}
	db, err := it.spaces.use(ns)
	if err != nil {
		it.t.Fatal(err)
	}
	defer it.spaces.leave(ns)
	if _, err := db.Backup(io.Discard); err != nil {
		it.t.Error(err)
	}
}

// rest lets the time pass after which databases are idle.
func (it *idleTest) rest() {
	it.time.Add(int64(idleAfter))
	it.spaces.closeIdle()
}

func (it *idleTest) isOpen(name string) bool {
	for ns := range it.spaces.opened() {
		if ns == name {
			return true
		}
	}
	return false
}

// wantClosed waits for what goes on in the background, and for the database to be closed.
func (it *idleTest) wantClosed(name string) {
	it.t.Helper()
	waitFor(it.t, name+" is closed", func() bool {
		it.rest()
		return !it.isOpen(name)
	})
}

// TestIdleIsClosed: a database is closed after the time without use and not before. It comes
// back with its data and its counts.
func TestIdleIsClosed(t *testing.T) {
	it := startIdle(t)
	owner := bearer("owner")
	it.record(call{http.MethodPut, "/a.json?ns=shop", owner, `1`}, http.StatusOK)
	it.settle("shop")
	it.time.Add(int64(idleAfter) - 1)
	it.spaces.closeIdle()
	if !it.isOpen("shop") {
		t.Error("it was closed before its time")
	}
	it.wantClosed("shop")
	metrics := it.record(call{http.MethodGet, "/metrics", owner, ""}, http.StatusOK).Body.String()
	for _, want := range []string{`dogwood_writes_total{namespace="shop"} `, "dogwood_databases 0", "dogwood_commit_seconds_count "} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics of a closed database lack %q", want)
		}
	}
	if strings.Contains(metrics, `dogwood_writes_total{namespace="shop"} 0`) {
		t.Error("the count of writes is lost")
	}
	if list := it.record(call{http.MethodGet, "/.inspect/databases.json", owner, ""}, http.StatusOK).Body.String(); !strings.Contains(list, `"shop"`) {
		t.Errorf("databases are %s", list)
	}
	if err := it.Ready(t.Context()); err != nil {
		t.Errorf("not ready: %v", err)
	}
	if it.isOpen("shop") {
		t.Error("metrics, the list of databases or a health check opened it")
	}
	before, _ := it.totals()
	if got := it.record(call{http.MethodGet, "/a.json?ns=shop", owner, ""}, http.StatusOK).Body.String(); got != "1" {
		t.Errorf("it came back with %s", got)
	}
	if after, _ := it.totals(); after.Writes < before.Writes || after.Reads != before.Reads+1 {
		t.Errorf("counts went from %+v to %+v", before, after)
	}
}

// TestUsedStaysOpen: nothing is closed that is in use, and in the end it is.
func TestUsedStaysOpen(t *testing.T) {
	it := startIdle(t)
	it.record(call{http.MethodPut, "/a.json?ns=shop", bearer("owner"), `1`}, http.StatusOK)
	stays := func(what string) {
		t.Helper()
		it.settle("shop")
		for range 3 {
			it.rest()
		}
		if !it.isOpen("shop") {
			t.Errorf("it was closed with %s", what)
		}
	}
	ns, err := it.spaces.find("shop")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := it.spaces.use(ns); err != nil {
		t.Fatal(err)
	}
	stays("a request that is under way")
	it.spaces.leave(ns)

	s := it.follow("/a.json?ns=shop")
	s.wantNext(allOf("1"))
	stays("an event stream")
	s.Close()
	waitFor(t, "the stream has ended", func() bool { return ns.users.Load() == 0 })
	it.wantClosed("shop")
}

// TestExportsLeave: every form of an export uses the database once, and leaves it.
func TestExportsLeave(t *testing.T) {
	it := startIdle(t)
	owner := bearer("owner")
	it.record(call{http.MethodPut, "/a.json?ns=shop", owner, `1`}, http.StatusOK)
	for _, c := range []call{
		{http.MethodGet, "/a.json?ns=shop&format=export", nil, ""},
		{http.MethodGet, "/a.json?ns=shop&format=export", owner, ""},
		{http.MethodGet, "/a.json?ns=shop&format=export&print=pretty", owner, ""},
		{http.MethodGet, "/a/.priority.json?ns=shop&format=export", owner, ""},
	} {
		it.record(c, http.StatusOK)
		ns, err := it.spaces.find("shop")
		if err != nil {
			t.Fatal(err)
		}
		if n := ns.users.Load(); n != 0 {
			t.Fatalf("%s leaves %d uses behind", c.target, n)
		}
	}
	it.settle("shop")
	it.wantClosed("shop")
}

// TestIdleExpires: a database stays open while a node is to expire, since nothing else would
// remove it in time, and no longer when that node has gone before.
func TestIdleExpires(t *testing.T) {
	it := startIdle(t)
	document := `{"format": "dogwood-data/1", "define": {"old": {"expire": "/typing/$u", "after": "10d"}}}`
	it.record(call{http.MethodPut, "/.settings/data.json?ns=shop", bearer("owner"), document}, http.StatusOK)
	it.record(call{http.MethodPut, "/typing/ada.json?ns=shop", bearer("owner"), `1`}, http.StatusOK)
	it.settle("shop")
	for range 3 {
		it.rest()
	}
	if !it.isOpen("shop") {
		t.Fatal("it was closed with a node that is to expire")
	}
	it.record(call{http.MethodDelete, "/typing/ada.json?ns=shop", bearer("owner"), ""}, http.StatusOK)
	it.settle("shop")
	it.wantClosed("shop")
}

// TestIdleSockets: a realtime connection uses its database, also without listens, until
// what it has left for its disconnect has been carried out.
func TestIdleSockets(t *testing.T) {
	it := startIdle(t)
	n := &network{it.Server, t, func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", it.addr)
	}}
	c := n.connect("")
	c.do("o", `{"p":"/left","d":true}`)
	it.settle("test")
	for range 3 {
		it.rest()
	}
	if !it.isOpen("test") {
		t.Error("it was closed with a connection")
	}
	c.ws.Close()
	n.wantValue("/left", "true")
	it.settle("test")
	it.wantClosed("test")
	n.wantValue("/left", "true")
}

// TestIdleInMemory: a database in memory would be lost.
func TestIdleInMemory(t *testing.T) {
	var passed atomic.Int64
	ts := serveTest(t, Options{Dev: true, Limits: Limits{IdleAfter: idleAfter}, uptime: func() time.Duration { return time.Duration(passed.Load()) }})
	ts.record(call{http.MethodPut, "/a.json?ns=shop", bearer("owner"), `1`}, http.StatusOK)
	passed.Store(int64(10 * idleAfter))
	ts.spaces.closeIdle()
	ts.want(http.MethodGet, "/a.json?ns=shop", "", http.StatusOK, "1")
}

// TestIdleFileIsGone: no empty database takes the place of one whose file was removed.
func TestIdleFileIsGone(t *testing.T) {
	it := startIdle(t)
	it.record(call{http.MethodPut, "/a.json?ns=shop", bearer("owner"), `1`}, http.StatusOK)
	it.settle("shop")
	it.wantClosed("shop")
	file := filepath.Join(it.dir, "shop.db")
	if err := os.Rename(file, file+".away"); err != nil {
		t.Fatal(err)
	}
	it.record(call{http.MethodGet, "/a.json?ns=shop", bearer("owner"), ""}, http.StatusServiceUnavailable)
	if _, err := os.Stat(file); err == nil {
		t.Error("there is a new file")
	}
	if err := os.Rename(file+".away", file); err != nil {
		t.Fatal(err)
	}
	it.want(http.MethodGet, "/a.json?ns=shop", "", http.StatusOK, "1")
}

// TestIdleModel: while databases are closed again and again, no request fails, and each
// sees what was acknowledged before.
func TestIdleModel(t *testing.T) {
	const databases, workers = 12, 8
	it := startIdle(t)
	var acked [databases][workers]int
	var working, idling sync.WaitGroup
	done := make(chan struct{})
	var closed int
	idling.Go(func() {
		for {
			for i := range databases {
				it.settle(fmt.Sprintf("db%d", i))
			}
			before := 0
			for range it.spaces.opened() {
				before++
			}
			it.rest()
			for range it.spaces.opened() {
				before--
			}
			closed += max(before, 0)
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for w := range workers {
		working.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(w), 7))
			for range tier.Pick(60, 300, 3000) {
				i := rnd.IntN(databases)
				target := fmt.Sprintf("/w%d.json?ns=db%d", w, i)
				if rnd.IntN(2) == 0 {
					value := acked[i][w] + 1
					it.record(call{http.MethodPut, target, bearer("owner"), fmt.Sprint(value)}, http.StatusOK)
					acked[i][w] = value
					continue
				}
				want := "null"
				if acked[i][w] > 0 {
					want = fmt.Sprint(acked[i][w])
				}
				if got := it.record(call{http.MethodGet, target, bearer("owner"), ""}, http.StatusOK).Body.String(); got != want {
					t.Errorf("%s is %s, want %s", target, got, want)
				}
			}
		})
	}
	working.Wait()
	close(done)
	idling.Wait()
	if closed == 0 {
		t.Error("no database was closed")
	}
	t.Logf("closed %d times", closed)
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	again := serveTest(t, Options{Dir: it.dir, Dev: true})
	for i := range databases {
		for w := range workers {
			if n := acked[i][w]; n > 0 {
				again.want(http.MethodGet, fmt.Sprintf("/w%d.json?ns=db%d", w, i), "", http.StatusOK, fmt.Sprint(n))
			}
		}
	}
}
