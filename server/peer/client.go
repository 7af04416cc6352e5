package peer

import (
	"cmp"
	"container/list"
	"errors"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/server/metrics"
)

// A Client is what one address has, and may have. A nil Client has no bounds.
// Its users hold it, so that it is not forgotten meanwhile.
type Client struct {
	key      netip.Addr
	Name     string // for the log
	connects *rate.Limiter
	Requests *rate.Limiter // HTTP requests and messages
	Resources
	intake sync.Mutex // of the connection that takes in a piece of a large head or body

	// These are guarded by the table's mu.
	holders     int
	connections int
	excess      int // connections that are only there to be refused
	polls       int
	idle        *list.Element // nil while it is held
	since       time.Time     // when that began
}

// A Table is the table of addresses that were heard of lately. It is bounded:
// clients that are not held are removed first, longest unused first, and when all are
// held, further addresses share one client.
//
// mu guards what says so in Client, too: a lock for each client would have to be taken
// together with that of the table to forget one. It is held for a few counts only. Refused
// is called with it, so it must not call the Table.
type Table struct {
	options Options
	proxies proxies
	max     int

	mu     sync.Mutex
	of     map[netip.Addr]*Client
	idle   list.List // of *Client, the one that was used last in the back
	shared *Client   // of addresses that have no place in the table; nil: none yet
}

// Options are what a Table needs.
type Options struct {
	Limits
	All           *Resources    // each address has a share of them
	MaxClients    int           // addresses that are remembered; 0: the constant
	HeaderTimeout time.Duration // in which a request has to come
	WriteTimeout  time.Duration // in which a client has to take WriteLeast; 0: the constant
	Refused       func(reason metrics.Reason, addr string)

	HandshakeFailed func(addr string, err error) // of TLS
}

// NewTable returns a table of no addresses.
func NewTable(o Options) *Table {
	o.WriteTimeout = cmp.Or(o.WriteTimeout, WriteTimeout)
	return &Table{
		options: o,
		proxies: proxies{o.TrustedProxies, o.ProxyHeader},
		max:     cmp.Or(o.MaxClients, MaxClients),
		of:      make(map[netip.Addr]*Client),
	}
}

// Acquire returns the client of an address until it is released, nil if the address
// is exempt or there is none.
func (t *Table) Acquire(addr netip.Addr) *Client {
	if !addr.IsValid() || contains(t.options.Exempt, addr) {
		return nil
	}
	key := keyOf(addr)
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

// Resources returns what a client uses: its own shares, or those of all clients if it has
// no bounds.
func (t *Table) Resources(a *Client) *Resources {
	if a == nil {
		return t.options.All
	}
	return &a.Resources
}

// Retain holds a client once more.
func (t *Table) Retain(a *Client) *Client {
	if a != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		a.holders++
	}
	return a
}

// Release ends what Acquire began.
func (t *Table) Release(a *Client) {
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

// add makes a client. mu is held.
func (t *Table) add(key netip.Addr) *Client {
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

// rested is how long a client must not have been held before it is forgotten without
// need. By default an address has its bursts back by then.
const rested = time.Minute

// forget forgets the client that was not used for longest, if that was long
// ago or room is needed. It reports whether there was one.
func (t *Table) forget(needed bool) bool {
	front := t.idle.Front()
	if front == nil {
		return false
	}
	a := front.Value.(*Client)
	if !needed && time.Since(a.since) < rested {
		return false
	}
	t.idle.Remove(front)
	delete(t.of, a.key)
	return true
}

// open returns a new client.
func (t *Table) open(key netip.Addr) *Client {
	a := &Client{
		key:       key,
		Name:      nameOf(key),
		connects:  NewLimiter(t.options.ConnectRate, t.options.Connections),
		Requests:  NewLimiter(t.options.RequestRate, t.options.RequestBurst),
		Resources: t.options.All.share(t.options.Limits),
	}
	a.Bodies.Refused = func(err error) {
		if errors.Is(err, limit.ErrShare) {
			t.options.Refused(metrics.AddressBodies, a.Name)
		} else {
			t.options.Refused(metrics.Bodies, "")
		}
	}
	return a
}

// nameOf is what the log calls a client: the address, or those that share it.
func nameOf(key netip.Addr) string {
	switch {
	case !key.IsValid():
		return "others"
	case key.Is6():
		return key.String() + "/64"
	}
	return key.String()
}

// connect counts a connection of a's address, or as excess if it has too many or
// makes them too fast. Beyond a few of those, ok is false.
func (t *Table) connect(a *Client) (excess, ok bool) {
	if a == nil {
		return false, true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count(a, &a.connections, t.options.Connections, metrics.AddressConnections) {
		if a.connects.Allow() {
			return false, true
		}
		a.connections--
		t.options.Refused(metrics.AddressRate, a.Name)
	}
	if a.excess >= MaxExcess {
		return true, false
	}
	a.excess++
	return true, true
}

// disconnect ends what connect counted.
func (t *Table) disconnect(a *Client, excess bool) {
	if a == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if excess {
		a.excess--
	} else {
		a.connections--
	}
}

// occupy counts one connection more if a may have it.
func (t *Table) occupy(a *Client) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count(a, &a.connections, t.options.Connections, metrics.AddressConnections)
}

// count adds one to n, which is of a, if that stays within a bound. mu is held.
func (t *Table) count(a *Client, n *int, most int, reason metrics.Reason) bool {
	if most >= 0 && *n >= most {
		t.options.Refused(reason, a.Name)
		return false
	}
	*n++
	return true
}

// StartPoll counts a connection through long polling, if there may be one more.
func (t *Table) StartPoll(a *Client) bool {
	if a == nil {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count(a, &a.polls, t.options.Polls, metrics.AddressPolls)
}

// EndPoll ends what StartPoll counted.
func (t *Table) EndPoll(a *Client) {
	if a == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	a.polls--
}

// Usage is what all addresses have now.
type Usage struct{ Holders, Connections, Polls int }

// Usage returns what all addresses have now.
func (t *Table) Usage() (u Usage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.of {
		u.Holders += c.holders
		u.Connections += c.connections + c.excess
		u.Polls += c.polls
	}
	return u
}
