package main

import (
	"errors"

	"github.com/dogwooddb/dogwood/tree/store"
)

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
