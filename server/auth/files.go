package auth

import (
	"path/filepath"

	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// The files of this package can be read by their owner only.

// createFile makes a file, and its directory. The error wraps fs.ErrExist if there
// is a file of that name.
func createFile(file string, content []byte) error {
	if err := durable.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return durable.Create(file, content, 0o600)
}

// replaceFile is createFile for a file that may exist.
func replaceFile(file string, content []byte) error {
	if err := durable.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return durable.Replace(file, content, 0o600)
}
