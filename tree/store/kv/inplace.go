package kv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"
)

// ErrReplaced is returned for writes after the open file was removed, renamed or
// replaced: what they store would be gone when the file is closed. Writes go on if
// the file comes back.
var ErrReplaced = errors.New("the data file was removed or replaced while it was in use")

// Files that a restore makes beside a data file. See RemainsError.
const (
	PartSuffix = ".part"      // ends the name of one that is not complete
	KeptSuffix = ".replaced-" // comes before the time at which it was replaced
)

// A RemainsError says that a data file is missing whose restore did not finish.
type RemainsError struct{ Remains []string }

func (e *RemainsError) Error() string {
	return fmt.Sprintf("the file is missing, but the remains of a restore are there: %s; run dogwood restore again, or give a kept file its name back; to begin with an empty database, move them away",
		strings.Join(e.Remains, ", "))
}

// noRemains returns a RemainsError for a missing file that a restore has left
// something of. A new database there would hide that data are missing.
func noRemains(file string) error {
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		return err
	}
	base := filepath.Base(file)
	var found []string
	for _, e := range entries {
		if e.Name() == base+PartSuffix || strings.HasPrefix(e.Name(), base+KeptSuffix) {
			found = append(found, e.Name())
		}
	}
	if len(found) == 0 {
		return nil
	}
	slices.Sort(found)
	return &RemainsError{found}
}

// An openedFile is the file that bbolt has open, and where it should be.
type openedFile struct {
	name string // absolute: the working directory may change
	info os.FileInfo
}

// watched makes options note which file bbolt opens.
func (p *openedFile) watched(o *bolt.Options) *bolt.Options {
	open := o.OpenFile
	if open == nil {
		open = os.OpenFile
	}
	o.OpenFile = func(name string, flag int, perm os.FileMode) (*os.File, error) {
		f, err := open(name, flag, perm)
		if err != nil || p.info != nil { // a copy for a backup is opened later
			return f, err
		}
		if p.info, err = f.Stat(); err == nil {
			p.name, err = filepath.Abs(name)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	}
	return o
}

// check returns ErrReplaced if the file with the name is not the open one.
func (p *openedFile) check() error {
	now, err := os.Stat(p.name)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrReplaced, err)
	}
	if !os.SameFile(now, p.info) {
		return fmt.Errorf("%w: %s is another file", ErrReplaced, p.name)
	}
	return nil
}
