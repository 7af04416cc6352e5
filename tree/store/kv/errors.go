package kv

import (
	"errors"
	"fmt"
)

// ErrFormat is returned for a file of another format version.
var ErrFormat = errors.New("written by another version of Dogwood")

// A damageError says which entry is damaged. It is an [ErrDamaged].
type damageError struct{ entry, what string }

func (e *damageError) Error() string {
	return fmt.Sprintf("%v: %s: %s", ErrDamaged, e.entry, e.what)
}

func (e *damageError) Unwrap() error { return ErrDamaged }

// Errors of a disk that fails.
var (
	// ErrUnknown is returned by a commit that failed and could not be taken back:
	// after a restart the file may have it or not.
	ErrUnknown = errors.New("it is unknown whether the commit is on disk")
	// ErrFailed is returned for every transaction after such a commit, until it
	// could be taken back.
	ErrFailed = errors.New("the disk failed during a commit, and the file cannot be used until a sync succeeds again: " +
		"look at the disk and its file system, then restart if this goes on")
)

// Errors of opening a file.
var (
	ErrLocked  = errors.New("in use by another process, or opened twice")
	ErrForeign = errors.New("not a Dogwood database")
	ErrDamaged = errors.New("damaged or truncated")
)

// guarded calls f and turns a panic of bbolt over damaged pages into an error.
func guarded(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, r)
		}
	}()
	return f()
}
