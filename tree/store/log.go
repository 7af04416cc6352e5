package store

import (
	"context"
	"errors"

	"github.com/dogwooddb/dogwood/tree/store/durable"
	"github.com/dogwooddb/dogwood/tree/store/kv"
	"github.com/dogwooddb/dogwood/tree/store/logdir"
	"github.com/dogwooddb/dogwood/tree/store/logged"
)

// LogDir returns the directory of the log that all databases of a data directory share.
func LogDir(dir string) string { return logdir.Of(dir) }

// joinLog puts a log in front of the file: that of the options, or the one that has commits
// that the file lacks.
func (s *Store) joinLog() error {
	if s.bolt == nil {
		return nil
	}
	place, err := logged.PlaceOf(s.bolt)
	if err != nil {
		return err
	}
	log := s.options.Log
	if log != nil && log.ReadOnly() {
		log = nil // what it has can be taken, and no more goes there
	}
	if place.Needs && (log == nil || log.Owner() != place.Log) {
		if err := s.joinOther(place); err != nil || s.options.ReadOnly {
			return err
		}
	} else if place.Needs {
		return s.putLog(log)
	}
	if s.options.ReadLog && s.options.ReadOnly && place.Log != 0 {
		if s.ownLog, err = findLog(s.file, place); err != nil {
			return err
		}
		return s.putLog(s.ownLog)
	}
	if log == nil || s.options.ReadOnly || s.bolt.Plain() {
		return nil // a file that still gets its checksums does without until it is opened again
	}
	return s.putLog(log)
}

// joinOther takes the commits that the file lacks from a log that is only read: that of the
// options, or one in the directory of the file. If there is no room for them, the file can
// only be read.
func (s *Store) joinOther(place logged.Place) (err error) {
	log := s.options.Log
	if log == nil || log.Owner() != place.Log {
		if log, err = findLog(s.file, place); err != nil {
			return err
		}
		s.ownLog = log
	}
	if err := s.putLog(log); err != nil || s.options.ReadOnly {
		return err
	}
	err = s.leaveLog()
	if durable.NoRoom(err) {
		s.options.ReadOnly = true
		return nil
	}
	return err
}

// findLog opens the log that a file needs, or what is kept of it, in the directory of the file.
func findLog(file string, place logged.Place) (*logged.Log, error) {
	dir, kept, err := logdir.Find(file, place)
	switch {
	case err != nil:
		return nil, err
	case kept:
		return logged.OpenKept(dir, place.Log), nil
	}
	return logged.OpenLog(dir, logged.LogOptions{ReadOnly: true})
}

// putLog puts a log in front of the file.
func (s *Store) putLog(log *logged.Log) (err error) {
	s.logged, err = logged.Open(s.bolt, log, logged.Options{FreezeBytes: s.options.FreezeBytes, Upkeep: s.reclaimApplied})
	if err == nil {
		s.kv = s.logged
	}
	return err
}

// leaveLog puts what a log of an earlier run has into the file, which does not need it any
// more.
func (s *Store) leaveLog() error {
	if err := s.logged.Settle(); err != nil {
		return err
	}
	s.logged.Detach()
	s.kv, s.logged = s.bolt, nil
	if s.ownLog == nil {
		return nil
	}
	err := s.ownLog.Close()
	s.ownLog = nil
	return err
}

// LeaveLog has a file that needs no log, such as a backup that is restored, belong to none. So
// its commits are not taken for those of the database that it is a copy of.
func LeaveLog(file string) (err error) {
	if database, _, err := InLog(file); database == 0 || err != nil {
		return err
	}
	k, err := kv.OpenFile(file, kv.FileOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.Close()) }()
	return logged.Leave(k)
}

// InLog returns which database of a log a file is, 0 if it was never in one, and whether its
// last commits are in the log alone.
func InLog(file string) (database uint64, needs bool, err error) {
	place, err := PlaceInLog(file)
	return place.Database, place.Needs, err
}

// PlaceInLog returns how a file and a log belong together.
func PlaceInLog(file string) (logged.Place, error) {
	return ofFile(file, kv.FileOptions{ReadOnly: true}, logged.PlaceOf)
}

// PeekInLog is PlaceInLog that reads little of the file, however large that is, and does not verify
// the rest.
func PeekInLog(file string) (logged.Place, error) {
	return ofFile(file, kv.FileOptions{ReadOnly: true, Peek: true}, logged.PlaceOf)
}

// DatabaseOf returns the random id of the database that a file is of, 0 for one that had no commit.
// A copy has the same, and so has what becomes of one that is restored. It reads as much as PeekInLog.
func DatabaseOf(file string) (uint64, error) {
	return ofFile(file, kv.FileOptions{ReadOnly: true, Peek: true}, logged.OriginOf)
}

func ofFile[T any](file string, o kv.FileOptions, read func(*kv.File) (T, error)) (t T, err error) {
	k, err := kv.OpenFile(file, o)
	if err != nil {
		return t, err
	}
	defer k.Close()
	return read(k)
}

// LacksLog reports whether a file needs a log that is not there, nor what is kept of it.
func LacksLog(file string, place logged.Place) bool {
	if !place.Needs {
		return false
	}
	_, _, err := logdir.Find(file, place)
	return errors.Is(err, logged.ErrOtherLog)
}

// Logged reports whether commits go to a log, which has their changes.
func (s *Store) Logged() bool { return s.logged != nil && !s.options.ReadOnly }

// Database returns the random id of the database in its log, 0 if it has none. A restored or
// copied database has another one.
func (s *Store) Database() uint64 {
	if s.logged == nil {
		return 0
	}
	return s.logged.Database()
}

// SetChange gives the commit what clients can observe of it, in the form of package entry, for
// the log. It must stay as it is until the commit.
func (tx *Tx) SetChange(entries []byte) {
	if t, ok := tx.kv.(*logged.Tx); ok {
		t.SetChange(entries)
	}
}

// Tail returns the entries of the log from a revision on, 0: from the oldest that there is.
// The error wraps ErrTrimmed if the log does not have them, and ErrNoLog if there is no log.
// The first entry may tell, too, that earlier ones are gone.
func (s *Store) Tail(from uint64) (*Tail, error) {
	if s.logged == nil {
		return nil, ErrNoLog
	}
	known := uint64(0)
	if err := s.View(func(tx *Tx) error { known = tx.Revision(); return nil }); err != nil {
		return nil, err
	}
	return logged.NewTail(s.logged, from, known)
}

// A Tail reads the log of a database.
type Tail = logged.Tail

// Errors of Tail.
var (
	ErrNoLog   = errors.New("the database has no log")
	ErrTrimmed = logged.ErrTrimmed
)

// Room waits until a commit of about so many bytes can come without those behind it having to
// wait for its being put into the file. left must be called when it has come, or does not. The
// error is that of the context.
func (s *Store) Room(ctx context.Context, bytes int64) (left func(), err error) {
	if s.logged == nil {
		return func() {}, nil
	}
	return s.logged.Room(ctx, bytes)
}

// Idle reports whether the file has all that was committed, and nothing goes on in the
// background of the log.
func (s *Store) Idle() bool { return s.logged == nil || logged.Idle(s.logged) }
