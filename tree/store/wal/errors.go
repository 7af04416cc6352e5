package wal

import (
	"errors"
	"fmt"
)

var (
	// ErrClosed is returned by a log that was closed.
	ErrClosed = errors.New("the log is closed")
	// ErrUnsettled is wrapped by the errors of records that failed while they were
	// written: until Renew returns nil, a crash may find them on the disk.
	ErrUnsettled = errors.New("it is unknown whether the record is in the log")
	// ErrFailed is wrapped by the errors of records that come behind those, and that
	// were not written.
	ErrFailed = errors.New("the log takes no records, since it could not write earlier ones")
	// ErrReplaced is wrapped if the directory of the log, or its newest file, was removed or
	// replaced while it was in use. Records fail until it is back, and Renew was called.
	ErrReplaced = errors.New("the directory of the log was removed or replaced while it was in use")
	// ErrTooLarge is returned for a record above MaxRecord.
	ErrTooLarge = errors.New("the record is too large for the log")
	// ErrFormat is wrapped for a log that a later version has written.
	ErrFormat = errors.New("the log was written by a later version")
	// ErrDamaged is wrapped by a *DamageError.
	ErrDamaged = errors.New("the log is damaged")
	// ErrTrimmed is returned to a reader of records that are not in the log any more.
	ErrTrimmed = errors.New("the records are not in the log any more")
)

// A DamageError says where a log is damaged, and what in front of it is complete.
type DamageError struct {
	Segment string // the name of its file; of the control file, if that is damaged
	At      int64  // bytes from the beginning of the file
	Last    uint64 // the number of the last record in front of the damage; 0: none
	Reason  string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%v: %s at byte %d: %s; records up to number %d are complete",
		ErrDamaged, e.Segment, e.At, e.Reason, e.Last)
}

func (e *DamageError) Unwrap() error { return ErrDamaged }
