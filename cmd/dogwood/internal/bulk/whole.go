package bulk

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// This file reads and writes all databases of a development server.

// A Saved is where all data of a development server are between two runs of it: a directory
// as "firebase emulators:export" makes it or, if the name ends with .json or .gz, a file
// for one database.
type Saved string

// IsFile reports whether one database is saved.
func (s Saved) IsFile() bool {
	return strings.HasSuffix(string(s), ".json") || strings.HasSuffix(string(s), ".gz")
}

// Databases returns the databases that are saved. A file is for the database ns. Without any,
// the error is fs.ErrNotExist or ErrNothing.
func (s Saved) Databases(ns string) (names []string, err error) {
	sources, err := s.sources(ns)
	for _, source := range sources {
		names = append(names, source.ns)
	}
	return names, err
}

func (s Saved) sources(ns string) ([]importSource, error) {
	info, err := os.Stat(string(s))
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return firebaseSources(string(s), "")
	}
	return []importSource{{string(s), ns}}, nil
}

// Load replaces the databases of a server. It reads everything first, so that nothing is
// changed if there is a mistake.
func (s Saved) Load(e *console.Env, to client.Flags) error {
	sources, err := s.sources(to.Namespace)
	if err != nil {
		return err
	}
	for _, dry := range []bool{true, false} {
		c := &Import{DryRun: dry, Flags: to}
		for _, source := range sources {
			if _, err := c.importFile(e, tree.Path{}, source); err != nil {
				return err
			}
		}
	}
	return nil
}

// Save writes the databases of a server. It replaces an earlier export.
func (s Saved) Save(e *console.Env, from client.Flags) error {
	c := &Export{Path: "/", File: string(s), Layout: "json", Flags: from}
	if s.IsFile() {
		return c.write(e)
	}
	c.Namespace = ""
	return c.replaceAll(e)
}

// replaceDirectory gives a new directory the name of an old one, which is removed.
func replaceDirectory(part, dir string) error {
	err := exchange(part, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = os.Rename(part, dir)
	case err != nil:
		err = replaceInSteps(part, dir)
	default:
		err = os.RemoveAll(part)
	}
	return cmp.Or(err, durable.SyncDir(filepath.Dir(dir)))
}

// replaceInSteps is for file systems that cannot exchange two names. Between the steps, the
// data are in two other directories.
func replaceInSteps(part, dir string) error {
	old := dir + ".old"
	if err := os.RemoveAll(old); err != nil {
		return err
	}
	if err := os.Rename(dir, old); err != nil {
		return err
	}
	if err := os.Rename(part, dir); err != nil {
		return fmt.Errorf("%w; what was there before is in %s", err, old)
	}
	return os.RemoveAll(old)
}
