package server

import "sync"

// couriers write to sockets where that needs no waiting, which is nearly always.
// One commit may be news for thousands of sockets: a goroutine for each costs
// more than the writing, and the committer has other things to do.
//
// There are at most as many as processors, and only while there is something to
// do.
type couriers struct {
	max int

	mu      sync.Mutex
	waiting []*socket // from head on; each of them once, while its writing is set
	head    int
	running int
}

const (
	perCourier = 16 // sockets that wait before another courier is woken
	perRound   = 4  // sockets that a courier takes at a time
)

// add makes a courier see to a socket, whose mu may be held.
func (c *couriers) add(s *socket) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.head > 0 && len(c.waiting) == cap(c.waiting) && c.head >= len(c.waiting)/2 {
		n := copy(c.waiting, c.waiting[c.head:])
		clear(c.waiting[n:])
		c.waiting, c.head = c.waiting[:n], 0
	}
	c.waiting = append(c.waiting, s)
	if c.running == 0 || c.running < c.max && len(c.waiting)-c.head > perCourier*c.running {
		c.running++
		go c.run()
	}
}

// take returns the sockets to see to next. None ends the courier.
func (c *couriers) take(dst []*socket) []*socket {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := min(c.head+perRound, len(c.waiting))
	dst = append(dst[:0], c.waiting[c.head:end]...)
	clear(c.waiting[c.head:end])
	c.head = end
	if len(dst) == 0 {
		c.running--
		c.waiting, c.head = c.waiting[:0], 0
		if cap(c.waiting) > maxWaitingKept {
			c.waiting = nil
		}
	}
	return dst
}

// maxWaitingKept is how many sockets the queue of couriers has room for while it
// is empty.
const maxWaitingKept = 4 << 10

func (c *couriers) run() {
	b := batches.Get().(*batch)
	defer b.release()
	var round [perRound]*socket
	for sockets := c.take(round[:]); len(sockets) > 0; sockets = c.take(round[:]) {
		for _, s := range sockets {
			s.deliver(b)
		}
	}
}

// deliver writes what there is as far as the network takes it at once. The rest
// is for a goroutine of the socket's own, and so is what has to be read from the
// database. After an error writing stays set, so nothing is written any more.
func (s *socket) deliver(b *batch) {
	again, err := s.writeReady(b)
	switch {
	case err == errMustWait:
		go s.write(append([]byte(nil), b.buf...))
	case err != nil:
		s.cutOff()
		s.writers.Done()
	case again || s.moreToWrite():
		s.rt.couriers.add(s)
	default:
		s.writers.Done()
	}
	b.buf = b.buf[:0]
}

// readySize is about how much a courier writes at a time.
const readySize = 32 << 10

// writeReady writes what is ready. With errMustWait the rest, which may begin in
// the middle of a frame, is in b. again tells that there is more.
func (s *socket) writeReady(b *batch) (again bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.rt.panicked("deliver", p)
			err = errPanicked
		}
	}()
	if !s.prepare(b) {
		return false, errMustWait
	}
	b.msgs, again = s.c.out.TakeReady(b.msgs[:0], readySize)
	if again && len(b.msgs) == 0 {
		return false, errMustWait
	}
	if err := s.frameAll(b); err != nil {
		return false, err
	}
	if len(b.buf) > 0 {
		err := b.writeTo(s.raw)
		s.rt.s.metrics.Sockets.Sent(max(b.n, 0))
		if err != nil {
			return false, err
		}
	}
	if err := s.c.out.Closing(); err != nil {
		s.end(outboxError(err))
	}
	return again, nil
}

// prepare reports whether s is one for couriers, and if so puts pings and pongs
// that are due into b.
func (s *socket) prepare(b *batch) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirty = false
	if s.raw == nil || !s.live || s.ended || len(s.queue) > 0 {
		return false
	}
	s.appendControl(b)
	return true
}

// frameAll puts the frames of b's messages into it. They were chosen to fit.
func (s *socket) frameAll(b *batch) error {
	for i, msg := range b.msgs {
		if err := s.frame(b, msg); err != nil {
			return err
		}
		b.msgs[i] = nil
		for _, frame := range b.frames {
			b.buf = appendFrame(b.buf, opText, frame)
		}
	}
	return nil
}
