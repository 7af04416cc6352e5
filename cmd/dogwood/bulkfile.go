package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// writeBulk makes a file of what emit writes, without changing a byte. An
// existing file is replaced when all of it is on the disk.
func writeBulk(name string, emit func(io.Writer) error) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0) // a device or a pipe
		if err != nil {
			return err
		}
		return errors.Join(emit(f), f.Close())
	}
	return placeFile(name, emit, func(string) error { return nil })
}

// placeFile writes to a file beside the one with the given name, has it
// checked, and puts it in place. Whatever fails, nothing is left of it.
func placeFile(name string, emit func(io.Writer) error, check func(part string) error) error {
	if err := directoryOf(name); err != nil {
		return err
	}
	part := name + store.PartSuffix
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
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
		return errors.Join(err, undo(true, part))
	}
	return nil
}

// directoryOf refuses a name in a directory that is not there, which is more often a
// slip of the pen than one that is missing.
func directoryOf(name string) error {
	dir := filepath.Dir(name)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: there is no directory %s", name, dir)
	}
	return nil
}

// uncompressedHere asks a server on this machine not to compress its answer.
func (c *client) uncompressedHere(r *http.Request) {
	if isLoopback(c.base.Hostname()) {
		r.Header.Set("Accept-Encoding", "identity")
	}
}
