package realtime

import "sync/atomic"

// A writing is what a socket knows of the writing to it. Those that have something to say and
// the writer agree by one word, without a lock: an event costs each of thousands of sockets
// this much.
//
// The protocol: to have something written, make it known first (outbox, queue, ping), then
// call want. A writer calls begin before it looks and goesOn before it ends. If something
// came between its look and goesOn, dirty is set again, and goesOn says so; otherwise busy is
// cleared, and the next want finds a writer. So nothing is left unwritten, and there is never
// more than one writer.
//
// With a mutex, each event would have had to take one for each of thousands of sockets, and
// wait for a writer that is in a system call.
type writing struct {
	state atomic.Uint32
	idle  chan struct{} // of wait: gets an element when no writer is at it any more
}

// Bits of the state of a writing.
const (
	live    = 1 << iota // the socket takes from the outbox
	dirty               // there may be something to write
	own                 // there may be a message of the socket itself, or its end
	busy                // the pool or write is at it, or the writing is over
	over                // nothing is written any more
	awaited             // idle is there
)

// isLive reports whether the socket takes from the outbox.
func (w *writing) isLive() bool { return w.state.Load()&live != 0 }

// want notes that there is something to write, which the caller has made known before: dirty,
// with or without own. It reports whether a writer has to be found.
func (w *writing) want(what uint32) bool { return w.state.Or(what|busy)&busy == 0 }

// hold makes the caller the writer if there is none, which goesOn ends.
func (w *writing) hold() bool {
	was := w.state.Load()
	return was&busy == 0 && w.state.CompareAndSwap(was, was|busy)
}

// begin is called by the writer before it looks for what there is. It reports whether there
// may be more than the outbox of a live socket.
func (w *writing) begin() bool {
	was := w.state.And(^uint32(dirty | own))
	return was&own != 0 || was&live == 0
}

// goesOn reports whether something may have come since begin, or the last call. The
// writer ends if it did not.
func (w *writing) goesOn() bool {
	for {
		was := w.state.Load()
		if was&dirty != 0 {
			w.state.And(^uint32(dirty))
			return true
		}
		if w.state.CompareAndSwap(was, was&^busy) {
			w.tell(was)
			return false
		}
	}
}

// end is called by the writer when nothing is to be written any more.
func (w *writing) end() { w.tell(w.state.Or(over)) }

// tell ends the wait that there was.
func (w *writing) tell(was uint32) {
	if was&awaited == 0 {
		return
	}
	select {
	case w.idle <- struct{}{}:
	default:
	}
}

// wait returns when no writer is at it. It is called once.
func (w *writing) wait() {
	w.idle = make(chan struct{}, 1)
	if was := w.state.Or(awaited); was&busy != 0 && was&over == 0 {
		<-w.idle
	}
}
