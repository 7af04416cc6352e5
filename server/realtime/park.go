package realtime

import (
	"errors"
	"net"
	"time"

	"github.com/dogwooddb/dogwood/server/realtime/parking"
)

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
	if !s.writing {
		s.deadline = nil
	}
	// Data that arrived earlier wakes the socket too, and waking takes mu.
	if s.parked = s.rt.watcher.Watch(s, s.raw, &s.watched); !s.parked {
		return false
	}
	if s.until.Before(s.dueAt) {
		s.rt.wheel.Add(s, s.until)
	}
	return true
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
