// Package faultproxy is a proxy between clients and a server that breaks what they
// say, for tests of what clients and servers do about it:
//
//	p, err := faultproxy.Listen(host, faultproxy.Faults{Cut: 4000, Seed: 1})
//	defer p.Close()
//	use("http://" + p.Addr() + "?ns=test")
//	p.Heal()
//
// A connection passes some bytes on and is then cut, wherever in a message that
// is, or its one direction falls silent before that, so that a request is carried
// out and its answer lost. Bytes may be late, but their order stays as it is.
package faultproxy

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Faults say what happens to connections. The zero value is a network without
// faults.
type Faults struct {
	// Cut is how many bytes a connection carries until it breaks, on average; 0
	// never breaks it.
	Cut int

	// Silent is the part of the connections that break by falling silent in one
	// direction. They are cut Silence after it.
	Silent  float64
	Silence time.Duration // 0: 100 ms

	// Late is the part of the traffic that is delayed, by MaxDelay at most.
	Late     float64
	MaxDelay time.Duration // 0: 10 ms

	Seed uint64
}

// A Proxy passes connections on to one server.
type Proxy struct {
	listener net.Listener
	target   string
	faults   Faults
	running  sync.WaitGroup
	healed   atomic.Bool
	breaks   atomic.Int64
	accepted atomic.Int64
	answered atomic.Int64 // bytes

	mu     sync.Mutex // guards what follows
	rnd    *rand.Rand
	open   map[*link]bool
	closed bool
}

// Listen starts a proxy on a free port of the loopback address. Target is the
// host and port of the server.
func Listen(target string, f Faults) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("fault proxy: %w", err)
	}
	if f.Silence <= 0 {
		f.Silence = 100 * time.Millisecond
	}
	if f.MaxDelay <= 0 {
		f.MaxDelay = 10 * time.Millisecond
	}
	p := &Proxy{listener: l, target: target, faults: f, rnd: rand.New(rand.NewPCG(f.Seed, 1)), open: make(map[*link]bool)}
	p.running.Go(p.accept)
	return p, nil
}

// Addr returns the host and port that clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Breaks returns how many connections were broken.
func (p *Proxy) Breaks() int64 { return p.breaks.Load() }

// Accepted returns how many connections there were.
func (p *Proxy) Accepted() int64 { return p.accepted.Load() }

// Answered returns how many bytes the server has sent to clients through the proxy.
func (p *Proxy) Answered() int64 { return p.answered.Load() }

// Heal cuts all connections once more and then breaks no others.
func (p *Proxy) Heal() {
	p.healed.Store(true)
	p.Cut()
}

// Cut breaks all connections now.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.open {
		l.cut()
	}
}

// Close ends the proxy and all its connections, and waits for them.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	err := p.listener.Close()
	p.Cut()
	p.running.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		p.accepted.Add(1)
		p.running.Go(func() { p.connect(client) })
	}
}

// connect passes one connection on until it ends or breaks.
func (p *Proxy) connect(client net.Conn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = client.Close() // as the network would
		return
	}
	l := p.link(client, server)
	if l == nil {
		_, _ = client.Close(), server.Close() // the proxy ends
		return
	}
	var passing sync.WaitGroup
	passing.Go(func() { l.pass(client, server, 0) })
	passing.Go(func() { l.pass(server, client, 1) })
	passing.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, l)
}

// link decides the fate of a connection. It returns nil if the proxy is closed.
func (p *Proxy) link(client, server net.Conn) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	l := &link{proxy: p, ends: [2]net.Conn{client, server}, silent: -1, gone: make(chan struct{})}
	l.rnd[0], l.rnd[1] = rand.New(rand.NewPCG(p.rnd.Uint64(), 0)), rand.New(rand.NewPCG(p.rnd.Uint64(), 1))
	if p.faults.Cut > 0 && !p.healed.Load() {
		l.breaks = true
		l.left.Store(int64(p.rnd.ExpFloat64() * float64(p.faults.Cut)))
		if p.rnd.Float64() < p.faults.Silent {
			l.silent = p.rnd.IntN(2)
		}
	}
	p.open[l] = true
	return l
}

// A link is one connection from a client to the server.
type link struct {
	proxy  *Proxy
	ends   [2]net.Conn
	rnd    [2]*rand.Rand // of each direction
	breaks bool
	silent int          // the direction that falls silent; -1: none, it is cut
	left   atomic.Int64 // bytes until it breaks
	broken sync.Once
	once   sync.Once
	gone   chan struct{} // closed when it is cut
}

// pass passes one direction on.
func (l *link) pass(from, to net.Conn, direction int) {
	defer l.cut()
	buf := make([]byte, 4<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !l.carry(to, buf[:n], direction) || err != nil {
			return
		}
	}
}

// carry passes some bytes on, as far as they come. It reports whether the
// connection goes on.
func (l *link) carry(to net.Conn, data []byte, direction int) bool {
	l.delay(l.rnd[direction])
	if l.breaks {
		left := l.left.Add(-int64(len(data)))
		switch {
		case left >= 0:
		case l.silent < 0:
			_, _ = to.Write(data[:max(0, len(data)+int(left))]) // it is not known how much arrived
			l.broken.Do(func() { l.proxy.breaks.Add(1) })       // which both directions may come to
			return false
		default:
			l.broken.Do(func() { l.proxy.running.Go(l.fade) })
			if direction == l.silent {
				return true // it is dropped
			}
		}
	}
	if to == l.ends[0] {
		l.proxy.answered.Add(int64(len(data)))
	}
	_, err := to.Write(data)
	return err == nil
}

// fade cuts a connection that has fallen silent.
func (l *link) fade() {
	l.proxy.breaks.Add(1)
	l.sleep(l.proxy.faults.Silence)
	l.cut()
}

// delay delays some of the traffic.
func (l *link) delay(rnd *rand.Rand) {
	if f := l.proxy.faults; rnd.Float64() < f.Late && !l.proxy.healed.Load() {
		l.sleep(time.Duration(rnd.Int64N(int64(f.MaxDelay))))
	}
}

func (l *link) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.gone:
	}
}

// cut ends a connection without notice.
func (l *link) cut() {
	l.once.Do(func() {
		close(l.gone)
		for _, c := range l.ends {
			if tcp, ok := c.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0) // if that fails, the end is a little more polite
			}
			_ = c.Close() // nothing is left to lose
		}
	})
}
