package disk

import (
	"errors"
	"io"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// noDsync is set when the system or the file system has no RWF_DSYNC.
var noDsync atomic.Bool

// WriteSync writes and syncs with one system call where there is one for both.
func (f osFile) WriteSync(b []byte, at int64) error {
	for len(b) > 0 && !noDsync.Load() {
		n, err := f.pwrite(b, at)
		switch {
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL):
			noDsync.Store(true)
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		case n == 0:
			return io.ErrShortWrite
		default:
			b, at = b[n:], at+int64(n)
		}
	}
	if len(b) == 0 {
		return nil
	}
	if _, err := f.WriteAt(b, at); err != nil {
		return err
	}
	return f.control(func(fd int) error { return unix.Fdatasync(fd) })
}

func (f osFile) pwrite(b []byte, at int64) (n int, err error) {
	err = f.control(func(fd int) (err error) {
		n, err = unix.Pwritev2(fd, [][]byte{b}, at, unix.RWF_DSYNC)
		return err
	})
	return n, err
}

// punch frees a part of the file, which has zeros there then. The size stays.
func (f osFile) punch(at, size int64) error {
	err := f.control(func(fd int) error {
		return unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, size)
	})
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return err
}

// control calls do with the descriptor of the file.
func (f osFile) control(do func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = do(int(fd)) }); err != nil {
		return err
	}
	return failed
}
