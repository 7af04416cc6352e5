package disk

import (
	"fmt"
	"os"
	"path/filepath"
)

// A Watcher is a disk on which others can remove or replace files.
//
// It is a stat when a record is written and not a notification of the system:
// what counts is whether the file had its name after the sync, and a
// notification could come later than the answer.
type Watcher interface {
	// Watch returns a function that says whether a file still has its name. file is nil
	// for one that is not open.
	Watch(name string, file File) (check func() error, err error)
}

// Watch is Watcher.Watch for any disk. The function returns an error if the file cannot be
// watched; it is nil on a disk that is no Watcher.
func Watch(d Disk, name string, file File) (check func() error) {
	w, ok := d.(Watcher)
	if !ok {
		return nil
	}
	check, err := w.Watch(name, file)
	if err != nil {
		return func() error { return err }
	}
	return check
}

// Watch is that of Watcher.
func (d Directory) Watch(name string, file File) (check func() error, err error) {
	path, err := filepath.Abs(d.path(name)) // the working directory may change
	if err != nil {
		return nil, err
	}
	var was os.FileInfo
	if f, ok := file.(osFile); ok {
		was, err = f.Stat()
	} else {
		was, err = os.Stat(path)
	}
	if err != nil {
		return nil, err
	}
	return func() error {
		now, err := os.Stat(path)
		if err == nil && !os.SameFile(was, now) {
			err = fmt.Errorf("%s is another file", path)
		}
		return err
	}, nil
}
