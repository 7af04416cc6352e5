// Package dropped keeps the files of databases that were dropped, until an operator purges
// them.
//
// To drop a database is to rename its file, which is one step: after a crash it is there or
// it is dropped. Nothing is deleted before it is purged, so a database that was dropped by
// mistake can be restored from its file.
//
// The write-ahead log may still have records of such a database. They are applied already,
// and belong to its random id and not to its name. So they never reach a new database of
// that name. But a start would take them for the last commits of a file that is missing, and
// keep them for it. So the log is told at the start (Settle): what a dropped file has, and,
// by an empty file with the id, what was purged.
package dropped

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/durable"
	"github.com/dogwooddb/dogwood/tree/store/logged"
)

// Names are NAME.db.dropped-TIME, and .purged-ID for a database that was purged.
const (
	mark       = ".db.dropped-"
	timeFormat = "20060102T150405Z"
	purged     = ".purged-"
)

// A File is the file of a database that was dropped.
type File struct {
	Name     string // of the file
	Database string // the name that the database had
	At       time.Time
	Bytes    int64
}

// Parse takes the name of a file apart. ok is false if it is not that of a dropped database.
func Parse(name string) (f File, ok bool) {
	database, stamp, found := strings.Cut(name, mark)
	at, err := time.Parse(timeFormat, stamp)
	if !found || err != nil || database == "" || strings.ContainsAny(database, `/\`) {
		return File{}, false
	}
	return File{Name: name, Database: database, At: at}, true
}

// Move gives the file NAME.db of a database, which is closed, the name of a dropped one. When
// it returns nil, that is on disk. After an error the file may have either name.
func Move(file string, at time.Time) (f File, err error) {
	database := strings.TrimSuffix(filepath.Base(file), ".db")
	for ; ; at = at.Add(time.Second) { // the name must be free: a file is never replaced
		f, _ = Parse(database + mark + at.UTC().Format(timeFormat))
		_, err := os.Lstat(filepath.Join(filepath.Dir(file), f.Name))
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return File{}, err
		}
	}
	info, err := os.Stat(file)
	if err != nil {
		return File{}, err
	}
	f.Bytes = info.Size()
	return f, durable.Rename(file, filepath.Join(filepath.Dir(file), f.Name))
}

// List returns the dropped databases in a directory, by name and then by time.
func List(dir string) (list []File, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		f, ok := Parse(e.Name())
		if !ok {
			continue
		}
		if info, err := e.Info(); err == nil {
			f.Bytes = info.Size()
		}
		list = append(list, f)
	}
	return list, err
}

// Purge deletes the file of a dropped database. The error wraps fs.ErrNotExist if there is
// none of that name.
func Purge(dir, name string) error {
	if _, ok := Parse(name); !ok {
		return &fs.PathError{Op: "purge", Path: name, Err: fs.ErrNotExist}
	}
	file := filepath.Join(dir, name)
	place, err := store.PlaceInLog(file)
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && place.Database != 0 { // one that is damaged can be purged, too
		err := durable.Create(filepath.Join(dir, purged+fmt.Sprintf("%016x", place.Database)), nil, 0o600)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return durable.Remove(file)
}

// Settle tells a log, which no database has joined yet, that it need not keep what it has of
// databases that were dropped. Marks of purged ones that it knows no longer are removed.
func Settle(dir string, log *logged.Log) error {
	entries, err := os.ReadDir(dir)
	errs := []error{err}
	for _, e := range entries {
		if _, ok := Parse(e.Name()); ok {
			errs = append(errs, release(filepath.Join(dir, e.Name()), log))
		}
		hex, ok := strings.CutPrefix(e.Name(), purged)
		id, err := strconv.ParseUint(hex, 16, 64)
		if !ok || err != nil {
			continue
		}
		known, err := log.Forget(id)
		if err == nil && !known {
			err = os.Remove(filepath.Join(dir, e.Name()))
		}
		errs = append(errs, err)
	}
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool { return err == nil })...)
}

func release(file string, log *logged.Log) error {
	place, err := store.PlaceInLog(file)
	if err != nil {
		return err
	}
	return log.Release(place)
}
