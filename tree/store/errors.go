package store

import (
	"errors"

	"github.com/dogwooddb/dogwood/tree/store/durable"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// Errors of files. See package kv.
var (
	ErrLocked   = kv.ErrLocked   // in use by another process, or opened twice
	ErrForeign  = kv.ErrForeign  // not a Dogwood database
	ErrDamaged  = kv.ErrDamaged  // damaged or truncated
	ErrFormat   = kv.ErrFormat   // written by another version of Dogwood
	ErrReplaced = kv.ErrReplaced // the file was removed, renamed or replaced while it was open
	ErrUnknown  = kv.ErrUnknown  // after a restart the file may have the commit or not
	ErrFailed   = kv.ErrFailed   // a commit could neither be completed nor taken back
)

// ErrMoved is wrapped, with ErrUnknown, by a commit during which the file was removed, renamed or
// replaced: whether the file with the name has it is unknown. The store does have it, and goes on
// from it, so what follows its commits in memory must do the same.
var ErrMoved = errors.New("the file was moved during the commit")

// ErrReadOnly is returned for writes to a store that is only read: it was opened so,
// or its file system is read-only.
var ErrReadOnly = errors.New("the database is read-only")

// ErrLong is returned for a read that is not brief, of a transaction in which reads have to
// be. See Tx.Brief.
var ErrLong = errors.New("the read takes long")

// ErrNoFile is returned for what only a store in a file can do.
var ErrNoFile = errors.New("the database is kept in memory")

// ErrNotApplied is returned for a copy of a file that is only read and was not closed: it
// lacks what is in the log.
var ErrNotApplied = errors.New("the last commits are in the log and not in the file: start a server on the directory once, which puts them there")

// Files that a restore makes beside a data file. See RemainsError.
const (
	PartSuffix = kv.PartSuffix // ends the name of one that is not complete
	KeptSuffix = kv.KeptSuffix // comes before the time at which it was replaced
)

// A RemainsError says that a data file is missing whose restore did not finish.
type RemainsError = kv.RemainsError

// NoRoom reports whether a write failed because the disk takes nothing more.
func NoRoom(err error) bool { return durable.NoRoom(err) }

// NoRoomCause says to administrators why the disk takes nothing more, "" if an error is not
// of NoRoom.
func NoRoomCause(err error) string { return durable.NoRoomCause(err) }
