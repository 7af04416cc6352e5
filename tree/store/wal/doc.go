// Package wal is a write-ahead log in segment files. A record is on the disk when
// [Log.Append] returns, at the cost of one sync, which records that are appended at the same
// time share. The log knows nothing of what its records mean.
//
// A [Record] belongs to a database, and has a number. Numbers ascend over all databases of
// the log; a number is never used twice, so that there are gaps behind records that failed.
// A database releases its records when what they say is durable somewhere else. A segment
// whose records are all released is filled again: a sync of bytes that the file has already
// writes no metadata.
//
// # After a crash
//
// [Open] finds every record whose Append returned nil. Records that were being written at
// the crash are there or not; those of one Append are whole or absent. Damage in front of
// the last record that was acknowledged is an error and never a shorter log: each record
// says up to which number everything was on the disk when it was written, so a record that
// is unreadable and in front of such a statement was damaged and not torn. A log that has
// been idle for a moment ends with a mark that makes this statement for its last record.
//
// Like most databases, the log relies on disks that write sectors of 512 bytes without
// changing bytes that stay the same.
//
// A file that needs the log says which record it has last, and the log says of each database
// with such a file which one it has last ([Log.Need], [Log.State]). Each segment begins with
// that. So a log is refused that lacks what the file needs, because it is older, newer, or
// that of a copied directory. A file and a log that were copied together at different moments
// do not fit.
//
// # Failed writes
//
// A sync that fails says nothing about the disk and is not asked again. The records fail
// with [ErrUnsettled], and the log takes no more until [Log.Renew] has begun a segment which
// says that they are void. From then on they are refused for good.
//
// The methods of a Log may be called by several goroutines at once.
package wal
