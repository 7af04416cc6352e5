package realtime

import (
	"errors"
	"io"
	"net"
	"time"
	"unicode/utf8"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/server/realtime/parking"
	"github.com/dogwooddb/dogwood/tree/piecewise"
)

// next reads the text of one frame or, if a client splits it that far, of one
// message of WebSockets. With errParked the socket has no reader any more.
func (s *socket) next(in *collector) (string, error) {
	for op := byte(opPing); op != opText; {
		err := s.rest.await(s, in.frames.InPieces())
		if err == nil {
			op, err = s.frames.next()
		}
		switch {
		case err != nil:
			return "", err
		case op == opBinary:
			return "", closeReason{closeUnsupported, "messages are text"}
		}
	}
	text, err := readText(&s.frames, in)
	if err != nil {
		return "", err
	}
	if !utf8.ValidString(text) {
		return "", closeReason{closeBadText, "a message is not UTF-8"}
	}
	s.greeted = true
	return text, nil
}

// readText reads a whole frame. It keeps no more than a readBuffer beyond what the
// meter of in has granted, whatever length the frame claims. Most frames fit
// into one, which allocates nothing but the text.
func readText(r io.Reader, in *collector) (string, error) {
	p := readBuffers.Get().(*readBuffer)
	defer readBuffers.Put(p)
	var text []byte
	for {
		n, err := io.ReadFull(r, p[:])
		ended := err == io.EOF || err == io.ErrUnexpectedEOF
		switch {
		case err != nil && !ended:
			return "", err
		case ended && len(text) == 0:
			return string(p[:n]), nil
		}
		var full error
		if text, full = in.grow(text, n); full != nil {
			return "", full
		}
		text = append(text, p[:n]...)
		if ended {
			return piecewise.Own(text), nil
		}
	}
}

// waitLonger gives the client another while to be heard, unless it is in the
// middle of a message: one that holds memory has a fixed time to arrive.
func (s *socket) waitLonger(now time.Time) {
	if s.greeted && !s.frames.unfinished() && s.due.IsZero() {
		s.until = now.Add(Silence)
	}
}

// waitOn is called when a frame of n bytes was taken. In the middle of a message in pieces, only
// a piece gives the client more time: a little while for the next one to begin, and in all as
// much as pieceRate allows. Frames that are no pieces, such as answers to pings, give none.
func waitOn(s *socket, inPieces bool, n int, now time.Time) {
	switch {
	case !inPieces:
		s.due = time.Time{}
		s.waitLonger(now)
		return
	case s.due.IsZero(): // it has begun
		s.until = now.Add(Silence)
	default:
		s.until = sooner(s.until.Add(time.Duration(n)*(time.Second/pieceRate)), now.Add(Silence))
	}
	s.due = now.Add(s.rt.opts.Limits.Stalled)
}

// waitUntil sets the deadline of reading, but not that of a socket that has ended.
func (s *socket) waitUntil(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.conn.SetReadDeadline(t)
	}
}

// waitForMore sets the deadline of reading when something has to be waited for, so small
// messages that were read ahead set none. The client has a while to go on with a message that
// has begun.
func (s *socket) waitForMore() {
	next := s.until
	switch {
	case s.frames.unfinished():
		next = sooner(next, time.Now().Add(s.rt.opts.Limits.Stalled))
	case !s.due.IsZero():
		next = sooner(next, s.due)
	case s.rest.waiting && s.rest.came:
		next = sooner(next, s.rest.at)
	}
	s.waitUntil(next)
}

func sooner(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// countsAsMessage reports whether a frame of text counts as a message. One that comes in
// pieces counts with its first frame, which has their number, and its pieces do not: they
// cost by their bytes. But no client makes short ones, save the last.
func countsAsMessage(text string, piece, last bool) bool {
	return !piece || !last && len(text) <= smallMessage
}

// start begins to read. Without ok the conn was closed meanwhile.
func (s *socket) start(ok bool) {
	if !ok {
		s.end(goingAway)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		now := time.Now()
		s.until, s.dueAt = now.Add(FirstMessage), now.Add(PingEvery)
		s.rest.begin(s, now)
		s.conn.SetReadDeadline(s.until)
		s.rt.wheel.Add(s, s.dueAt)
	}
	go s.run()
}

// run reads until the connection ends, and cleans up after it, or until the socket is parked.
// It is the only goroutine that reads. Where it ends because the socket is parked, a new one
// is begun by rest.end.
func (s *socket) run() {
	if reason := s.read(); reason != parked {
		s.finish(reason)
	}
}

func (s *socket) finish(reason closeReason) {
	defer s.rt.removeSocket(s)
	defer s.rt.watcher.Forget(&s.watched)
	if reason.code == 0 {
		s.end(reason)
	}
	if s.c != nil {
		s.c.lost(s, s.relied, reason)
	}
	s.end(reason)
	if reason.code == 0 && s.writing.isLive() {
		s.c.out.Close() // the client is gone, so the writer need not wait to make what it missed
	}
	s.writing.wait()
	s.waitForPeer()
	s.conn.Close()
	if s.writing.isLive() {
		s.c.cancel()
		s.c.out.Close()
	}
}

// waitForPeer lets the peer close first. To close while it is still sending
// could make its network drop our last frames unread.
func (s *socket) waitForPeer() {
	if s.reason.code == 0 {
		return
	}
	if half, ok := s.conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
	s.conn.SetReadDeadline(time.Now().Add(Linger))
	io.CopyN(io.Discard, s.conn, 1<<20)
}

// read takes messages until there is a reason to end. With parked, nothing of the socket may be
// used any more.
func (s *socket) read() (reason closeReason) {
	defer func() {
		if p := recover(); p != nil {
			s.rt.panicked("read", p)
			reason = crashed
		}
	}()
	if s.watched != 0 && !s.rest.visit {
		s.rt.watcher.Unwatch(s.raw, &s.watched)
	}
	in := collector{held: limit.Hold{Of: s.bodies()}}
	in.frames.MaxBytes = s.rt.maxMessage()
	defer in.forget()
	for {
		text, err := s.next(&in)
		if err == errParked {
			return parked
		}
		if err != nil {
			return s.broken(err)
		}
		piece := in.frames.InPieces()
		msg, done, err := in.add(text)
		if err == nil && countsAsMessage(text, piece, done) {
			err = s.keepRate()
		}
		if err == nil && done {
			err = s.receive(msg)
			in.forget()
		}
		if err != nil {
			return s.broken(err)
		}
		now := time.Now()
		waitOn(s, in.frames.InPieces(), len(text), now)
		if !s.rest.visit {
			s.rest.begin(s, now)
		}
	}
}

// broken returns why reading ended. If the server ended the socket, the reader's deadline
// was cut short for that, and the client did nothing wrong.
func (s *socket) broken(err error) closeReason {
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		if reason, ended := s.endReason(); ended {
			return reason
		}
	}
	return s.rt.countEnd(s.explain(err), s.from())
}

// endReason returns why the server ended the socket, if it did.
func (s *socket) endReason() (reason closeReason, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason, s.ended
}

// explain turns an error of reading into a closeReason.
func (s *socket) explain(err error) closeReason {
	var reason closeReason
	var network net.Error
	switch {
	case errors.As(err, &reason):
		return reason
	case errors.As(err, &network) && network.Timeout():
		return silent
	}
	return dropped
}

// A socket whose client has sent nothing for a while is parked: its reader's goroutine ends,
// and the socket is watched together with all others that are parked. When something arrives,
// or the connection is to end, there is a reader again. A goroutine takes a third of the
// memory of an idle connection.
//
// Only a reader that waits for the first byte of a message may park its socket. So everything
// that is read has the deadlines of a reader, and nothing of a client that is parked is kept.

// errParked is the end of a reader whose socket is parked.
var errParked = errors.New("the socket is parked")

// A rest is when the reader of a socket may end.
//
// To be parked costs a system call to register and one to begin again, and
// saves the stack. So only sockets that have been quiet for Quiet are parked.
// One that is woken rarely, as by the answer to a ping, is parked again as soon
// as it has been read.
type rest struct {
	at      time.Time // when it parks if nothing comes; while parked: from when on the next reader visits
	may     bool      // this system can watch the socket
	waiting bool      // for the first byte of a frame: at is its deadline

	// A visit is a reader of a socket that was parked for long. It ends when it has handled
	// what there was, such as the answer to a ping, and the socket stays watched.
	visit bool
	came  bool // the reader has found what it was woken for; until then at means nothing
}

// begin begins the time without anything from the client.
func (r *rest) begin(s *socket, now time.Time) {
	*r = rest{may: parking.Possible && s.raw != nil, came: true, at: now.Add(s.rt.opts.Limits.Quiet)}
}

// await waits until something is there, and parks the socket if nothing comes. A socket in the
// middle of a message is not parked.
func (r *rest) await(s *socket, middle bool) error {
	in := &s.frames.in
	if !r.may || middle || len(in.left) > 0 {
		return in.await()
	}
	if r.visit && r.came {
		return r.parkOrWait(s, nil)
	}
	r.waiting = true
	err := in.await()
	r.waiting = false
	if err == nil {
		r.came = true
		return nil
	}
	return r.parkOrWait(s, err)
}

// parkOrWait parks the socket if err, which is nil or that of a wait, only says that the
// client is quiet. If it cannot, it waits for the client.
func (r *rest) parkOrWait(s *socket, err error) error {
	now := time.Now()
	if timeout := net.Error(nil); err != nil && !(errors.As(err, &timeout) && timeout.Timeout() && now.Before(s.until)) {
		return err
	}
	if r.park(s, now) {
		return errParked
	}
	*r = rest{} // until the next message
	return s.frames.in.await()
}

// park makes the socket one without a reader, unless it has ended. The caller is the reader
// and must not use the socket after that.
func (r *rest) park(s *socket, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.conn.SetReadDeadline(time.Time{}) // the wheel has it
	r.at = now.Add(s.rt.opts.Limits.Quiet)
	s.forgetDeadline()
	// Data that arrived earlier wakes the socket too, and waking takes mu.
	if s.parked = s.rt.watcher.Watch(s, s.raw, &s.watched); !s.parked {
		return false
	}
	if s.until.Before(s.dueAt) {
		s.rt.wheel.Add(s, s.until)
	}
	return true
}

// forgetDeadline frees the memory of the deadline of writing, unless something is written.
func (s *socket) forgetDeadline() {
	if !s.writing.hold() {
		return
	}
	s.deadline = nil
	if s.writing.goesOn() {
		s.rt.pool.add(s)
	}
}

// end gives a socket its reader back if it is parked. mu is held.
func (r *rest) end(s *socket) {
	if !s.parked {
		return
	}
	now := time.Now()
	visits := !now.Before(r.at)
	r.begin(s, now)
	r.visit, r.came, s.parked = visits, false, false
	go s.run()
}
