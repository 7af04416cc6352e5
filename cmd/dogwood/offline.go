package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/dogwooddb/dogwood/tree/store"
)

// offlineFlags let a command work on the data directory itself.
type offlineFlags struct {
	Data string `group:"Server" help:"Work on this data directory, on which no server may be running, and not through a server." type:"path" env:"-" placeholder:"DIR"`
}

// A namespace is also the name of a file.
var namespaceName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// file returns the data file of a database, "" for the one that serve creates.
func (f *offlineFlags) file(ns string) (string, error) { return dataFile(f.Data, ns) }

func dataFile(dir, ns string) (string, error) {
	if ns == "" {
		ns = "default"
	}
	if !namespaceName.MatchString(ns) {
		return "", fmt.Errorf("--namespace %s: not the name of a database: small letters, digits and hyphens", ns)
	}
	return filepath.Join(dir, ns+".db"), nil
}

// openThere opens a data file that is there.
func openThere(file string, o store.Options) (*store.Store, error) {
	if _, err := os.Stat(file); err != nil {
		return nil, err
	}
	s, err := store.Open(file, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, explainOpen(err))
	}
	return s, nil
}

// openOrMake opens a data file in a directory that is there. made reports that it was not there before.
func openOrMake(file string) (s *store.Store, made bool, err error) {
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		s, err := openThere(file, store.Options{})
		return s, false, err
	}
	if s, err = store.Open(file, store.Options{}); err != nil {
		return nil, false, fmt.Errorf("%s: %w", file, explainOpen(err))
	}
	return s, true, nil
}

// undo removes a file, if it should not be there.
func undo(wrong bool, file string) error {
	if !wrong {
		return nil
	}
	return os.Remove(file)
}
