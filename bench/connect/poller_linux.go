package connect

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// A poller reads from many connections in one goroutine. To wake one for each
// message takes longer than to read it, and a generator should leave the machine
// to the server.
//
// It is an epoll instance of its own that Go's poller watches, so no thread
// waits in it.
type poller struct {
	file   *os.File
	raw    syscall.RawConn
	mine   []int // connections
	events []syscall.EpollEvent
	try    func(fd uintptr) bool // waitNow, which leaves n and err
	n      int
	err    error
}

// newPollers shares connections out among as many pollers as processors. It
// fails if not all connections can be polled.
func newPollers(conns []*Conn) (pollers []*poller, ok bool) {
	defer func() {
		if !ok {
			closePollers(pollers)
			unpoll(conns)
		}
	}()
	for range min(runtime.GOMAXPROCS(0), len(conns)) {
		p, err := newPoller()
		if err != nil {
			return pollers, false
		}
		pollers = append(pollers, p)
	}
	for i, c := range conns {
		if !c.source.poll() || pollers[i%len(pollers)].add(i, c) != nil {
			return pollers, false
		}
	}
	return pollers, true
}

func closePollers(pollers []*poller) {
	for _, p := range pollers {
		_ = p.file.Close() // may be the second time
	}
}

func newPoller() (*poller, error) {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, errors.Join(os.NewSyscallError("fcntl", err), syscall.Close(fd))
	}
	p := &poller{file: os.NewFile(uintptr(fd), "epoll"), events: make([]syscall.EpollEvent, 128)}
	p.try = p.waitNow
	if p.raw, err = p.file.SyscallConn(); err != nil {
		return nil, errors.Join(err, p.file.Close())
	}
	return p, nil
}

// add makes the poller tell of a connection when something new arrives.
func (p *poller) add(i int, c *Conn) error {
	const edge = 1 << 31 // EPOLLET, which package syscall has as a negative number
	event := syscall.EpollEvent{Events: syscall.EPOLLIN | syscall.EPOLLRDHUP | edge, Fd: int32(i)}
	var control, inner error
	outer := c.source.raw.Control(func(fd uintptr) {
		inner = p.raw.Control(func(epoll uintptr) {
			control = syscall.EpollCtl(int(epoll), syscall.EPOLL_CTL_ADD, int(fd), &event)
		})
	})
	p.mine = append(p.mine, i)
	return errors.Join(outer, inner, os.NewSyscallError("epoll_ctl", control))
}

// wait waits until something has arrived.
func (p *poller) wait() error {
	if err := p.raw.Read(p.try); err != nil {
		return err
	}
	return os.NewSyscallError("epoll_wait", p.err)
}

func (p *poller) waitNow(fd uintptr) bool {
	p.n, p.err = syscall.EpollWait(int(fd), p.events, 0)
	if p.err == syscall.EINTR {
		p.n, p.err = 0, nil
	}
	return p.n > 0 || p.err != nil
}

// run takes messages until the poller is closed, which is no error of its own, or
// something fails.
func (p *poller) run(conns []*Conn, take func(i int, msg []byte) error) error {
	for _, i := range p.mine { // something may be in its buffer already
		if err := conns[i].takeReady(i, true, take); err != nil {
			return err
		}
	}
	for {
		if err := p.wait(); err != nil {
			return err
		}
		for _, e := range p.events[:p.n] {
			if err := conns[e.Fd].takeReady(int(e.Fd), e.Events&^syscall.EPOLLIN != 0, take); err != nil {
				return err
			}
		}
	}
}

// takeReady takes the messages that have arrived, which may be all that ever will.
func (c *Conn) takeReady(i int, all bool, take func(i int, msg []byte) error) error {
	c.source.ready, c.source.all = true, all
	if err := c.takeAll(i, take); err != errNotYet {
		return err
	}
	return nil
}
