package datadir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// WriteFile makes a file of what emit writes, without changing a byte. An existing file is
// replaced when all of it is on the disk, so a failure leaves it as it was.
func WriteFile(name string, mode fs.FileMode, emit func(io.Writer) error) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0) // a device or a pipe
		if err != nil {
			return err
		}
		return errors.Join(emit(f), f.Close())
	}
	return PlaceFile(name, mode, emit, func(string) error { return nil })
}

// PlaceFile writes a file under a temporary name, has it checked, and gives it its name. An
// existing file keeps its permissions, as with durable.Replace. If anything fails, PlaceFile
// removes the temporary file.
func PlaceFile(name string, mode fs.FileMode, emit func(io.Writer) error, check func(part string) error) error {
	if err := NeedDirectory(name); err != nil {
		return err
	}
	part := name + store.PartSuffix
	f, err := durable.OpenFor(name, part, os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	err = errors.Join(emit(f), f.Close())
	if err == nil {
		err = check(part)
	}
	if err == nil {
		err = durable.Rename(part, name)
	}
	if err != nil {
		return errors.Join(err, RemoveIf(true, part))
	}
	return nil
}

// NeedDirectory refuses a name in a directory that does not exist: the name is more
// likely misspelt than the directory forgotten.
func NeedDirectory(name string) error {
	dir := filepath.Dir(name)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: there is no directory %s", name, dir)
	}
	return nil
}
