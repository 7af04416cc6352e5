package wal

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"

	"github.com/dogwooddb/dogwood/tree/store/internal/disk"
)

var (
	errPower = errors.New("the power is off")
	errIO    = errors.New("input/output error")
	errFull  = syscall.ENOSPC
)

// A memDisk is a disk in memory that counts what it is asked for, can fail, and can lose its
// power. Synced bytes are there afterwards, of the rest any sectors.
type memDisk struct {
	rnd *rand.Rand

	mu    sync.Mutex
	files map[string]*memFile
	steps int // that changed something
	cutAt int // the step in the middle of which the power goes off; 0: none
	fails func(step int) bool
	off   bool
	limit int // bytes that files which are made may take with all others; 0: any
}

func newMemDisk(seed uint64) *memDisk {
	return &memDisk{rnd: rand.New(rand.NewPCG(seed, 1)), files: make(map[string]*memFile)}
}

type memFile struct {
	disk    *memDisk
	data    []byte // as the system shows it
	synced  []byte // as it is on the disk
	pending []memWrite
}

type memWrite struct {
	at   int
	data []byte
}

const sector = 512

func (d *memDisk) stepsSoFar() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.steps
}

// step begins something that changes the disk. An error is to be returned; does says whether
// it takes effect nevertheless.
func (d *memDisk) step() (does bool, err error) {
	if d.off {
		return false, errPower
	}
	d.steps++
	switch {
	case d.steps == d.cutAt:
		d.off = true
		return d.rnd.IntN(2) == 0, errPower
	case d.fails != nil && d.fails(d.steps):
		return d.rnd.IntN(2) == 0, errIO
	}
	return true, nil
}

// reboot returns what is left after the power went off.
func (d *memDisk) reboot() *memDisk {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off = true
	next := newMemDisk(d.rnd.Uint64())
	for name, f := range d.files {
		f.flush(d.rnd)
		next.files[name] = &memFile{disk: next, data: bytes.Clone(f.synced), synced: bytes.Clone(f.synced)}
	}
	return next
}

// flush puts any sectors of what is pending on the disk; all of them without rnd.
func (f *memFile) flush(rnd *rand.Rand) {
	for _, w := range f.pending {
		for at := 0; at < len(w.data); {
			n := min(sector-(w.at+at)%sector, len(w.data)-at)
			if rnd == nil || rnd.IntN(2) == 0 {
				f.synced = grown(f.synced, w.at+at+n)
				copy(f.synced[w.at+at:], w.data[at:at+n])
			}
			at += n
		}
	}
	f.pending = nil
}

func grown(b []byte, size int) []byte {
	if len(b) < size {
		b = append(b, make([]byte, size-len(b))...)
	}
	return b
}

func (d *memDisk) List() ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.files)), nil
}

func (d *memDisk) Read(name string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.files[name]; f != nil {
		return bytes.Clone(f.data), nil
	}
	return nil, fs.ErrNotExist
}

func (d *memDisk) Replace(name string, content []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	does, err := d.step()
	if does {
		d.files[name] = &memFile{disk: d, data: bytes.Clone(content), synced: bytes.Clone(content)}
	}
	return err
}

func (d *memDisk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[from] == nil {
		return fs.ErrNotExist
	}
	does, err := d.step()
	if does {
		d.files[to] = d.files[from]
		delete(d.files, from)
	}
	return err
}

func (d *memDisk) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[name] == nil {
		return fs.ErrNotExist
	}
	does, err := d.step()
	if does {
		delete(d.files, name)
	}
	return err
}

func (d *memDisk) Open(name string, _ bool) (disk.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.files[name], nil
}

func (d *memDisk) Create(name string, size int64) (disk.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.limit > 0 && d.size()+int(size) > d.limit {
		return nil, errFull
	}
	does, err := d.step()
	f := &memFile{disk: d, data: make([]byte, size)}
	if does {
		d.files[name] = f
	}
	if err == nil {
		f.synced = make([]byte, size)
	}
	return f, err
}

// size returns how many bytes all files take. mu is held, or nothing is going on.
func (d *memDisk) size() (n int) {
	for _, f := range d.files {
		n += len(f.data)
	}
	return n
}

func (f *memFile) ReadAt(b []byte, at int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if n := copy(b, f.data[min(int(at), len(f.data)):]); n < len(b) {
		return n, io.EOF
	}
	return len(b), nil
}

func (f *memFile) WriteAt(b []byte, at int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return len(b), f.write(b, int(at))
}

func (f *memFile) write(b []byte, at int) error {
	_, err := f.disk.step()
	f.data = grown(f.data, at+len(b))
	copy(f.data[at:], b)
	f.pending = append(f.pending, memWrite{at, bytes.Clone(b)})
	if errors.Is(err, errIO) { // the system takes it for written, and forgets it
		f.flush(f.disk.rnd)
	}
	return err
}

func (f *memFile) WriteSync(b []byte, at int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.off {
		return errPower
	}
	err := f.write(b, int(at))
	if err == nil {
		f.flush(nil)
	}
	return err
}

func (f *memFile) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	_, err := f.disk.step()
	switch {
	case err == nil:
		f.flush(nil)
	case errors.Is(err, errIO): // as in write
		f.flush(f.disk.rnd)
	}
	return err
}

func (f *memFile) Size() (int64, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return int64(len(f.data)), nil
}

func (f *memFile) Close() error { return nil }
