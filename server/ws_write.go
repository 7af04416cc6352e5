package server

import (
	"errors"
	"sync"
	"time"

	"github.com/dogwooddb/dogwood/server/peer"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// maxQueue bounds the messages of a socket that are not from an outbox. A
// client of good faith causes three of them.
const maxQueue = 16

var (
	errCloseSent = errors.New("close frame sent")
	errMustWait  = errors.New("writing would have to wait")
	errPanicked  = errors.New("panic while writing")
)

// wake makes the socket look into the outbox. It may be called by the outbox.
func (s *socket) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live {
		s.startWriter()
	}
}

// goLive makes the socket the one that takes from the outbox.
func (s *socket) goLive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live = true
	s.startWriter()
}

func (s *socket) isLive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live
}

// push queues a message that belongs to this transport alone.
func (s *socket) push(msg []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	if len(s.queue) == maxQueue {
		s.conn.Close() // it pings and does not read the answers
		return
	}
	s.queue = append(s.queue, msg)
	s.startWriter()
}

// startWriter has mu.
func (s *socket) startWriter() {
	s.dirty = true
	if !s.writing {
		s.writing = true
		s.writers.Add(1)
		s.rt.couriers.add(s)
	}
}

// write writes rest, which begins in the middle of a frame, and then until there
// is nothing left. A peer that does not take it is cut off, which the reader
// notices. One that takes it slowly is not: its outbox overflows. After an error, and after the
// close frame, writing stays set, so nothing is written any more.
func (s *socket) write(rest []byte) {
	defer s.writers.Done()
	defer func() {
		if p := recover(); p != nil {
			s.rt.panicked("write", p)
			s.cutOff()
		}
	}()
	if s.deadline == nil {
		s.deadline = peer.NewWriteDeadline(s.conn, s.extend)
	}
	b := batches.Get().(*batch)
	defer b.release()
	b.buf = append(b.buf, rest...)
	for more := true; more; more = s.moreToWrite() {
		if err := s.flush(b); err != nil {
			if err != errCloseSent {
				s.rt.s.countSlow(err, s.from())
				s.cutOff()
			}
			return
		}
		if s.raw != nil {
			s.conn.SetWriteDeadline(time.Time{}) // those who do not wait need none
		}
	}
}

// cutOff ends the connection from the side of the writer. The reader may be in
// the middle of a request that waits for the peer to read.
func (s *socket) cutOff() {
	s.conn.Close()
	if s.isLive() {
		s.c.cancel()
	}
}

// moreToWrite reports whether something may have come since the last call. The
// writer ends if it did not.
func (s *socket) moreToWrite() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.dirty {
		s.writing = false
		return false
	}
	s.dirty = false
	return true
}

// flush writes what there is: own messages, then those of the outbox, and, if
// the socket had ended before, the close frame.
func (s *socket) flush(b *batch) error {
	queue, live, ended := s.takeQueue()
	if err := s.writeMessages(b, queue); err != nil {
		return err
	}
	if live {
		if err := s.writeOutbox(b); err != nil {
			return err
		}
	}
	if ended {
		b.buf = appendCloseFrame(b.buf, s.bye)
	}
	if err := s.send(b); err != nil {
		return err
	}
	if ended {
		return errCloseSent
	}
	if live && s.c.out.Closing() != nil {
		s.end(outboxError(s.c.out.Closing()))
	}
	return nil
}

// writeOutbox empties the outbox.
func (s *socket) writeOutbox(b *batch) error {
	for {
		msgs := s.c.out.Take(batchSize)
		if len(msgs) == 0 {
			return nil
		}
		if err := s.writeMessages(b, msgs); err != nil {
			return err
		}
	}
}

func (s *socket) takeQueue() (queue [][]byte, live, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	queue, s.queue = s.queue, nil
	return queue, s.live, s.ended
}

// writeMessages frames messages into b and sends it whenever it is full. What
// is left in b may be joined with what follows.
func (s *socket) writeMessages(b *batch, msgs [][]byte) error {
	for _, msg := range msgs {
		if err := s.frame(b, msg); err != nil {
			return err
		}
		for _, frame := range b.frames {
			if !b.fits(frame) {
				if err := s.send(b); err != nil {
					return err
				}
			}
			b.buf = appendFrame(b.buf, opText, frame)
		}
	}
	return nil
}

// frame cuts a message into the frames of b.
func (s *socket) frame(b *batch, msg []byte) (err error) {
	if b.frames, err = wire.AppendFrames(b.frames[:0], msg); err != nil {
		s.rt.s.log.Error("message not sent", "err", err)
	}
	return err
}

// send writes b, and pings and pongs that are due, in one call.
func (s *socket) send(b *batch) error {
	s.addControl(b)
	if len(b.buf) == 0 {
		return nil
	}
	n, err := s.deadline.Write(s.conn, b.buf)
	s.rt.s.metrics.Sockets.Sent(n)
	b.buf = b.buf[:0]
	return err
}

// addControl adds pings and pongs to b. None come after a close frame: the ended
// socket takes care.
func (s *socket) addControl(b *batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.appendControl(b)
	}
}

// extend sets the deadline of writing, which is the cutoff once the socket has
// ended.
func (s *socket) extend(until time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		until = s.cutoff
	}
	return s.conn.SetWriteDeadline(until)
}

// appendControl has mu.
func (s *socket) appendControl(b *batch) {
	if s.ping {
		b.buf = appendFrame(b.buf, opPing, nil)
	}
	if s.pong != nil {
		b.buf = appendFrame(b.buf, opPong, s.pong)
	}
	s.ping, s.pong = false, nil
}

// A batch collects frames for one system call. Those that are not in use are
// kept for others, so a connection has none while it is idle.
type batch struct {
	buf    []byte
	msgs   [][]byte // of couriers
	frames [][]byte // of the message that is being framed

	try func(fd uintptr) bool // tryWrite, which says what it did in n and err
	n   int
	err error
}

// batchSize is large enough for any frame, which is what keeps writeMessages
// simple. Larger batches were not faster on loopback (BenchmarkSocketWrite).
const (
	batchSize  = 64 << 10
	maxControl = 2 * (2 + 125) // a ping and a pong, or a close frame
)

var batches = sync.Pool{New: func() any {
	return &batch{buf: make([]byte, 0, batchSize)}
}}

// fits reports whether a frame and control frames can be added.
func (b *batch) fits(frame []byte) bool {
	return len(b.buf)+maxHeader+len(frame)+maxControl <= batchSize
}

func (b *batch) release() {
	if cap(b.buf) > batchSize {
		return // it was more than expected, and is not worth keeping
	}
	clear(b.msgs[:cap(b.msgs)])
	clear(b.frames[:cap(b.frames)])
	if cap(b.frames) > 64 {
		b.frames = nil // of a large message
	}
	b.buf = b.buf[:0]
	batches.Put(b)
}
