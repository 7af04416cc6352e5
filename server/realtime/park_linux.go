package realtime

import (
	"errors"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

const canPark = true

// parking is an epoll instance that watches the parked sockets. Go's own poller watches the
// instance, so no thread waits in it, only one goroutine.
//
// A socket is told of once, then it has to be watched again. That it is told of without a
// reason does no harm: the reader finds nothing. So it does not matter if a number is that of
// another socket meanwhile. Descriptors are only used while net.Conn keeps them open.
type parking struct {
	mu      sync.Mutex
	file    *os.File // nil: nothing was watched yet
	raw     syscall.RawConn
	sockets []*socket // by number, from 1 on
	free    []int32   // numbers
	closed  bool

	events [128]unix.EpollEvent
	try    func(fd uintptr) bool // waitNow, which leaves n and err
	n      int
	err    error
}

// watch makes the parking wake a socket, once, when something has arrived or arrives. It
// reports whether that is possible.
func (p *parking) watch(s *socket) bool {
	if s.watched != 0 {
		return p.control(s, unix.EPOLL_CTL_MOD) == nil
	}
	if !p.enter(s) {
		return false
	}
	if p.control(s, unix.EPOLL_CTL_ADD) != nil {
		p.forget(s)
		return false
	}
	return true
}

// unwatch ends the watching of a socket that is busy: to be told of each packet twice costs
// the system some time.
func (p *parking) unwatch(s *socket) {
	if p.control(s, unix.EPOLL_CTL_DEL) == nil { // else it is closed
		p.forget(s)
	}
}

// control is epoll_ctl.
func (p *parking) control(s *socket, op int) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLONESHOT, Fd: s.watched}
	var err error
	outer := s.raw.Control(func(fd uintptr) {
		inner := p.raw.Control(func(epoll uintptr) {
			err = unix.EpollCtl(int(epoll), op, int(fd), &event)
		})
		err = errors.Join(inner, err)
	})
	return errors.Join(outer, err)
}

// enter gives a socket a number.
func (p *parking) enter(s *socket) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.file == nil && p.open() != nil {
		return false
	}
	if n := len(p.free); n > 0 {
		s.watched, p.free = p.free[n-1], p.free[:n-1]
		p.sockets[s.watched] = s
		return true
	}
	s.watched = int32(max(len(p.sockets), 1))
	if s.watched == 1 {
		p.sockets = append(p.sockets, nil)
	}
	p.sockets = append(p.sockets, s)
	return true
}

// forget takes the number of a socket, if it has one.
func (p *parking) forget(s *socket) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.watched == 0 {
		return
	}
	p.sockets[s.watched] = nil
	p.free = append(p.free, s.watched)
	s.watched = 0
	if len(p.free) == len(p.sockets)-1 {
		p.sockets, p.free = nil, nil
	}
}

func (p *parking) open() error {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return errors.Join(os.NewSyscallError("fcntl", err), unix.Close(fd))
	}
	file := os.NewFile(uintptr(fd), "epoll")
	if p.raw, err = file.SyscallConn(); err != nil {
		return errors.Join(err, file.Close())
	}
	p.file, p.try = file, p.waitNow
	go p.run()
	return nil
}

// close ends the watching. No socket is left.
func (p *parking) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.file != nil {
		_ = p.file.Close()
	}
}

// run wakes sockets until the parking is closed. Should the system fail, all of them get
// their readers back.
func (p *parking) run() {
	for p.wait() == nil {
		for _, e := range p.events[:p.n] {
			p.wake(e.Fd)
		}
	}
	p.close()
	for n := int32(1); p.wake(n); n++ {
	}
}

// wake wakes the socket with a number, if there is one. It is false beyond the last number.
func (p *parking) wake(n int32) bool {
	s, ok := p.at(n)
	if s != nil {
		s.wakeUp()
	}
	return ok
}

// wait waits until something has arrived.
func (p *parking) wait() error {
	if err := p.raw.Read(p.try); err != nil {
		return err
	}
	return os.NewSyscallError("epoll_wait", p.err)
}

func (p *parking) waitNow(fd uintptr) bool {
	p.n, p.err = unix.EpollWait(int(fd), p.events[:], 0)
	if p.err == unix.EINTR {
		p.n, p.err = 0, nil
	}
	return p.n > 0 || p.err != nil
}

// at returns the socket with a number, nil for none; ok is false beyond the last number.
func (p *parking) at(n int32) (s *socket, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if int(n) >= len(p.sockets) {
		return nil, false
	}
	return p.sockets[n], true
}
