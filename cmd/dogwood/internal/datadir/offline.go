package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/dogwooddb/dogwood/tree/store"
)

// OfflineFlags let a command work on the data directory itself.
type OfflineFlags struct {
	Data string `group:"Server" help:"Work on this data directory, on which no server may be running, and not through a server." type:"path" env:"-" placeholder:"DIR"`
}

// A namespace is also the name of a file.
var namespaceName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)

// DataFile returns the data file of a database, "" for the one that serve creates.
func (f *OfflineFlags) DataFile(ns string) (string, error) { return DataFile(f.Data, ns) }

// DataFile returns the name of the data file of a database.
func DataFile(dir, ns string) (string, error) {
	if ns == "" {
		ns = "default"
	}
	if err := CheckName("--namespace", ns); err != nil {
		return "", err
	}
	return filepath.Join(dir, ns+".db"), nil
}

// CheckName refuses a value of a flag that no database can have as its name.
func CheckName(flag, ns string) error {
	if len(ns) > 63 || !namespaceName.MatchString(ns) {
		return fmt.Errorf("%s %s: not the name of a database: small letters, digits and hyphens", flag, ns)
	}
	return nil
}

// ReadStore calls use with the store of a database, which it locks and opens for reading.
func (f *OfflineFlags) ReadStore(ns string, use func(*store.Store) error) (err error) {
	return f.read(ns, store.Options{ReadOnly: true}, use)
}

// ReadLog is ReadStore for a store whose log is read.
func (f *OfflineFlags) ReadLog(ns string, use func(*store.Store) error) (err error) {
	return f.read(ns, store.Options{ReadOnly: true, ReadLog: true}, use)
}

func (f *OfflineFlags) read(ns string, o store.Options, use func(*store.Store) error) (err error) {
	file, err := f.DataFile(ns)
	if err != nil {
		return err
	}
	lock, err := lockToRead(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	s, err := openThere(file, o)
	if err != nil {
		return err
	}
	return errors.Join(use(s), s.Close())
}

// openThere opens a data file that is there.
func openThere(file string, o store.Options) (*store.Store, error) {
	if _, err := os.Stat(file); err != nil {
		return nil, err
	}
	s, err := store.Open(file, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, ExplainOpen(err))
	}
	return s, nil
}

// OpenOrMake opens a data file in a directory that is there. made reports that it was not there before.
func OpenOrMake(file string) (s *store.Store, made bool, err error) {
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		s, err := openThere(file, store.Options{})
		return s, false, err
	}
	if s, err = store.Open(file, store.Options{}); err != nil {
		return nil, false, fmt.Errorf("%s: %w", file, ExplainOpen(err))
	}
	return s, true, nil
}

// RemoveIf removes a file, if it should not be there.
func RemoveIf(wrong bool, file string) error {
	if !wrong {
		return nil
	}
	return os.Remove(file)
}
