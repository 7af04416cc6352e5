package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dogwooddb/dogwood/server"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/dirlock"
)

// useAlone locks the directory of a data file for a command that changes it.
func useAlone(file, command string) (*dirlock.Lock, error) {
	l, err := dirlock.Sole(filepath.Dir(file), "dogwood "+command)
	return l, explainUse(file, err)
}

// useToRead locks the directory of a data file, which must be there, for a command
// that reads it.
func useToRead(file string) (*dirlock.Lock, error) {
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

// explainStart says why a server cannot have a data directory and what to do about
// it.
func explainStart(err error) error {
	held := (*dirlock.HeldError)(nil)
	switch {
	case !errors.As(err, &held):
		return err
	case held.Use == server.LockHolder:
		return fmt.Errorf("another server is running on this directory (process %d): %s; stop it, or choose another --data", held.PID, held.Dir)
	}
	return fmt.Errorf("%s is in use by %s; wait until that has ended, or choose another --data", held.Dir, held.Holder())
}

// explainOpen says why a data file cannot be opened and what to do about it.
func explainOpen(err error) error {
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
	}
	return err
}
