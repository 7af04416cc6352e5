// Package datadir finds, locks, reads and replaces the files of a data directory, for
// commands that work on the files themselves.
package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dogwooddb/dogwood/server"
	"github.com/dogwooddb/dogwood/server/auth"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/dirlock"
)

// Flag says which data directory a command is about.
type Flag struct {
	Data string `help:"Directory that holds the data, ./dogwood-data if it is not given." default:"./dogwood-data" type:"path" placeholder:"DIR"`
}

// LockAlone locks the directory of a data file for a command that changes it.
func LockAlone(file, command string) (*dirlock.Lock, error) {
	l, err := dirlock.Sole(filepath.Dir(file), "dogwood "+command)
	return l, explainUse(file, err)
}

// lockToRead locks the directory of a data file, which must be there, for a command
// that reads it.
func lockToRead(file string) (*dirlock.Lock, error) {
	if _, err := os.Stat(file); err != nil {
		return nil, err
	}
	l, err := dirlock.Shared(filepath.Dir(file))
	return l, explainUse(file, err)
}

// explainUse says what uses the directory of a data file and what to do about it.
func explainUse(file string, err error) error {
	held := (*dirlock.HeldError)(nil)
	switch {
	case !errors.As(err, &held):
		return err
	case held.Use == server.LockHolder:
		return fmt.Errorf("%s: a server is running on it; stop the server first, or take a copy (process %d)", file, held.PID)
	}
	return fmt.Errorf("%s: its directory is in use by %s; wait until that has ended", file, held.Holder())
}

// ExplainStart says why a server cannot have a data directory, or does not start for another
// reason, and what to do about it.
func ExplainStart(dir string, err error) error {
	held := (*dirlock.HeldError)(nil)
	switch {
	case errors.Is(err, auth.ErrKeySet):
		return fmt.Errorf("--jwks: %w", err)
	case !errors.As(err, &held):
		return ExplainFlag(dir, err)
	case held.Use == server.LockHolder:
		return fmt.Errorf("another server is running on this directory (process %d): %s; stop it, or choose another --data", held.PID, held.Dir)
	}
	return fmt.Errorf("%s is in use by %s; wait until that has ended, or choose another --data", held.Dir, held.Holder())
}

// ExplainFlag says why the directory of --data cannot be used. Errors that are not of a file
// in it stay as they are.
func ExplainFlag(dir string, err error) error {
	info, statErr := os.Stat(dir)
	at := (*fs.PathError)(nil)
	switch {
	case !errors.As(err, &at) || dir == "":
		return err
	case statErr == nil && !info.IsDir():
		return fmt.Errorf("--data %s: not a directory", dir)
	case statErr != nil && at.Path != dir:
		return fmt.Errorf("--data %s: it cannot be created: %w", dir, at)
	case statErr != nil:
		return fmt.Errorf("--data %s: it cannot be created: %w", dir, at.Err)
	case filepath.Dir(at.Path) != dir:
		return err
	}
	if _, err := os.Stat(at.Path); errors.Is(err, fs.ErrNotExist) && errors.Is(at, fs.ErrPermission) {
		return fmt.Errorf("--data %s: not writable by user %d", dir, os.Geteuid())
	}
	if errors.Is(at, fs.ErrPermission) {
		return fmt.Errorf("--data %s: %w; this is user %d: run as the user who owns the file, or give the whole directory to this user", dir, at, os.Geteuid())
	}
	return fmt.Errorf("--data %s: %w", dir, at)
}

// ExplainOpen says why a data file cannot be opened and what to do about it.
func ExplainOpen(err error) error {
	remains := (*store.RemainsError)(nil)
	switch {
	case errors.As(err, &remains):
		return remains
	case errors.Is(err, store.ErrLocked):
		return errors.New("a server is running on it; stop the server first, or take a copy")
	case errors.Is(err, store.ErrForeign):
		return errors.New("not a Dogwood database")
	case errors.Is(err, store.ErrDamaged):
		return errors.New("damaged or truncated; restore it from a backup")
	case errors.Is(err, store.ErrFormat):
		return fmt.Errorf("%w; use that version, or restore a backup from before the upgrade", err)
	}
	return err
}

// Check refuses a directory that is not there: it is more likely misspelt than
// meant to be made.
func (f *Flag) Check() error {
	info, err := os.Stat(f.Data)
	if err == nil && !info.IsDir() {
		err = errors.New("not a directory")
	}
	if err != nil {
		return fmt.Errorf("--data %s: %w", f.Data, err)
	}
	return nil
}
