package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
)

// makeRoom begins a segment if the last one has no room for so many bytes. The caller has
// the writing.
func (l *Log) makeRoom(size int64) error {
	l.mu.Lock()
	bytes := int64(firstSegment)
	if l.current {
		s := l.segments[len(l.segments)-1]
		if s.end+size+recordHead <= s.bytes { // the mark has room
			l.mu.Unlock()
			return nil
		}
		bytes = 2 * s.bytes
	}
	l.mu.Unlock()
	return l.begin(max(min(bytes, l.o.SegmentBytes), headBytes+size+recordHead))
}

// Prepare makes sure that the directory has the log, so that a file that names it finds it.
func (l *Log) Prepare() error {
	l.take()
	defer l.pass()
	l.mu.Lock()
	there := l.control.newest != 0
	l.mu.Unlock()
	if there {
		return nil
	}
	return l.makeRoom(0)
}

// begin begins a segment of at least so many bytes. The caller has the writing.
func (l *Log) begin(bytes int64) error {
	if l.control.newest == 0 { // no segment without a control file
		if err := l.writeControl(0); err != nil {
			return err
		}
	}
	f, err := l.pool.take(bytes)
	if err != nil {
		return err
	}
	s := newSegment(f, l)
	err = s.file.writeSync(s.head(l.control.owner), 0)
	if err == nil {
		err = l.disk.rename(f.name, s.name())
	}
	if err == nil {
		err = l.writeControl(s.id)
	}
	if err != nil {
		// The control file may know the segment, which has no records, and says that none
		// come behind follows in those before it. So none may.
		l.mu.Lock()
		defer l.mu.Unlock()
		l.current = false
		l.failures = append(l.failures, s.name())
		return errors.Join(err, s.file.Close())
	}
	l.mu.Lock()
	l.segments = append(l.segments, s)
	l.current = true
	l.mu.Unlock()
	l.pool.prepare(min(2*s.bytes, l.o.SegmentBytes))
	return nil
}

// writeControl writes the control file.
func (l *Log) writeControl(newest uint64) error {
	c := control{l.control.owner, newest}
	if err := l.disk.replace(controlFile, c.encode()); err != nil {
		return err
	}
	l.control.newest = newest // others read the owner meanwhile
	return nil
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
	file  file
	bytes int64
}

// maxPooled bounds the files that wait to become segments.
const maxPooled = 2

// A filePool has the files that wait to become segments.
type filePool struct {
	disk  disk
	bytes int64 // of those that are kept

	mu        sync.Mutex
	files     []pooledFile
	preparing chan struct{} // closed when a file was made in the background; nil: none is
	closed    bool
}

// take returns a file of at least so many bytes.
func (p *filePool) take(bytes int64) (pooledFile, error) {
	p.wait()
	p.mu.Lock()
	for i, f := range p.files {
		if f.bytes >= bytes {
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
	f, err := p.disk.create(name, bytes)
	return pooledFile{name, f, bytes}, err
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
	if p.preparing != nil || p.closed {
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
		if err == nil { // or the next segment makes its file, and tells its error
			p.files = append(p.files, f)
		}
	}()
}

// add adds the file of a segment, or removes it if there are enough of them. When it returns
// nil, the disk has no segment of that name. It may be called again after an error.
func (p *filePool) add(old *segment) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := pooledFile{fmt.Sprintf("%016x%s", old.id, poolSuffix), old.file, old.bytes}
	keep := p.bytes <= old.bytes && old.bytes <= 2*p.bytes && len(p.files) < maxPooled && !p.closed
	var err error
	if keep {
		err = p.disk.rename(old.name(), f.name)
	} else {
		err = p.disk.remove(old.name())
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
	for _, f := range p.files {
		err = errors.Join(err, f.file.Close())
	}
	p.files = nil
	return err
}
