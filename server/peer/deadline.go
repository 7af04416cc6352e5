package peer

import (
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// How much a client has to take of what it is sent. A client that takes as much may go on,
// however long it needs for all; a connection that takes less is closed.
//
// A deadline for the whole write does not do: the network's buffers are so large, and wake
// a writer so late, that a client which reads all the time can delay a write for minutes.
// Nor can the time be short: a client whose buffer is full acknowledges in large steps,
// 300 KiB on Linux if it was fast before, which takes nearly 20 seconds at 16 KiB/s.
const (
	WriteTimeout = 30 * time.Second
	WriteLeast   = 16 << 10 // within WriteTimeout
	looks        = 15       // within it, whether it was taken
	countedPiece = 8 << 10  // is written at a time where the network does not tell
)

// A WriteDeadline follows how much the other side of a connection takes. It sets the
// deadlines of writing, and moves them on while enough is taken. One goroutine writes at a
// time; the timer that looks runs concurrently, under mu.
type WriteDeadline struct {
	tcp    *net.TCPConn                // nil: only what was written is known
	extend func(until time.Time) error // sets the deadline of writing

	timeout time.Duration // WriteTimeout, save in tests

	mu      sync.Mutex
	until   time.Time // the deadline that was set
	timer   *time.Timer
	writing bool
	looked  bool  // at this write: mark is set
	mark    int64 // what had been taken at the first look, or when the deadline was moved
	written int64 // in all
}

// WriteDeadline returns the deadline of a connection.
func (t *Table) WriteDeadline(conn net.Conn, extend func(until time.Time) error) *WriteDeadline {
	return &WriteDeadline{tcp: tcpOf(conn), extend: extend, timeout: t.options.WriteTimeout}
}

// beneath returns the connection that c is or, as with TLS, goes through.
func beneath(c net.Conn) net.Conn {
	for {
		through, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return c
		}
		c = through.NetConn()
	}
}

// tcpOf returns the connection of TCP that c is or goes through, nil if there is none.
func tcpOf(c net.Conn) *net.TCPConn {
	tcp, _ := beneath(c).(*net.TCPConn)
	return tcp
}

// Cut ends a connection without the goodbye of TLS, which waits for 5 s if the client does not
// read. The connection has to be closed as well, by a caller that can wait.
func Cut(c net.Conn) error { return beneath(c).Close() }

// begin starts the time that the other side has for what will be written. A
// deadline remains after end, for what net/http still has to write.
func (u *WriteDeadline) begin() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.writing, u.looked = true, false
	u.move(u.timeout)
	if u.timer == nil {
		u.timer = time.AfterFunc(u.every(), u.look)
		return
	}
	u.timer.Reset(u.every())
}

// every is how often it is looked whether something was taken.
func (u *WriteDeadline) every() time.Duration { return u.timeout / looks }

// allow gives the other side time for a little that net/http will write after the
// handler. It sets no deadline if there is one that is not sooner, and those it sets
// are late enough to serve the next answers, too.
func (u *WriteDeadline) allow() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if time.Until(u.until) < u.timeout {
		u.move(u.timeout + u.every())
	}
}

// move sets the deadline, mu held.
func (u *WriteDeadline) move(after time.Duration) {
	u.until = time.Now().Add(after)
	_ = u.extend(u.until) // an error is one of the write, too
}

// end must follow begin. The deadline is not moved any more.
func (u *WriteDeadline) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.writing = false
	u.timer.Stop()
}

// look gives the other side more time if it has taken enough since it was given
// some. Most writes end before the first look, so that they cost none.
func (u *WriteDeadline) look() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.writing {
		return
	}
	switch taken := u.taken(); {
	case !u.looked:
		u.looked, u.mark = true, taken
	case taken-u.mark >= WriteLeast:
		u.mark = taken
		u.move(u.timeout)
	}
	u.timer.Reset(u.every())
}

// taken returns how many bytes were taken in all, mu held. What the network has
// taken for the other side does not count where it can tell the difference.
func (u *WriteDeadline) taken() int64 {
	if u.tcp != nil {
		if n, ok := acknowledged(u.tcp); ok {
			return n
		}
	}
	return u.written
}

// Write writes p to dst, which leads to the connection.
func (u *WriteDeadline) Write(dst io.Writer, p []byte) (n int, err error) {
	u.begin()
	defer u.end()
	piece := len(p)
	if u.tcp == nil || !tellsAcknowledged {
		piece = countedPiece
	}
	for len(p) > 0 && err == nil {
		var m int
		m, err = dst.Write(p[:min(len(p), piece)])
		u.wrote(m)
		n, p = n+m, p[m:]
	}
	return n, err
}

func (u *WriteDeadline) wrote(n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.written += int64(n)
}

// bufferedAnswer is the length of an answer that net/http keeps until the handler
// has returned, to send it with its headers in one piece.
const bufferedAnswer = 2 << 10

// WriteAll writes the answer of r, of which nothing was written. An error, which
// means that the client left, is of no use to anybody.
func WriteAll(w http.ResponseWriter, r *http.Request, body []byte) {
	if u := deadlineOf(w, r); len(body) <= bufferedAnswer {
		u.allow()
		_, _ = w.Write(body)
	} else {
		_, _ = u.Write(w, body)
	}
}

// A Writer writes to a client that may be slow, but not deaf.
type Writer struct {
	dst      http.ResponseWriter
	conn     *http.ResponseController
	deadline *WriteDeadline
}

// NewWriter returns what writes the answer of r.
func NewWriter(w http.ResponseWriter, r *http.Request) *Writer {
	return &Writer{dst: w, conn: http.NewResponseController(w), deadline: deadlineOf(w, r)}
}

// deadlineOf returns the deadline of the client that sent r. Requests that share their
// connection with others, as those of HTTP/2 do, get one of their own.
func deadlineOf(w http.ResponseWriter, r *http.Request) *WriteDeadline {
	l, _ := r.Context().Value(connKey{}).(*conn)
	if l == nil || r.ProtoMajor != 1 {
		return &WriteDeadline{extend: http.NewResponseController(w).SetWriteDeadline, timeout: WriteTimeout}
	}
	if l.deadline == nil {
		l.deadline = l.table.WriteDeadline(l.Conn, l.Conn.SetWriteDeadline)
	}
	return l.deadline
}

// Write implements io.Writer.
func (t *Writer) Write(p []byte) (n int, err error) {
	return t.deadline.Write(t.dst, p)
}

// Flush sends what was written and is kept back.
func (t *Writer) Flush() error {
	t.deadline.begin()
	defer t.deadline.end()
	return t.conn.Flush()
}
