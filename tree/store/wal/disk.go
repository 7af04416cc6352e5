package wal

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// A disk is the directory of a log. When a method returns nil, its effect is durable.
type disk interface {
	list() (names []string, err error)
	read(name string) ([]byte, error) // fs.ErrNotExist if there is none
	replace(name string, content []byte) error
	rename(from, to string) error
	remove(name string) error
	open(name string, readOnly bool) (file, error)
	create(name string, size int64) (file, error) // with zeros; its name is not durable
}

// A file is a segment on a disk.
type file interface {
	io.ReaderAt
	io.WriterAt                         // not durable
	writeSync(b []byte, at int64) error // durable, and what was written before
	sync() error
	size() (int64, error)
	io.Closer
}

// A directory is a disk of the operating system.
type directory string

func (d directory) path(name string) string { return filepath.Join(string(d), name) }

func (d directory) list() (names []string, err error) {
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (d directory) read(name string) ([]byte, error) { return os.ReadFile(d.path(name)) }

func (d directory) replace(name string, content []byte) error {
	if err := durable.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	return durable.Replace(d.path(name), content, 0o600)
}

func (d directory) rename(from, to string) error {
	if err := os.Rename(d.path(from), d.path(to)); err != nil {
		return err
	}
	return durable.SyncDir(string(d))
}

func (d directory) remove(name string) error { return durable.Remove(d.path(name)) }

func (d directory) open(name string, readOnly bool) (file, error) {
	flag := os.O_RDWR
	if readOnly {
		flag = os.O_RDONLY
	}
	f, err := os.OpenFile(d.path(name), flag, 0)
	return osFile{f}, err
}

// zeros are written into a new segment a piece at a time.
var zeros [256 << 10]byte

func (d directory) create(name string, size int64) (_ file, err error) {
	if err := durable.MkdirAll(string(d), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(d.path(name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	for at := int64(0); at < size && err == nil; at += int64(len(zeros)) {
		_, err = f.WriteAt(zeros[:min(size-at, int64(len(zeros)))], at)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return osFile{f}, nil
}

type osFile struct{ *os.File }

func (f osFile) sync() error { return f.Sync() }

func (f osFile) size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
