package dogwood_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// A proxy passes connections on to a server, and can cut them all.
type proxy struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup
	accepted chan struct{} // gets one for each connection

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// newProxy returns a proxy before the server at a host.
func newProxy(t testing.TB, host string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	want(t, err)
	p := &proxy{listener: l, target: host, accepted: make(chan struct{}, 1000), conns: make(map[net.Conn]bool)}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
		p.running.Wait()
	})
	return p
}

// url returns the URL of a database as seen through the proxy.
func (p *proxy) url(direct string) string {
	return strings.Replace(direct, p.target, p.listener.Addr().String(), 1)
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.add(client, server)
		p.running.Go(func() { p.pass(client, server) })
		p.running.Go(func() { p.pass(server, client) })
	}
}

func (p *proxy) pass(from, to net.Conn) {
	_, _ = io.Copy(to, from) // the error is how it ends
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range []net.Conn{from, to} {
		_ = c.Close()
		delete(p.conns, c)
	}
}

func (p *proxy) add(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.conns[c] = true
	}
	select {
	case p.accepted <- struct{}{}:
	default:
	}
}

// cut ends all connections, wherever in a message they are.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
	clear(p.conns)
}
