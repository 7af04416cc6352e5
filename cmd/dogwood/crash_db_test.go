package main

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/dogwooddb/dogwood/tree"
)

// Clients of each database that is to crash.
const (
	crashSockets = 5 // realtime connections that write to a space of their own; see also mixedSockets
	crashRESTs   = 2 // clients over REST that do
	crashRivals  = 2 // realtime connections, and clients over REST, that all write one value under a condition
	crashAdders  = 2 // clients over REST that all increment one number
)

// A crashDB is a database that is to crash, and what is known of it.
type crashDB struct {
	ns      string
	spaces  []*space // the first ones are those of realtime connections
	leaves  []*leave // of the same, one for each
	chain   chain
	sum     sum
	bulk    *bulkValue // nil: there is none
	figures crashFigures
}

// crashFigures say what the kills have met.
type crashFigures struct {
	Acked       int // writes that were acknowledged before a kill
	Lost        int // writes that were sent and not acknowledged
	Survived    int // of these, those that were there all the same
	Disconnects int // disconnect operations
	Conditional int // writes of one value under a condition
	Increments  int // of one number
}

func (f *crashFigures) add(g crashFigures) {
	f.Acked += g.Acked
	f.Lost += g.Lost
	f.Survived += g.Survived
	f.Disconnects += g.Disconnects
	f.Conditional += g.Conditional
	f.Increments += g.Increments
}

func newCrashDB(ns string, seed uint64, sockets int) *crashDB {
	db := &crashDB{ns: ns}
	for i := range sockets + crashRESTs {
		id := fmt.Sprintf("w%d", i)
		if i >= sockets {
			id = fmt.Sprintf("r%d", i)
		}
		db.spaces = append(db.spaces, newSpace(id, seed))
	}
	for i := range sockets {
		db.leaves = append(db.leaves, &leave{id: db.spaces[i].id})
	}
	return db
}

// clients returns what each client does with a server until it is killed.
func (db *crashDB) clients(url string, client *http.Client) (work []func() error) {
	for i, s := range db.spaces {
		if i < len(db.leaves) {
			work = append(work, func() error { return crashSocketWrites(url, db.ns, s, db.leaves[i]) })
		} else {
			work = append(work, func() error { return (&crashREST{url, db.ns, client}).writes(s) })
		}
	}
	for i := range crashRivals {
		work = append(work,
			func() error { return crashSocketRivals(url, db.ns, fmt.Sprint("w", i), &db.chain) },
			func() error { return (&crashREST{url, db.ns, client}).rivals(fmt.Sprint("r", i), &db.chain) })
	}
	if db.bulk != nil {
		work = append(work, func() error { return db.bulk.writes(url, db.ns, client) })
	}
	for range crashAdders {
		work = append(work, func() error { return (&crashREST{url, db.ns, client}).adds(&db.sum) })
	}
	return work
}

// compare compares everything that is there with what is known.
func (db *crashDB) compare(root tree.Node) error {
	var errs []error
	for _, s := range db.spaces {
		survived, err := s.compare(root)
		db.figures.Survived += survived
		errs = append(errs, err)
	}
	for _, l := range db.leaves {
		errs = append(errs, l.compare(root))
	}
	if db.bulk != nil {
		errs = append(errs, db.bulk.compare(root))
	}
	return errors.Join(append(errs, db.chain.compare(root), db.sum.compare(root))...)
}

// begin begins anew with the stored values.
func (db *crashDB) begin(root tree.Node) {
	for _, s := range db.spaces {
		db.figures.Acked += s.acked
		db.figures.Lost += len(s.ops) - s.acked
		s.begin(root)
	}
	for _, l := range db.leaves {
		db.figures.Disconnects += max(l.least, 0)
		l.least, l.most, l.base = 0, 0, l.times(root, "gone")
	}
	db.figures.Conditional += len(db.chain.owners)
	db.chain.begin(root)
	db.figures.Increments += db.sum.acked
	db.sum.base, db.sum.acked, db.sum.sent = db.sum.value(root), 0, 0
}

// look makes everything that clients learn from now on known to h alone.
func (db *crashDB) look(h *hindsight) {
	for _, s := range db.spaces {
		s.then = h
	}
	for _, l := range db.leaves {
		l.then = h
	}
	db.chain.then, db.sum.then = h, h
}

// A leave counts how often a client's disconnect operation, which adds one at two
// places, has to be carried out.
type leave struct {
	id   string
	base float64
	then *hindsight

	mu          sync.Mutex
	least, most int
}

// expect adds to the counts.
func (l *leave) expect(least, most int) {
	l.then.note(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.least += least
		l.most += most
	})
}

// times returns how often the operation was carried out at one of the places.
func (l *leave) times(root tree.Node, place string) float64 {
	n, _ := root.Get(tree.MustParsePath(place + "/" + l.id)).NumberValue()
	return n
}

func (l *leave) compare(root tree.Node) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, z := l.times(root, "gone"), l.times(root, "left")
	if a != z {
		return fmt.Errorf("client %s: the disconnect operation was carried out %v times at one place and %v times at the other", l.id, a, z)
	}
	if times := a - l.base; times < float64(l.least) || times > float64(l.most) {
		return fmt.Errorf("client %s: the disconnect operation was carried out %v times, want %d to %d", l.id, times, l.least, l.most)
	}
	return nil
}

// A chain is one value that many clients replace by the next one, on condition
// that it has not changed: {"by": client, "n": number}.
type chain struct {
	base int
	then *hindsight

	mu     sync.Mutex
	owners map[int]string // the client that wrote a number, by the acknowledgements
	least  int            // the largest number that was acknowledged
	most   int            // and that was sent
}

const chainPath = "chain"

func chainLink(n int, by string) string { return fmt.Sprintf(`{"by":%q,"n":%d}`, by, n) }

func (c *chain) sent(n int) {
	c.then.note(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.most = max(c.most, n)
	})
}

// ack notes that a number is acknowledged. It can be so once.
func (c *chain) ack(n int, by string) error {
	c.then.note(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.least = max(c.least, n)
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if other, taken := c.owners[n]; taken {
		return wrong("number %d was acknowledged to %s and %s", n, other, by)
	}
	if c.owners == nil {
		c.owners = make(map[int]string)
	}
	c.owners[n] = by
	return nil
}

// link returns the stored link.
func (c *chain) link(root tree.Node) (n int, by string) {
	link := root.Get(tree.MustParsePath(chainPath))
	f, _ := link.Child("n").NumberValue()
	by, _ = link.Child("by").StringValue()
	return int(f), by
}

func (c *chain) compare(root tree.Node) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, by := c.link(root)
	least, most, owner := max(c.least, c.base), max(c.most, c.base), c.owners[n]
	if n < least || n > most || owner != "" && owner != by {
		return fmt.Errorf("the value of many has number %d by %s, want number %d to %d, by %q", n, by, least, most, owner)
	}
	return nil
}

func (c *chain) begin(root tree.Node) {
	c.base, _ = c.link(root)
	c.owners, c.least, c.most = nil, 0, 0
}

// A sum is one number that many clients increment.
type sum struct {
	base float64
	then *hindsight

	mu          sync.Mutex
	acked, sent int
}

const sumPath = "sum"

func (s *sum) add(acked, sent int) {
	s.then.note(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.acked += acked
		s.sent += sent
	})
}

func (s *sum) value(root tree.Node) float64 {
	n, _ := root.Get(tree.MustParsePath(sumPath)).NumberValue()
	return n
}

func (s *sum) compare(root tree.Node) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if times := s.value(root) - s.base; times < float64(s.acked) || times > float64(s.sent) {
		return fmt.Errorf("the sum of many was incremented %v times; %d were acknowledged, %d sent", times, s.acked, s.sent)
	}
	return nil
}

// A hindsight keeps what clients learn, with the time, so that it can be learnt
// again later up to any moment. A nil one has them learn it at once.
type hindsight struct {
	mu    sync.Mutex
	notes []hindNote
}

type hindNote struct {
	at    time.Time
	learn func()
}

func (h *hindsight) note(learn func()) {
	if h == nil {
		learn()
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notes = append(h.notes, hindNote{time.Now(), learn})
}

// until has everything learnt that was learnt before a time, but for what was
// already.
func (h *hindsight) until(t time.Time) {
	for len(h.notes) > 0 && h.notes[0].at.Before(t) {
		h.notes[0].learn()
		h.notes = h.notes[1:]
	}
}
