package parking

import (
	"errors"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Possible is whether a Watcher works on this system.
const Possible = true

// A Watcher is an epoll instance that watches sockets. Go's own poller watches the
// instance, so no thread waits in it, only one goroutine.
//
// A socket is told of once, then it has to be watched again. That it is told of without a
// reason does no harm: the reader finds nothing. So it does not matter if a number is that of
// another socket meanwhile. Descriptors are only used while net.Conn keeps them open.
type Watcher struct {
	mu      sync.Mutex
	file    *os.File // nil: nothing was watched yet
	raw     syscall.RawConn
	sockets []Socket // by number, from 1 on
	free    []int32  // numbers
	closed  bool

	events [128]unix.EpollEvent
	try    func(fd uintptr) bool // waitNow, which leaves n and err
	n      int
	err    error
}

// Watch wakes a socket, once, when something has arrived or arrives. It reports whether that is
// possible. number is that of the socket, 0 for none before and after.
func (p *Watcher) Watch(s Socket, raw syscall.RawConn, number *int32) bool {
	if *number != 0 {
		return p.control(raw, unix.EPOLL_CTL_MOD, *number) == nil
	}
	if !p.enter(s, number) {
		return false
	}
	if p.control(raw, unix.EPOLL_CTL_ADD, *number) != nil {
		p.Forget(number)
		return false
	}
	return true
}

// Unwatch ends the watching of a socket that is busy: to be told of each packet twice costs
// the system some time.
func (p *Watcher) Unwatch(raw syscall.RawConn, number *int32) {
	if p.control(raw, unix.EPOLL_CTL_DEL, *number) == nil { // else it is closed
		p.Forget(number)
	}
}

// control is epoll_ctl.
func (p *Watcher) control(raw syscall.RawConn, op int, number int32) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLONESHOT, Fd: number}
	var err error
	outer := raw.Control(func(fd uintptr) {
		inner := p.raw.Control(func(epoll uintptr) {
			err = unix.EpollCtl(int(epoll), op, int(fd), &event)
		})
		err = errors.Join(inner, err)
	})
	return errors.Join(outer, err)
}

// enter gives a socket a number.
func (p *Watcher) enter(s Socket, number *int32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.file == nil && p.open() != nil {
		return false
	}
	if n := len(p.free); n > 0 {
		*number, p.free = p.free[n-1], p.free[:n-1]
		p.sockets[*number] = s
		return true
	}
	*number = int32(max(len(p.sockets), 1))
	if *number == 1 {
		p.sockets = append(p.sockets, nil)
	}
	p.sockets = append(p.sockets, s)
	return true
}

// Forget takes the number of a socket that is not watched or closed, if it has one.
func (p *Watcher) Forget(number *int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if *number == 0 {
		return
	}
	p.sockets[*number] = nil
	p.free = append(p.free, *number)
	*number = 0
	if len(p.free) == len(p.sockets)-1 {
		p.sockets, p.free = nil, nil
	}
}

func (p *Watcher) open() error {
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

// Close ends the watching, and wakes the sockets that are left.
func (p *Watcher) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.file != nil {
		_ = p.file.Close()
	}
}

// run wakes sockets until the watcher is closed. Should the system fail, all of them get
// their readers back.
func (p *Watcher) run() {
	for p.wait() == nil {
		for _, e := range p.events[:p.n] {
			p.wake(e.Fd)
		}
	}
	p.Close()
	for n := int32(1); p.wake(n); n++ {
	}
}

// wake wakes the socket with a number, if there is one. It is false beyond the last number.
func (p *Watcher) wake(n int32) bool {
	s, ok := p.at(n)
	if s != nil {
		s.WakeUp()
	}
	return ok
}

// wait waits until something has arrived.
func (p *Watcher) wait() error {
	if err := p.raw.Read(p.try); err != nil {
		return err
	}
	return os.NewSyscallError("epoll_wait", p.err)
}

func (p *Watcher) waitNow(fd uintptr) bool {
	p.n, p.err = unix.EpollWait(int(fd), p.events[:], 0)
	if p.err == unix.EINTR {
		p.n, p.err = 0, nil
	}
	return p.n > 0 || p.err != nil
}

// at returns the socket with a number, nil for none; ok is false beyond the last number.
func (p *Watcher) at(n int32) (s Socket, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if int(n) >= len(p.sockets) {
		return nil, false
	}
	return p.sockets[n], true
}
