package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/dogwooddb/dogwood/tree/store"
)

// probe opens and closes the databases that a server is about to serve, so that
// what is wrong with them is said when the server starts and not to the first
// client.
func probe(dir string, names []string) error {
	for _, name := range names {
		s, err := store.Open(filepath.Join(dir, name+".db"), store.Options{})
		if errors.Is(err, store.ErrLocked) {
			return fmt.Errorf("another server is running on %s; stop it, or choose another --data", dir)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(dir, name+".db"), explainOpen(err))
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	return nil
}

// explainOpen says why a data file cannot be opened and what to do about it.
func explainOpen(err error) error {
	switch {
	case errors.Is(err, store.ErrLocked):
		return errors.New("a server is running on it; stop the server first, or take a copy")
	case errors.Is(err, store.ErrForeign):
		return errors.New("not a Dogwood database")
	case errors.Is(err, store.ErrDamaged):
		return errors.New("damaged or truncated; restore it from a backup")
	}
	return err
}
