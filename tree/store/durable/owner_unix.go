//go:build unix

package durable

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// An owner is the user and the group that a file belongs to.
type owner struct{ uid, gid int }

// heir returns the owner of what root makes in a directory; ok is false if that is root
// or this process is not root's. If it replaces a file of that owner, it keeps the group. The
// owner of a replaced file does not count: in a directory that others may write to, they
// could have made the file in order to get the new one.
func heir(dir string, old fs.FileInfo) (o owner, ok bool) {
	if os.Geteuid() != 0 {
		return o, false
	}
	info, err := os.Stat(dir)
	if err != nil {
		return o, false
	}
	o = ownerOf(info)
	if old != nil && ownerOf(old).uid == o.uid {
		o = ownerOf(old)
	}
	return o, o.uid != 0
}

func ownerOf(info fs.FileInfo) (o owner) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		o = owner{int(stat.Uid), int(stat.Gid)}
	}
	return o
}

// give gives an open file, which was just made, to an owner. Where root may not do that, as on
// some network file systems, the file stays as it is.
func give(f *os.File, o owner) error {
	err := f.Chown(o.uid, o.gid)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}

// giveDirectory is give for a directory that was just made. A symbolic link that took its
// place is not followed.
func giveDirectory(dir string, o owner) error {
	f, err := os.OpenFile(dir, syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	return errors.Join(give(f, o), f.Close())
}
