package realtime

import (
	"sync"

	"github.com/dogwooddb/dogwood/internal/fifo"
)

// A writable is a socket that has something to be written.
type writable interface {
	// deliver writes it as far as that does not block.
	deliver(b *writeBuffer)
}

// A writerPool writes to sockets that do not block, which is nearly all of them.
// One commit may be news for thousands of sockets: a goroutine for each costs
// more than the writing, and the committer has other things to do.
//
// It has at most half as many goroutines, the writers, as there are processors, and only
// while something is to be written. More of them take longer for the same sockets, since what
// the kernel keeps of these moves from processor to processor.
//
// Sockets that would block leave the pool at once (errMustWait) and get a goroutine of their
// own. So one client that does not read cannot hold a writer, and the time that a socket
// waits depends on the number of sockets only.
type writerPool struct {
	max  int
	sent func(bytes int) // counts what was written

	mu      sync.Mutex
	waiting fifo.Queue[writable] // each of them once, while its writing is busy
	running int
}

const (
	perWriter = 16 // sockets that wait before another writer is started
	perRound  = 32 // sockets that a writer takes at a time at most
	roundPart = 4  // of those that wait, a writer takes one of so many for each writer
)

// add queues a socket, whose mu may be held, for a writer.
func (p *writerPool) add(s writable) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting.Push(s)
	if p.running == 0 || p.running < p.max && p.waiting.Len() > perWriter*p.running {
		p.running++
		go p.run()
	}
}

// take returns the sockets to see to next. Without any, the writer ends. Where many wait it
// takes many, since the lock is one of all writers and of the committer, and fewer towards
// the end, so that all writers end at about the same time.
func (p *writerPool) take(dst []writable) []writable {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(p.waiting.Len()/(roundPart*p.running)+1, perRound)
	for dst = dst[:0]; len(dst) < n && p.waiting.Len() > 0; {
		dst = append(dst, p.waiting.Pop(maxWaitingKept))
	}
	if len(dst) == 0 {
		p.running--
	}
	return dst
}

// maxWaitingKept is the capacity up to which the queue is kept when it is empty.
const maxWaitingKept = 4 << 10

func (p *writerPool) run() {
	b := writeBuffers.Get().(*writeBuffer)
	defer b.release(&writeBuffers, bufferSize)
	var round [perRound]writable
	for sockets := p.take(round[:]); len(sockets) > 0; sockets = p.take(round[:]) {
		for _, s := range sockets {
			s.deliver(b)
		}
		p.sent(b.sent)
		b.sent = 0
	}
}
