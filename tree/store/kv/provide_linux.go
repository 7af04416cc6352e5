package kv

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// hasRoom reports whether the disk of a file is known to have so much room.
func hasRoom(f *os.File, size int64) bool {
	var fs unix.Statfs_t
	err := withDescriptor(f, func(fd int) error { return unix.Fstatfs(fd, &fs) })
	return err == nil && int64(fs.Bavail) >= size/fs.Bsize
}

// setAside gives a file room for a part of it that begins at a position. The size of the file
// stays. Not every file system can do that.
func setAside(f *os.File, at, size int64) error {
	var err error = unix.EINTR
	for errors.Is(err, unix.EINTR) {
		err = withDescriptor(f, func(fd int) error {
			return unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, at, size)
		})
	}
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return err
}

func withDescriptor(f *os.File, do func(fd int) error) error {
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
