package peer

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/server/metrics"
)

// testLimits are bounds that no test reaches without meaning to.
var testLimits = Limits{Connections: 100, ConnectRate: 1000, RequestRate: 1000, RequestBurst: 1000, Polls: 100, BodyBytes: 1 << 20, Exempt: []netip.Prefix{}}

func tableTest(max int) *Table {
	o := Options{
		Limits:  testLimits,
		All:     NewResources(Totals{Bodies: 1 << 20, Work: 1 << 20, Answers: 1 << 20}),
		Refused: func(metrics.Reason, string) {},
	}
	o.SetDefaults()
	t := NewTable(o)
	t.max = max
	return t
}

func numbered(n int) netip.Addr {
	return netip.MustParseAddr(fmt.Sprintf("198.51.%d.%d", n/256, n%256))
}

// A client that is held is never forgotten, and the table does not grow beyond its bound.
func TestAccountsAreBounded(t *testing.T) {
	ac := tableTest(3)
	a, b := ac.Acquire(numbered(1)), ac.Acquire(numbered(2))
	if ac.Acquire(numbered(1)) != a {
		t.Error("an address has two accounts")
	}
	ac.Release(a)
	for n := 10; n < 20; n++ {
		ac.Release(ac.Acquire(numbered(n)))
	}
	if len(ac.of) != 3 || ac.of[numbered(1)] != a || ac.of[numbered(2)] != b {
		t.Errorf("%d accounts are kept, want 3 with those that are held", len(ac.of))
	}
	c := ac.Acquire(numbered(3))
	d, e := ac.Acquire(numbered(4)), ac.Acquire(numbered(5))
	if d != e || d == c || len(ac.of) != 3 {
		t.Error("those for whom there is no place do not share an account")
	}
	ac.Release(d)
	ac.Release(b)
	if f := ac.Acquire(numbered(6)); f == d || ac.of[numbered(2)] != nil {
		t.Error("a place that is free is not used")
	}
}

// Accounts are forgotten after a while without need.
func TestAccountsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ac := tableTest(MaxClients)
		for n := range 1000 {
			ac.Release(ac.Acquire(numbered(n)))
		}
		time.Sleep(rested)
		for range 1000 {
			ac.Release(ac.Acquire(numbered(0)))
		}
		if len(ac.of) != 1 || ac.idle.Len() != 1 {
			t.Errorf("%d accounts are left, want 1", len(ac.of))
		}
	})
}

// TestClientBytes: an address takes no more memory than the bound of addresses is derived from.
func TestClientBytes(t *testing.T) {
	const clients = 5000
	o := tableTest(0).options
	o.MaxClients = clients
	table := NewTable(o)
	before := heapBytes()
	for n := range clients {
		table.Release(table.Acquire(netip.MustParseAddr(fmt.Sprintf("2001:db8:1234:%x::1", n))))
	}
	each := (heapBytes() - before) / clients
	if len(table.of) != clients || each > ClientBytes {
		t.Errorf("each of %d addresses takes %d bytes, want %d at most", len(table.of), each, ClientBytes)
	}
	table.Release(table.Acquire(numbered(1)))
	if len(table.of) != clients {
		t.Errorf("%d addresses are remembered, want %d", len(table.of), clients)
	}
}

// heapBytes returns how many bytes are in use.
func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestAccountsTogether(t *testing.T) {
	ac := tableTest(10)
	var all sync.WaitGroup
	for seed := range uint64(8) {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, 1))
			for range 2000 {
				a := ac.Acquire(numbered(rnd.IntN(15)))
				excess, ok := ac.connect(a)
				poll := ac.StartPoll(a)
				ac.Release(ac.Retain(a))
				if poll {
					ac.EndPoll(a)
				}
				if ok {
					ac.disconnect(a, excess)
				}
				ac.Release(a)
			}
		})
	}
	all.Wait()
	if len(ac.of) > 10 || ac.idle.Len() != len(ac.of) {
		t.Errorf("%d accounts, %d of them idle", len(ac.of), ac.idle.Len())
	}
	for _, a := range ac.of {
		if a.holders != 0 || a.connections != 0 || a.excess != 0 || a.polls != 0 {
			t.Errorf("%+v is left", a)
		}
	}
}
