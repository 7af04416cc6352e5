package server

import (
	"container/list"
	"errors"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/server/metrics"
)

// An account is what one address has, and may have. A nil account has no bounds.
// Whoever uses one holds it, so that it is not forgotten meanwhile.
type account struct {
	key      netip.Addr
	name     string // for the log
	connects *rate.Limiter
	requests *rate.Limiter
	resources

	// These are guarded by the table's mu.
	holders     int
	connections int
	surplus     int // connections that are only there to be refused
	polls       int
	idle        *list.Element // nil while somebody holds it
	since       time.Time     // when that began
}

// accounts is the table of addresses that were heard of lately. It is bounded:
// first those go that nobody holds, longest unused first, and when all are
// held, further addresses share one account.
type accounts struct {
	s        *Server
	limits   AddressLimits
	proxies  proxies
	max      int
	refusals *refusals

	mu     sync.Mutex
	of     map[netip.Addr]*account
	idle   list.List // of *account, the one that was used last in the back
	shared *account  // of those for whom the table has no place; nil: none yet
}

func newAccounts(s *Server) *accounts {
	return &accounts{
		s:        s,
		limits:   s.opts.PerAddress,
		proxies:  proxies{s.opts.PerAddress.TrustedProxies, s.opts.PerAddress.ProxyHeader},
		max:      maxAccounts,
		refusals: s.refusals,
		of:       make(map[netip.Addr]*account),
	}
}

// hold returns the account of an address until it is let go, nil if the address
// is exempt or there is none.
func (t *accounts) hold(addr netip.Addr) *account {
	if !addr.IsValid() || contains(t.limits.Exempt, addr) {
		return nil
	}
	key := accountOf(addr)
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.of[key]
	if a == nil {
		a = t.add(key)
	}
	a.holders++
	if a.idle != nil {
		t.idle.Remove(a.idle)
		a.idle = nil
	}
	return a
}

// again holds an account once more.
func (t *accounts) again(a *account) *account {
	if a != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		a.holders++
	}
	return a
}

// letGo ends what hold began.
func (t *accounts) letGo(a *account) {
	if a == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if a.holders--; a.holders > 0 || a == t.shared {
		return
	}
	a.since = time.Now()
	a.idle = t.idle.PushBack(a)
	for range 2 { // more than the one that may have been added
		t.forget(false)
	}
}

// add makes an account. mu is held.
func (t *accounts) add(key netip.Addr) *account {
	if len(t.of) >= t.max && !t.forget(true) {
		if t.shared == nil {
			t.shared = t.open(netip.Addr{})
		}
		return t.shared
	}
	a := t.open(key)
	t.of[key] = a
	return a
}

// rested is how long nobody must have held an account that is forgotten without
// need. By default an address has its bursts back by then.
const rested = time.Minute

// forget forgets the account that was not used for longest, if that was long
// ago or room is needed. It reports whether there was one.
func (t *accounts) forget(needed bool) bool {
	front := t.idle.Front()
	if front == nil {
		return false
	}
	a := front.Value.(*account)
	if !needed && time.Since(a.since) < rested {
		return false
	}
	t.idle.Remove(front)
	delete(t.of, a.key)
	return true
}

// open returns a new account.
func (t *accounts) open(key netip.Addr) *account {
	a := &account{
		key:       key,
		name:      nameOf(key),
		connects:  limiter(t.limits.ConnectRate, t.limits.Connections),
		requests:  limiter(t.limits.RequestRate, t.limits.RequestBurst),
		resources: t.s.all.share(t.limits),
	}
	a.bodies.Refused = func(err error) {
		if errors.Is(err, limit.ErrShare) {
			t.refusals.add(metrics.AddressBodies, a.name)
		} else {
			t.refusals.add(metrics.Bodies, "")
		}
	}
	return a
}

// nameOf is what the log calls an account: the address, or those that share it.
func nameOf(key netip.Addr) string {
	switch {
	case !key.IsValid():
		return "others"
	case key.Is6():
		return key.String() + "/64"
	}
	return key.String()
}

// limiter returns a limiter of so many events per second after a burst, one that
// limits nothing if there is no bound.
func limiter(perSecond, burst int) *rate.Limiter {
	if perSecond < 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	if burst < 0 {
		burst = perSecond
	}
	return rate.NewLimiter(rate.Limit(perSecond), max(burst, 1))
}

// below reports whether n more can be added, most being negative if there is no
// bound.
func below(n, most int) bool { return most < 0 || n < most }

// connect counts a connection of a's address, or as surplus if it has too many or
// makes them too fast. Beyond a few of those, ok is false.
func (t *accounts) connect(a *account) (surplus, ok bool) {
	if a == nil {
		return false, true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !below(a.connections, t.limits.Connections):
		t.refusals.add(metrics.AddressConnections, a.name)
	case !a.connects.Allow():
		t.refusals.add(metrics.AddressRate, a.name)
	default:
		a.connections++
		return false, true
	}
	if a.surplus >= maxSurplus {
		return true, false
	}
	a.surplus++
	return true, true
}

// disconnect ends what connect counted.
func (t *accounts) disconnect(a *account, surplus bool) {
	if a == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if surplus {
		a.surplus--
	} else {
		a.connections--
	}
}

// occupy counts one connection more if a may have it.
func (t *accounts) occupy(a *account) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !below(a.connections, t.limits.Connections) {
		t.refusals.add(metrics.AddressConnections, a.name)
		return false
	}
	a.connections++
	return true
}

// startPoll counts a connection through long polling, if there may be one more.
func (t *accounts) startPoll(a *account) bool {
	if a == nil {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !below(a.polls, t.limits.Polls) {
		t.refusals.add(metrics.AddressPolls, a.name)
		return false
	}
	a.polls++
	return true
}

func (t *accounts) endPoll(a *account) {
	if a == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	a.polls--
}
