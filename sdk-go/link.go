package dogwood

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/sync/wire"
)

// Times and bounds of one connection (protocol §1.3).
const (
	pingInterval  = 30 * time.Second // between questions to the server, which answers at once
	silenceLimit  = 75 * time.Second // without any sign of life the connection is dead
	blocked       = time.Second      // a message that takes longer to send waits for the other end
	healthyAfter  = 30 * time.Second // then attempts to connect start anew
	maxQueuedSend = 64 << 20         // bytes that are being sent; beyond, requests wait for their turn
)

// A link is one connection. One goroutine of its own sends; the one that runs
// the client receives.
//
// It is used once: when it is lost, the client makes another one. Its queue never
// blocks, because its callers hold the client's lock. They look whether there is room
// for a request, and the link tells them when there is again. A connection that takes
// nothing for long is given up by its Conn.
type link struct {
	conn    Conn
	began   time.Time
	dialed  time.Time     // when it was asked for, by the client's clock
	alive   atomic.Int64  // when the other end last gave a sign of life, since began
	done    chan struct{} // closed when it is of no use any more
	closing sync.Once
	running sync.WaitGroup
	used    bool // requests were sent on it; guarded by the client's lock

	// The server's extensions of the protocol; set before anything is sent.
	features    []string
	knowsWrites bool // it knows a write again that comes a second time

	drained func() // called without a lock when there is room again

	mu    sync.Mutex
	queue [][]byte
	size  int           // of the queue, and of the messages that are being sent
	full  bool          // requests wait for room
	wake  chan struct{} // has room for one
}

func newLink(conn Conn, drained func(*link)) *link {
	l := &link{conn: conn, began: time.Now(), done: make(chan struct{}), wake: make(chan struct{}, 1)}
	l.drained = func() { drained(l) }
	l.running.Go(l.write)
	return l
}

// close ends the link. It waits for nothing, so anybody may call it.
func (l *link) close() {
	l.closing.Do(func() {
		close(l.done)
		l.running.Go(func() { _ = l.conn.Close() }) // nothing is left to lose
	})
}

// has reports whether the server has features, each one letter.
func (l *link) has(features string) bool {
	for _, each := range features {
		if !slices.Contains(l.features, string(each)) {
			return false
		}
	}
	return true
}

// A bounded is a Conn that takes messages of so many bytes.
type bounded interface{ MaxSend() int }

// excess says why the other end does not read a message: it is too long. "" means that it
// does.
func (l *link) excess(msg []byte) string {
	b, ok := l.conn.(bounded)
	if !ok || len(msg) <= b.MaxSend() {
		return ""
	}
	return fmt.Sprintf("the message has %d bytes, and the server takes at most %d", len(msg), b.MaxSend())
}

// wait waits until nothing of a closed link is running.
func (l *link) wait() { l.running.Wait() }

// hasRoom reports whether there is room for a request. If not, drained is called when there is.
func (l *link) hasRoom() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.full = l.size > maxQueuedSend
	return !l.full
}

// send queues a message. It never waits.
func (l *link) send(msg []byte) {
	l.mu.Lock()
	l.queue = append(l.queue, msg)
	l.size += len(msg)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *link) take() [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	batch := l.queue
	l.queue = nil
	return batch
}

// sent notes that a message was sent. It reports whether requests that waited have room now.
func (l *link) sent(msg []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.size -= len(msg)
	tell := l.full && l.size <= maxQueuedSend/2
	l.full = l.full && !tell
	return tell
}

// write sends what is queued until the link is closed.
func (l *link) write() {
	ping := time.NewTicker(pingInterval)
	defer ping.Stop()
	for {
		select {
		case <-l.done:
			return
		case <-ping.C:
			if l.silence() > silenceLimit {
				l.close()
				return
			}
			l.send(wire.AppendControl(nil, wire.ControlPing, `{}`))
		case <-l.wake:
			for _, msg := range l.take() {
				if l.transmit(msg) != nil {
					l.close()
					return
				}
				if l.sent(msg) {
					l.drained()
				}
			}
		}
	}
}

// transmit sends a message. One that has to wait shows that the other end is there, which has
// taken a part of it by now. Since pings wait with it, there may be no other sign. A message
// that is sent at once shows nothing: it may still be on this side.
func (l *link) transmit(msg []byte) error {
	began := time.Now()
	err := l.conn.Send(msg)
	if time.Since(began) > blocked {
		l.isAlive()
	}
	return err
}

// receive returns the next message.
func (l *link) receive() (wire.ServerMessage, error) {
	text, err := l.conn.Receive()
	if err != nil {
		return wire.ServerMessage{}, err
	}
	l.isAlive()
	return wire.ParseServerMessage(text)
}

func (l *link) isAlive() { l.alive.Store(int64(time.Since(l.began))) }

// silence returns for how long the other end has given no sign of life. A part of a message
// is one.
func (l *link) silence() time.Duration {
	silent := time.Since(l.began) - time.Duration(l.alive.Load())
	if c, ok := l.conn.(interface{ Heard() time.Time }); ok {
		silent = min(silent, time.Since(c.Heard()))
	}
	return silent
}

// Reasons to leave a connection and make another at once.
var (
	errMoved   = errors.New("the server asked to connect again")
	errExpired = errors.New("the credential is no longer good")
)
