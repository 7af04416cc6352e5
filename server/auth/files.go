package auth

import (
	"errors"
	"os"
	"path/filepath"
)

// createFile makes a file that only its owner can read. It has its content as
// soon as it has its name. One that is there already is fs.ErrExist.
func createFile(file string, content []byte) error { return writeFile(file, content, os.Link) }

// replaceFile is createFile for a file that may be there already.
func replaceFile(file string, content []byte) error { return writeFile(file, content, os.Rename) }

func writeFile(file string, content []byte, publish func(from, to string) error) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".new-*") // of mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = publish(f.Name(), file)
	}
	if gone := os.Remove(f.Name()); err == nil && !errors.Is(gone, os.ErrNotExist) {
		err = gone
	}
	if err != nil {
		return err
	}
	return syncDir(dir)
}

// removeFile removes a file for good.
func removeFile(file string) error {
	if err := os.Remove(file); err != nil {
		return err
	}
	return syncDir(filepath.Dir(file))
}

// syncDir makes the names in a directory survive a power cut, where directories
// can be synced.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync()
	return d.Close()
}
