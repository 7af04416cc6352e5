// Package disk is the directory of a write-ahead log, as the log asks for it: files of a fixed
// size that are written in place, small files that are replaced as a whole, and names. Tests
// put disks in its place that fail, lose their power, or keep a record.
package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// A Disk is the directory of a log. When a method returns nil, its effect is durable.
//
// The log is built on these few promises alone, so tests can replace the disk by one that
// breaks off at any of them.
type Disk interface {
	List() (names []string, err error)
	Read(name string) ([]byte, error) // fs.ErrNotExist if there is none
	Replace(name string, content []byte) error
	Rename(from, to string) error
	Remove(name string) error
	Open(name string, readOnly bool) (File, error)
	Create(name string, size int64) (File, error) // with zeros; its name is not durable
}

// A File is a segment on a disk.
type File interface {
	io.ReaderAt
	io.WriterAt                         // not durable
	WriteSync(b []byte, at int64) error // durable, and what was written before
	Sync() error
	Size() (int64, error)
	io.Closer
}

// A Directory is a disk of the operating system.
type Directory string

func (d Directory) path(name string) string { return filepath.Join(string(d), name) }

// List returns the names of the files; none if there is no directory.
func (d Directory) List() (names []string, err error) {
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// Read returns the content of a file.
func (d Directory) Read(name string) ([]byte, error) { return os.ReadFile(d.path(name)) }

// Replace makes or replaces a file, and the directory if there is none.
func (d Directory) Replace(name string, content []byte) error {
	if err := durable.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	return durable.Replace(d.path(name), content, 0o600)
}

// Rename renames a file.
func (d Directory) Rename(from, to string) error {
	if err := os.Rename(d.path(from), d.path(to)); err != nil {
		return err
	}
	return durable.SyncDir(string(d))
}

// Remove removes a file.
func (d Directory) Remove(name string) error { return durable.Remove(d.path(name)) }

// Open opens a file that is there.
func (d Directory) Open(name string, readOnly bool) (File, error) {
	flag := os.O_RDWR
	if readOnly {
		flag = os.O_RDONLY
	}
	f, err := os.OpenFile(d.path(name), flag, 0)
	return osFile{f}, err
}

// zeros are written into a new segment a piece at a time.
var zeros [256 << 10]byte

// Create makes a file of zeros. An error leaves none.
func (d Directory) Create(name string, size int64) (_ File, err error) {
	if err := durable.MkdirAll(string(d), 0o700); err != nil {
		return nil, err
	}
	f, err := durable.OpenFile(d.path(name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
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

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
