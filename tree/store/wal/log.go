package wal

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dogwooddb/dogwood/tree/store/internal/disk"
)

const (
	firstSegment   = 64 << 10 // bytes of the first segment, so that a new log begins at once
	defaultSegment = 16 << 20
	defaultHold    = 1 << 30

	// maxGroup bounds what waits for a write, in bytes.
	maxGroup = 16 << 20

	// markAfter is how long the log is idle before it marks its end.
	markAfter = 100 * time.Millisecond
)

// Options adjust a log. The zero value is right for most.
type Options struct {
	SegmentBytes int64 // 0: 16 MiB; the first segments are smaller

	// Segments that are released stay for readers while they are among the newest
	// KeepBytes of the log and younger than KeepAge. 0: they do not, and for any time.
	KeepBytes int64
	KeepAge   time.Duration
	// HoldBytes bounds the segments that stay because of a Hold, 0: 1 GiB.
	HoldBytes int64

	// ReadOnly opens the log to be read, also by several processes at once. Nothing of the
	// directory is changed.
	ReadOnly bool

	Now func() time.Time // nil: time.Now

	// Synced is told how long each write and its sync took. It must not block. It may be nil.
	Synced func(took time.Duration)
}

// A Log appends records to the segments of a directory.
//
// One goroutine at a time has the writing (the flag writing): it alone writes
// to the newest segment and to the control file, and begins segments. It is
// taken by the first Append of a group, by take, and passed on by pass. mu
// guards the fields below it and is never held during I/O, except to punch a
// hole into a segment that is given up. recycling is taken before mu, with or
// without the writing.
//
// There is no goroutine of the log: a group is written by one of the callers
// that wait for it. A goroutine that writes for all would cost each commit of a
// single client two more switches.
type Log struct {
	disk    disk.Disk
	o       Options
	control control // as it is on the disk, if there are segments; newest changes under mu
	watched watched // the writer's

	recycling sync.Mutex // before mu

	mu       sync.Mutex
	turn     sync.Cond     // of mu: writing has ended, or a group was taken
	next     uint64        // number of the next record
	settled  uint64        // number of the last record that is on the disk
	group    *group        // gathers records
	spare    []byte        // memory for the records of the next group
	writing  bool          // one goroutine writes to the last segment, or changes segments
	takers   int           // goroutines in take
	failed   error         // see Renew
	took     time.Duration // by the writes of groups
	syncs    uint64        // how many
	closed   bool
	segments []*segment        // oldest first
	current  bool              // the last one can be written to
	scarce   bool              // nothing stays for readers
	failures []*segment        // those that could not be begun, and may be there
	states   states            // as a segment that begins now says them
	released map[uint64]uint64 // by database, the number up to which
	trimmed  map[uint64]uint64 // by database, the number of the last record that is gone
	holds    map[*Hold]struct{}
	mark     *time.Timer   // writes the mark
	idle     time.Duration // markAfter, but in tests
	pool     filePool
}

// A group is the records that are written by one call. Records gather in it
// while the group before is being synced. So the size of a group follows the
// load, and there is no timer to tune.
type group struct {
	records []byte
	heads   []int  // where they begin
	first   uint64 // number of the first one
	err     error
	done    chan struct{} // closed when first and err are set
	lead    chan struct{} // has a token for one that is to write the group
}

// newGroup returns a group without records, which come into the given memory.
func newGroup(memory []byte) *group {
	return &group{records: memory[:0], done: make(chan struct{}), lead: make(chan struct{}, 1)}
}

// maxSpare bounds the memory that is kept for the next group.
const maxSpare = 1 << 20

// Owner returns the random id of the log.
func (l *Log) Owner() uint64 { return l.control.owner }

// Append appends a record and returns its number when it is on the disk. r.Number does not
// matter, and r is not kept. An error wraps ErrUnsettled, or nothing was written.
//
// The first of several calls writes the records of all.
func (l *Log) Append(r Record) (number uint64, err error) {
	if len(r.Change)+len(r.Rows) > MaxRecord {
		return 0, ErrTooLarge
	}
	l.mu.Lock()
	for !l.closed && l.group.bytes() > maxGroup {
		l.turn.Wait()
	}
	if l.closed || l.o.ReadOnly {
		l.mu.Unlock()
		return 0, ErrClosed
	}
	g := l.group
	place := uint64(len(g.heads))
	g.heads = append(g.heads, len(g.records))
	g.records = appendRecord(g.records, &r)
	leads := !l.writing && l.takers == 0
	if leads {
		l.writing = true
	}
	l.mu.Unlock()
	if leads {
		l.write(g)
	} else {
		select {
		case <-g.done:
		case <-g.lead:
			l.write(g)
		}
	}
	if g.err != nil {
		return 0, g.err
	}
	return g.first + place, nil
}

func (g *group) bytes() int { return len(g.records) }

// write writes a group, which is the one that gathers, and passes the writing on. The
// caller has it.
func (l *Log) write(g *group) {
	l.mu.Lock()
	l.group, l.spare = newGroup(l.spare), nil
	l.turn.Broadcast()
	failed := l.failed
	l.mu.Unlock()
	if failed == nil {
		g.err = l.writeGroup(g)
	} else {
		g.err = fmt.Errorf("%w: %w", ErrFailed, failed)
	}
	close(g.done)
	l.mu.Lock()
	if l.spare == nil && cap(g.records) <= maxSpare {
		l.spare = g.records // which is not looked at any more
	}
	l.mu.Unlock()
	l.pass()
}

// pass ends the writing of the caller. The next group is written by one of those that
// wait for it; if there is none, the end of the log is marked in a while.
func (l *Log) pass() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.passOn() && l.current && l.failed == nil {
		l.mark.Reset(l.idle)
	}
}

// passOn is pass without a mark. It reports whether there is a next group. mu is held.
func (l *Log) passOn() bool {
	if len(l.group.heads) > 0 && l.takers == 0 {
		l.writing = true
		l.group.lead <- struct{}{}
		return true
	}
	l.writing = false
	l.turn.Broadcast()
	return false
}

// take waits until the caller may write, in front of the group that gathers.
// Those that take go before the group, because what they do (a new segment, the
// mark at the end) is short, and a group would otherwise always be there under
// load.
func (l *Log) take() {
	l.mu.Lock()
	l.takers++
	for l.writing {
		l.turn.Wait()
	}
	l.takers--
	l.writing = true
	l.mu.Unlock()
}

// writeGroup gives the records their numbers and writes them.
//
// Numbers are given here and not in Append, so that they ascend in the order on
// the disk. A number is used up even if the write fails: the failed record may
// be on the disk, and another record with its number would be taken for it.
func (l *Log) writeGroup(g *group) error {
	if err := l.makeRoom(int64(g.bytes())); err != nil {
		return fmt.Errorf("begin a segment of the log: %w", err)
	}
	l.mu.Lock()
	s, settled := l.segments[len(l.segments)-1], l.settled
	g.first = l.next
	l.next += uint64(len(g.heads))
	l.mu.Unlock()
	number := g.first
	for _, h := range g.heads {
		b := g.records[h:]
		seal(b[:le.Uint32(b)], s.id, number, settled)
		number++
	}
	begun := time.Now()
	err := s.file.WriteSync(g.records, s.end)
	took := time.Since(begun)
	if err == nil {
		err = l.watched.check()
	}
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.failed = err
		return fmt.Errorf("%w: %w", ErrUnsettled, err)
	}
	if l.o.Synced != nil {
		l.o.Synced(took)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, h := range g.heads {
		r := noted(g.records[h:], g.first+uint64(i))
		s.note(&r, s.end+int64(h))
		_ = l.states.note(&r) // it was made by Need
	}
	s.end += int64(g.bytes())
	l.settled = s.last
	l.took += took
	l.syncs++
	return nil
}

// Stats are figures of a log.
type Stats struct {
	Bytes    int64         // size of its segments
	Segments int           // how many
	Syncs    uint64        // synced writes since it was opened
	Took     time.Duration // by them
	Begun    time.Time     // of the oldest segment; zero if there is none
}

// Stats returns the figures of the log.
func (l *Log) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Stats{Bytes: l.bytes(), Segments: len(l.segments), Syncs: l.syncs, Took: l.took}
	if len(l.segments) > 0 {
		s.Begun = l.segments[0].begun
	}
	return s
}

// Failed returns why the log takes no records; nil: it does.
func (l *Log) Failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// Renew begins a new segment after a failure. When it returns nil, the records that failed
// are void, also after a crash, and the log takes records again. Records that are released by then
// does not depend on what the disk has of the failed segment, so call it when all that was
// acknowledged is durable somewhere else.
func (l *Log) Renew() error {
	l.take()
	defer l.pass()
	if l.Failed() == nil {
		return nil
	}
	if err := l.watched.check(); err != nil {
		return err
	}
	if errors.Is(l.Failed(), ErrReplaced) { // its files may be elsewhere
		if err := l.pool.drop(true); err != nil {
			return err
		}
	}
	if err := beginFor(l, firstSegment, 0); err != nil {
		return fmt.Errorf("begin a segment of the log: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = nil
	return nil
}

// writeMark marks the end of the log, so that damage of the last record is told from a
// record that was not written as a whole. The next record overwrites the mark. Nobody waits
// for it, so it is not synced.
func (l *Log) writeMark() {
	l.take()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.passOn() // one mark is enough
	}()
	l.mu.Lock()
	var s *segment
	if l.current && l.failed == nil {
		s = l.segments[len(l.segments)-1]
	}
	next, settled := l.next, l.settled
	l.mu.Unlock()
	if s == nil || s.last != settled || s.end+recordHead > s.bytes {
		return
	}
	b := appendRecord(nil, &Record{Kind: markKind})
	seal(b, s.id, next, settled)
	_, _ = s.file.WriteAt(b, s.end) // without it the log is what it was
}

// Close closes the log. Records that are being appended are written before.
func (l *Log) Close() error {
	l.mu.Lock()
	closed := l.closed
	l.closed = true
	l.turn.Broadcast()
	l.mu.Unlock()
	if closed {
		return nil
	}
	l.writeMark()
	l.take()
	defer l.pass()
	l.mark.Stop()
	err := l.pool.close()
	if n := len(l.segments); n > 0 && l.current {
		err = errors.Join(err, l.segments[n-1].file.Sync()) // the mark
	}
	for _, s := range l.segments {
		err = errors.Join(err, s.file.Close())
	}
	l.mu.Lock()
	l.current = false
	l.mu.Unlock()
	return err
}

func (o Options) withDefaults() Options {
	o.SegmentBytes = cmp.Or(o.SegmentBytes, defaultSegment)
	o.HoldBytes = cmp.Or(o.HoldBytes, defaultHold)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
