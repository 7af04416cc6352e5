// Package durable makes, replaces and removes files so that a power failure
// cannot undo it. A file is on disk when its content is synced and the directory
// that has its name is synced, too; the same holds for a new directory and its
// parent.
//
// When a function of this package returns nil, its effect is on disk.
//
// Root works on directories of other users, such as the data directory of a service, which
// could not use what belongs to root. So what root makes belongs to the owner of the directory
// that it is in. Nothing that was there before, or that a symbolic link names, is given away.
package durable

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// A ShortError refuses a write because a disk has less room than it is to keep. Nothing was
// tried: the disk is not full.
type ShortError struct {
	Dir     string
	Free    int64
	Least   int64 // that is to be free
	Missing int64 // free bytes inside a file of Dir that make up for it
}

func (e *ShortError) Error() string {
	return fmt.Sprintf("the disk of %s has %d MiB free, less than --min-free keeps (%d MiB)", e.Dir, e.Free>>20, e.Least>>20)
}

// NoRoom reports whether an error is of a disk that takes nothing more: it is full, over
// a quota or the limit of a file's size, its file system is read-only, or the error is a
// *ShortError.
func NoRoom(err error) bool { return NoRoomCause(err) != "" }

// NoRoomCause says to administrators why a disk takes nothing more, "" if an error is not of
// NoRoom.
func NoRoomCause(err error) string {
	if short := (*ShortError)(nil); errors.As(err, &short) {
		return fmt.Sprintf("The disk of %s has %d MiB free, less than the %d MiB that --min-free keeps: make room, or lower it. Deletes and reads go on.", short.Dir, short.Free>>20, short.Least>>20)
	}
	for _, no := range []struct {
		errno syscall.Errno
		cause string
	}{
		{syscall.ENOSPC, "There is no room on the server's disk."},
		{syscall.EDQUOT, "The disk quota of the server is used up."},
		{syscall.EFBIG, "A file of the server has reached the limit of its size."},
		{syscall.EROFS, "The file system of the server's data is read-only."},
	} {
		if errors.Is(err, no.errno) {
			return no.cause
		}
	}
	return ""
}

// NoRoomFor says that a disk takes no new file, with the reason of an error of NoRoom.
func NoRoomFor(what string, err error) string {
	if errors.Is(err, syscall.EROFS) {
		return "the file system is read-only: there can be no " + what
	}
	return "there is no room for a " + what
}

// Unwritable reports NoRoom, or that this process may not write there.
func Unwritable(err error) bool { return NoRoom(err) || errors.Is(err, fs.ErrPermission) }

// MkdirAll makes a directory and its missing parents. A directory that exists is
// left as it is, and is not written to.
func MkdirAll(dir string, perm fs.FileMode) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := MkdirAll(parent, perm); err != nil {
			return err
		}
	}
	if err := mkdir(dir, perm); err != nil {
		if info, statErr := os.Stat(dir); statErr == nil && info.IsDir() {
			return nil // another process made it
		}
		return err
	}
	return SyncDir(parent)
}

// mkdir is os.Mkdir. A directory that root gives away is given away before it has its name: the
// server that is to read it may be running.
func mkdir(dir string, perm fs.FileMode) error {
	parent := filepath.Dir(dir)
	o, ok := heir(parent, nil)
	if !ok {
		return os.Mkdir(dir, perm)
	}
	part := filepath.Join(parent, ".new-"+rand.Text())
	if err := os.Mkdir(part, perm); err != nil {
		return err
	}
	err := errors.Join(giveDirectory(part, o), SyncDir(part))
	if err == nil {
		err = os.Rename(part, dir) // fails for one that has files in it
	}
	if err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return nil
}

// OpenFile is os.OpenFile. A file that it makes is not on disk yet. Made by root, the file
// belongs to the owner of its directory.
func OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return openFile(name, flag, perm, nil)
}

// openFile is OpenFile for a file that replaces old; nil: none.
func openFile(name string, flag int, perm fs.FileMode, old fs.FileInfo) (*os.File, error) {
	o, ok := heir(filepath.Dir(name), old)
	if !ok || flag&os.O_CREATE == 0 {
		return os.OpenFile(name, flag, perm)
	}
	f, err := os.OpenFile(name, flag|os.O_EXCL, perm) // so that it is new
	switch {
	case errors.Is(err, fs.ErrExist) && flag&os.O_EXCL == 0:
		return os.OpenFile(name, flag, perm)
	case err != nil:
		return nil, err
	}
	if err := give(f, o); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(name))
	}
	return f, nil
}

// Create makes a file that has its content as soon as it has its name. Its permissions are
// perm less the umask. The error wraps fs.ErrExist if there is a file of that name.
func Create(file string, content []byte, perm fs.FileMode) error {
	return write(file, content, perm, link)
}

// Replace is Create for a file that may exist. It is replaced as a whole, and keeps those of
// its permissions that are in perm.
func Replace(file string, content []byte, perm fs.FileMode) error {
	return write(file, content, perm, os.Rename)
}

func write(file string, content []byte, perm fs.FileMode, publish func(from, to string) error) error {
	dir := filepath.Dir(file)
	f, err := OpenFor(file, filepath.Join(dir, ".new-"+rand.Text()), os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(content, 0)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = publish(f.Name(), file)
	}
	if gone := os.Remove(f.Name()); err == nil && !errors.Is(gone, fs.ErrNotExist) {
		err = gone
	}
	if err != nil {
		return err
	}
	return SyncDir(dir)
}

// OpenFor makes part, which is to get the name of file, for reading and writing. It has the
// permissions of file that are in perm, or perm less the umask if there is no such file.
func OpenFor(file, part string, flag int, perm fs.FileMode) (*os.File, error) {
	old, missing := os.Stat(file)
	if missing == nil {
		perm &= old.Mode() | 0o200 // Rename opens it to sync it
	}
	f, err := openFile(part, os.O_RDWR|os.O_CREATE|flag, perm, old)
	if err != nil || missing != nil || runtime.GOOS == "windows" {
		return f, err
	}
	if err := f.Chmod(perm); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(part))
	}
	return f, nil
}

// link gives a complete file its name, which no file may have. Where the file
// system has no hard links, the check and the renaming are two steps.
func link(from, to string) error {
	err := os.Link(from, to)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) {
		if _, err = os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			return os.Rename(from, to)
		}
		err = cmp.Or(err, error(syscall.EEXIST))
	}
	if errors.Is(err, fs.ErrExist) {
		return &fs.PathError{Op: "open", Path: to, Err: syscall.EEXIST}
	}
	return err
}

// Rename syncs a file that is complete and renames it, replacing the file that
// has its new name. After a power failure one of the two is there, whole.
func Rename(part, file string) error {
	if err := syncFile(part); err != nil {
		return err
	}
	if err := os.Rename(part, file); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(file))
}

// Link gives a file a second name in the same directory. The error wraps
// fs.ErrExist if there is a file of that name.
func Link(file, name string) error {
	if err := os.Link(file, name); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(name))
}

// Remove removes a file.
func Remove(file string) error {
	if err := os.Remove(file); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(file))
}

func syncFile(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// SyncDir puts the names in a directory on disk. It does nothing where the
// system cannot do that: on Windows, on file systems that refuse to sync a
// directory, and for a directory that this process may not read.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
