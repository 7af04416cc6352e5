package server

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func accountsTest(t *testing.T, max int) *accounts {
	t.Helper()
	s, err := New(Options{Dev: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	s.accounts.max = max
	return s.accounts
}

func numbered(n int) netip.Addr {
	return netip.MustParseAddr(fmt.Sprintf("198.51.%d.%d", n/256, n%256))
}

// Who is held is never forgotten, and the table does not grow beyond its bound.
func TestAccountsAreBounded(t *testing.T) {
	ac := accountsTest(t, 3)
	a, b := ac.hold(numbered(1)), ac.hold(numbered(2))
	if ac.hold(numbered(1)) != a {
		t.Error("an address has two accounts")
	}
	ac.letGo(a)
	for n := 10; n < 20; n++ {
		ac.letGo(ac.hold(numbered(n)))
	}
	if len(ac.of) != 3 || ac.of[numbered(1)] != a || ac.of[numbered(2)] != b {
		t.Errorf("%d accounts are kept, want 3 with those that are held", len(ac.of))
	}
	c := ac.hold(numbered(3))
	d, e := ac.hold(numbered(4)), ac.hold(numbered(5))
	if d != e || d == c || len(ac.of) != 3 {
		t.Error("those for whom there is no place do not share an account")
	}
	ac.letGo(d)
	ac.letGo(b)
	if f := ac.hold(numbered(6)); f == d || ac.of[numbered(2)] != nil {
		t.Error("a place that is free is not used")
	}
}

// Accounts are forgotten after a while without need.
func TestAccountsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ac := accountsTest(t, maxAccounts)
		for n := range 1000 {
			ac.letGo(ac.hold(numbered(n)))
		}
		time.Sleep(rested)
		for range 1000 {
			ac.letGo(ac.hold(numbered(0)))
		}
		if len(ac.of) != 1 || ac.idle.Len() != 1 {
			t.Errorf("%d accounts are left, want 1", len(ac.of))
		}
		ac.s.Close()
	})
}

func TestAccountsTogether(t *testing.T) {
	ac := accountsTest(t, 10)
	var all sync.WaitGroup
	for seed := range uint64(8) {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, 1))
			for range 2000 {
				a := ac.hold(numbered(rnd.IntN(15)))
				surplus, ok := ac.connect(a)
				poll := ac.startPoll(a)
				ac.letGo(ac.again(a))
				if poll {
					ac.endPoll(a)
				}
				if ok {
					ac.disconnect(a, surplus)
				}
				ac.letGo(a)
			}
		})
	}
	all.Wait()
	if len(ac.of) > 10 || ac.idle.Len() != len(ac.of) {
		t.Errorf("%d accounts, %d of them idle", len(ac.of), ac.idle.Len())
	}
	for _, a := range ac.of {
		if a.holders != 0 || a.connections != 0 || a.surplus != 0 || a.polls != 0 {
			t.Errorf("%+v is left", a)
		}
	}
}
