package store

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// PutInPlace renames a file that is complete to its final name, replacing what
// has that name, so that either of them is there after a power failure.
func PutInPlace(part, file string) error {
	if err := syncFile(part); err != nil {
		return err
	}
	if err := os.Rename(part, file); err != nil {
		return err
	}
	return syncDir(filepath.Dir(file))
}

func syncFile(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// syncDir makes a renaming durable, where that can be asked for.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
