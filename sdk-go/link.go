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
	silenceLimit  = 75 * time.Second // without any answer the connection is dead
	healthyAfter  = 30 * time.Second // then attempts to connect start anew
	maxQueuedSend = 64 << 20         // bytes that wait to be sent; beyond, the connection is of no use
)

// A link is one connection. One goroutine of its own sends; the one that runs
// the client receives.
//
// It is used once: when it is lost, the client makes another one. Its queue has
// a bound instead of blocking, because its callers hold the client's lock; a
// connection that takes nothing for so long is given up.
type link struct {
	conn    Conn
	began   time.Time
	heard   atomic.Int64  // when the last message came, since began
	done    chan struct{} // closed when it is of no use any more
	closing sync.Once
	running sync.WaitGroup
	used    bool // requests were sent on it; guarded by the client's lock

	// The server's extensions of the protocol; set before anything is sent.
	features    []string
	knowsWrites bool // it knows a write again that comes a second time

	mu    sync.Mutex
	queue [][]byte
	size  int
	wake  chan struct{} // has room for one
}

func newLink(conn Conn) *link {
	l := &link{conn: conn, began: time.Now(), done: make(chan struct{}), wake: make(chan struct{}, 1)}
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

// send queues a message. It never waits: what may be queued is bounded by how
// much may be asked, and a queue beyond all reason ends the connection.
func (l *link) send(msg []byte) {
	l.mu.Lock()
	l.queue = append(l.queue, msg)
	l.size += len(msg)
	stuck := l.size > maxQueuedSend && len(l.queue) > 1
	l.mu.Unlock()
	if stuck {
		l.close()
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *link) take() [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	batch := l.queue
	l.queue, l.size = nil, 0
	return batch
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
			if time.Since(l.began)-time.Duration(l.heard.Load()) > silenceLimit {
				l.close()
				return
			}
			l.send(wire.AppendControl(nil, wire.ControlPing, `{}`))
		case <-l.wake:
			for _, msg := range l.take() {
				if l.conn.Send(msg) != nil {
					l.close()
					return
				}
			}
		}
	}
}

// receive returns the next message.
func (l *link) receive() (wire.ServerMessage, error) {
	text, err := l.conn.Receive()
	if err != nil {
		return wire.ServerMessage{}, err
	}
	l.heard.Store(int64(time.Since(l.began)))
	return wire.ParseServerMessage(text)
}

// Reasons to leave a connection and make another at once.
var (
	errMoved   = errors.New("the server asked to connect again")
	errExpired = errors.New("the credential is no longer good")
)
