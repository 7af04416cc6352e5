// Package logdir finds the log that a file needs, and what logs keep for files that are away.
package logdir

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/dogwooddb/dogwood/tree/store/logged"
	"github.com/dogwooddb/dogwood/tree/store/wal"
)

// Of returns the directory of the log that all databases of a data directory share.
func Of(dir string) string { return filepath.Join(dir, "log") }

// OfFile returns the directory of the log of a file that has one of its own.
func OfFile(file string) string { return file + ".log" }

// Find returns the directory that has the log of a file, or the kept commits of the file. The
// error wraps [logged.ErrOtherLog] if there is neither.
//
// A log that is there is preferred to kept commits: it has them as long as it has not moved
// them into a kept file.
func Find(file string, place logged.Place) (dir string, kept bool, err error) {
	dirs := []string{Of(filepath.Dir(file)), OfFile(file)}
	for _, dir := range dirs {
		if found, err := wal.Owner(dir); err != nil || found == place.Log {
			return dir, false, err
		}
	}
	for _, dir := range dirs {
		if _, _, found, err := wal.KeptIn(dir).Find(place.Log, place.Database); err != nil || found {
			return dir, true, err
		}
	}
	name := wal.Kept{Owner: place.Log, Database: place.Database}.Name()
	return "", false, fmt.Errorf("%w: it was not closed, and its last commits are in log %016x, which is neither in %s nor in %s: put the log back, or the file %s of its directory, or restore a backup",
		logged.ErrOtherLog, place.Log, dirs[0], dirs[1], name)
}

// Lost reports whether an error is of a file that cannot get its last commits: their log is gone or
// damaged, or does not fit the file.
func Lost(err error) bool {
	for _, lost := range []error{logged.ErrOtherLog, logged.ErrGone, logged.ErrUnfit, wal.ErrDamaged} {
		if errors.Is(err, lost) {
			return true
		}
	}
	return false
}

// A Kept is a file in the directory of a log with the last commits of a database whose file
// was missing or could not be opened.
type Kept struct {
	File         string
	Since, Until time.Time
	GivenUp      bool // at a bound; then Until is zero
}

// KeptIn returns the kept files of a data directory.
func KeptIn(dir string) (list []Kept, err error) {
	all, err := wal.KeptIn(Of(dir)).List()
	for _, k := range all {
		kept := Kept{File: filepath.Join(Of(dir), k.Name()), Since: k.Since}
		switch k.State {
		case wal.KeptRecords:
			kept.Until = k.Until()
		case wal.KeptGivenUp:
			kept.GivenUp = true
		default:
			continue
		}
		list = append(list, kept)
	}
	return list, err
}
