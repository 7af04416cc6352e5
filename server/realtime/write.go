package realtime

import (
	"errors"
	"time"

	"github.com/dogwooddb/dogwood/sync/wire"
)

var (
	errCloseSent = errors.New("close frame sent")
	errMustWait  = errors.New("writing would have to wait")
	errPanicked  = errors.New("panic while writing")
)

// write writes rest, which begins in the middle of a frame, and then until there
// is nothing left. A peer that does not take it is cut off, which the reader
// notices. One that takes it slowly is not: its outbox overflows. After an error, and after the
// close frame, writing is over, so nothing is written any more.
func (s *socket) write(rest []byte) {
	defer func() {
		if p := recover(); p != nil {
			s.rt.panicked("write", p)
			s.cutOff()
			s.writing.end()
		}
	}()
	if s.deadline == nil {
		s.deadline = s.rt.opts.Peers.WriteDeadline(s.conn, s.extend)
	}
	if err := s.writeRest(rest); err != nil {
		s.fail(err)
		return
	}
	b := waitingBuffers.Get().(*writeBuffer)
	defer b.release(&waitingBuffers, waitingSize)
	for more := true; more; more = s.writing.goesOn() {
		if err := s.flush(b); err != nil {
			s.fail(err)
			return
		}
		if s.raw != nil {
			s.conn.SetWriteDeadline(time.Time{}) // writes that do not wait need none
		}
	}
}

// writeRest writes what begins in the middle of a frame. It may wait for long, so it needs
// no buffer.
func (s *socket) writeRest(rest []byte) error {
	if len(rest) == 0 {
		return nil
	}
	n, err := s.deadline.Write(s.conn, rest)
	s.rt.opts.Metrics.Sockets.Sent(n)
	return err
}

// fail ends the writing after an error.
func (s *socket) fail(err error) {
	if err != errCloseSent {
		s.rt.opts.Refusals.AddSlow(err, s.from())
		s.cutOff()
	}
	s.writing.end()
}

// flush writes what there is: own messages, then those of the outbox, and, if
// the socket had ended before, the close frame.
func (s *socket) flush(b *writeBuffer) error {
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
		b.buf = appendCloseFrame(b.buf, s.reason)
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
func (s *socket) writeOutbox(b *writeBuffer) error {
	for {
		msgs := s.c.out.Take(waitingSize)
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
	return queue, s.writing.isLive(), s.ended
}

// writeMessages frames messages into b and sends it whenever it is full. What
// is left in b may be joined with what follows.
func (s *socket) writeMessages(b *writeBuffer, msgs [][]byte) error {
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
func (s *socket) frame(b *writeBuffer, msg []byte) (err error) {
	if b.frames, err = wire.AppendFrames(b.frames[:0], msg); err != nil {
		s.rt.opts.Log.Error("message not sent", "err", err)
	}
	return err
}

// send writes b, and pings and pongs that are due, in one call.
func (s *socket) send(b *writeBuffer) error {
	s.addControl(b)
	if len(b.buf) == 0 {
		return nil
	}
	n, err := s.deadline.Write(s.conn, b.buf)
	s.rt.opts.Metrics.Sockets.Sent(n)
	b.buf = b.buf[:0]
	return err
}

// addControl adds pings and pongs to b. None come after a close frame: the ended
// socket takes care.
func (s *socket) addControl(b *writeBuffer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.appendControl(b)
	}
}

// appendControl has mu.
func (s *socket) appendControl(b *writeBuffer) {
	if s.ping {
		b.buf = appendFrame(b.buf, opPing, nil)
	}
	if s.pong != nil {
		b.buf = appendFrame(b.buf, opPong, s.pong)
	}
	s.ping, s.pong = false, nil
}
