package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/dogwooddb/dogwood/tree/store/internal/disk"
)

// makeRoom begins a segment if the last one has no room for so many bytes. The caller has
// the writing.
func (l *Log) makeRoom(size int64) error {
	l.mu.Lock()
	bytes := int64(firstSegment)
	if l.current && !l.pool.short.Load() {
		s := l.segments[len(l.segments)-1]
		if s.end+size+recordHead <= s.bytes { // the mark has room
			l.mu.Unlock()
			return nil
		}
		bytes = 2 * s.bytes
	} else if l.current {
		l.mu.Unlock()
		return beginSmall(l, firstSegment, size)
	}
	l.mu.Unlock()
	return beginFor(l, min(bytes, l.o.SegmentBytes), size)
}

// beginFor begins a segment with room for records of a size. The caller has the writing.
func beginFor(l *Log, bytes, size int64) error {
	if l.pool.isTight() && bytes <= reserved {
		return beginSmall(l, bytes, size)
	}
	err := l.begin(bytes, size)
	if disk.NoRoom(err) {
		err = beginSmall(l, firstSegment, size)
	}
	return err
}

// beginSmall is beginFor on a disk that is full or nearly so. It gives up all that the log does
// not need, and begins no segment without something in reserve: what comes into the log has
// to come into the files, which may have to grow for it before the log gets smaller.
func beginSmall(l *Log, bytes, size int64) error {
	if err := l.shrink(false); err != nil {
		return err
	}
	if err := l.pool.reserve(); err != nil {
		return err
	}
	if err := l.begin(bytes, size); err != nil {
		return err
	}
	l.pool.short.Store(false)
	return nil
}

// begin begins a segment of at least so many bytes that has room for records of a size. The
// caller has the writing.
//
// The order makes each crash harmless: the file has its head before it gets a segment's
// name, and it has the name before the control file says that it must be there. If a step
// fails, the segment may or may not be known to the control file, so it is remembered in
// failures until a later segment is known.
func (l *Log) begin(bytes, size int64) error {
	if err := l.watched.check(); err != nil {
		return away(l, err)
	}
	if l.control.newest == 0 { // no segment without a control file
		if err := writeControl(l, 0); err != nil {
			return err
		}
	}
	l.mu.Lock()
	said := l.states.record()
	l.mu.Unlock()
	if bytes >= reserved {
		if err := l.pool.reserve(); err != nil {
			return err
		}
	}
	f, err := l.pool.take(max(bytes, headBytes+int64(said.size())+size+recordHead))
	if err != nil {
		return err
	}
	s := newSegment(f, l)
	head := make([]byte, headBytes)
	copy(head, s.head(l.control.owner))
	if len(said.Rows) > 0 {
		head = appendRecord(head, said)
		seal(head[headBytes:], s.id, s.first, s.follows)
		said.Number = s.first
		s.note(said, headBytes)
		s.end = int64(len(head))
	}
	err = s.file.WriteSync(head, 0)
	if err == nil {
		err = l.disk.Rename(f.name, s.name())
	}
	if err == nil {
		err = writeControl(l, s.id)
	}
	if err != nil {
		return errors.Join(err, notBegun(l, s, f.name))
	}
	l.mu.Lock()
	l.segments = append(l.segments, s)
	l.current = true
	l.next = s.last + 1
	if s.last >= s.first {
		l.settled = s.last
	}
	l.mu.Unlock()
	l.watched = watched{disk.Watch(l.disk, controlFile, nil), disk.Watch(l.disk, s.name(), s.file)}
	l.pool.prepare(min(2*s.bytes, l.o.SegmentBytes))
	return nil
}

// notBegun notes a segment that could not be begun, and closes its file, which had a name in the
// pool. Nothing else would remove that before the next start.
//
// The control file may know the segment, which has no records, and says that none come behind
// follows in those before it. So none may.
func notBegun(l *Log, s *segment, name string) error {
	l.mu.Lock()
	l.current = false
	l.failures = append(l.failures, s)
	l.mu.Unlock()
	l.watched.control = disk.Watch(l.disk, controlFile, nil) // it may have been replaced
	err := s.file.Close()
	_ = l.disk.Remove(name) // unless it has the name of a segment
	return err
}

// writeControl writes the control file.
func writeControl(l *Log, newest uint64) error {
	c := control{l.control.owner, newest}
	if err := l.disk.Replace(controlFile, c.encode()); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.control.newest = newest
	return nil
}

// watched are the files that must be in their places while records are written: those in a
// directory that was moved or removed would be gone.
type watched struct{ control, segment func() error } // nil: is not watched

func (w watched) check() error {
	for _, check := range []func() error{w.segment, w.control} {
		if check == nil {
			continue
		}
		if err := check(); err != nil {
			return fmt.Errorf("%w: %w", ErrReplaced, err)
		}
	}
	return nil
}

// away notes that the directory is not in its place.
func away(l *Log, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = err
	return fmt.Errorf("%w: %w", ErrFailed, err)
}

// newSegment returns the next segment of the log in a file of the pool.
func newSegment(f pooledFile, l *Log) *segment {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &segment{
		first:   l.next,
		id:      randomID(),
		follows: l.settled,
		begun:   l.o.Now(),
		file:    f.file,
		bytes:   f.bytes,
		end:     headBytes,
		last:    l.next - 1,
		of:      make(map[uint64]uint64),
		from:    make(map[uint64]int64),
	}
}

// A pooledFile is a file that can become a segment. Its content does not matter, but every
// byte has been on the disk.
type pooledFile struct {
	name  string
	file  disk.File
	bytes int64
}

// maxPooled bounds the files that wait to become segments.
const maxPooled = 2

// A filePool has the files that wait to become segments.
//
// A segment is written into a file whose bytes are on the disk already. Then a
// sync has no metadata to write, which is faster than to append to a file that
// grows. Segments that are released come back here and are used again.
type filePool struct {
	disk  disk.Disk
	bytes int64 // of those that are kept

	mu        sync.Mutex
	files     []pooledFile
	reserved  pooledFile    // is made before large segments, and on a full disk before any
	preparing chan struct{} // closed when a file was made in the background; nil: none is
	closed    bool
	tight     bool // the disk was full, and no large file could be made since then

	short atomic.Bool // there was no room for the next file
}

// reserved is how much a log on a full disk has in reserve, for files of databases that have to
// grow before the log gets smaller. Without it a full disk could not be left again: applying
// the log needs room in the files before it frees any in the log.
const reserved = 1 << 20

// take returns a file of at least so many bytes.
func (p *filePool) take(bytes int64) (pooledFile, error) {
	p.wait()
	p.mu.Lock()
	for i, f := range p.files {
		if f.bytes >= bytes && !p.tight {
			p.files = append(p.files[:i], p.files[i+1:]...)
			p.mu.Unlock()
			return f, nil
		}
	}
	p.mu.Unlock()
	return p.make(bytes)
}

// wait waits for the file that is made in the background.
func (p *filePool) wait() {
	p.mu.Lock()
	wait := p.preparing
	p.mu.Unlock()
	if wait != nil {
		<-wait
	}
}

func (p *filePool) make(bytes int64) (pooledFile, error) {
	name := fmt.Sprintf("%016x%s", randomID(), poolSuffix)
	f, err := p.disk.Create(name, bytes)
	if err == nil && bytes > reserved {
		p.mu.Lock()
		p.tight = false
		p.mu.Unlock()
	}
	return pooledFile{name, f, bytes}, err
}

func (p *filePool) isTight() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tight
}

// reserve makes the file that is in reserve, unless there is one.
func (p *filePool) reserve() error {
	p.mu.Lock()
	there := p.reserved.file != nil
	p.mu.Unlock()
	if there {
		return nil
	}
	f, err := p.make(reserved)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reserved = f
	return nil
}

// shrink removes the files, and keeps none until there is room again. all says whether the one
// in reserve goes as well.
func (p *filePool) shrink(all bool) error {
	p.mu.Lock()
	p.tight = true
	p.mu.Unlock()
	return p.drop(all)
}

// drop removes the files, and with all the one in reserve.
func (p *filePool) drop(all bool) error {
	p.wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if all && p.reserved.file != nil {
		p.files = append(p.files, p.reserved)
		p.reserved = pooledFile{}
	}
	for len(p.files) > 0 {
		f := p.files[0]
		if err := p.disk.Remove(f.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		p.files = p.files[1:]
		if err := f.file.Close(); err != nil {
			return err
		}
	}
	return nil
}

// prepare makes a file in the background, unless there is one.
func (p *filePool) prepare(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.files {
		if f.bytes >= bytes {
			return
		}
	}
	if p.preparing != nil || p.closed || p.tight {
		return
	}
	done := make(chan struct{})
	p.preparing = done
	go func() {
		defer close(done)
		f, err := p.make(bytes)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.preparing = nil
		p.short.Store(disk.NoRoom(err))
		if err == nil {
			p.files = append(p.files, f)
		}
	}()
}

// add adds the file of a segment, or removes it if there are enough of them or it has holes. When
// it returns nil, the disk has no segment of that name. It may be called again after an error.
func (p *filePool) add(old *segment) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := pooledFile{fmt.Sprintf("%016x%s", old.id, poolSuffix), old.file, old.bytes}
	keep := !old.holes && p.bytes <= old.bytes && old.bytes <= 2*p.bytes && len(p.files) < maxPooled && !p.closed && !p.tight
	var err error
	if keep {
		err = p.disk.Rename(old.name(), f.name)
	} else {
		err = p.disk.Remove(old.name())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // it is gone if the call before failed halfway
		return err
	}
	if keep && err == nil {
		p.files = append(p.files, f)
		return nil
	}
	return old.file.Close()
}

// close closes the files, once none is made any more.
func (p *filePool) close() (err error) {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.wait()
	if p.reserved.file != nil {
		p.files = append(p.files, p.reserved)
	}
	for _, f := range p.files {
		err = errors.Join(err, f.file.Close())
	}
	p.files = nil
	return err
}
