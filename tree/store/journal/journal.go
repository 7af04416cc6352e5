// Package journal keeps the records of the last commits in a ring, in bucket j of a
// store. A record is in pieces: its key is the revision, that of each further piece the
// revision and a number. When the ring is full, the oldest records are dropped, a share of
// the ring at a time.
package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"iter"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// Defaults of the journal ring.
const (
	DefaultBytes = 16 << 20
	DefaultLimit = 4096
)

// ErrTrimmed is returned for a revision that the journal no longer holds.
var ErrTrimmed = errors.New("the journal no longer holds this revision")

// A Size is how much a journal holds.
type Size struct {
	Records int
	Bytes   int64
}

// After returns the size after a change.
func (s Size) After(change Size) Size {
	return Size{s.Records + change.Records, s.Bytes + change.Bytes}
}

// pieceBytes is how much of a record is in one row. bbolt puts at least two rows
// into a leaf and, when one is added, writes up to four again: two of these, with
// what belongs to them, are two pages.
const pieceBytes = 4060 - kv.SumBytes

// trimShare is the share of the journal that is dropped when it is full. Less at
// a time would make every commit change its first page, too.
const trimShare = 16

// Entries are those of the transaction that a journal is part of.
type Entries interface {
	kv.Entries
	Tick() error // is called for every piece that is read; an error ends the read
}

// A State is what a transaction knows of the journal.
type State struct {
	Revision uint64 // the last one
	Most     Size   // bound of the journal
	Size     Size   // when the transaction began
	Change   *Size  // of the size by the transaction
}

// A Journal is the ring of the records of the last commits.
type Journal struct {
	entries Entries
	state   State
}

// Of returns the journal as of a transaction.
func Of(e Entries, s State) Journal { return Journal{e, s} }

// Append appends the record of a commit and drops the oldest records if the ring
// is full. Revisions must ascend. The record must not change before the
// transaction ends.
func (j Journal) Append(revision uint64, record []byte) error {
	*j.state.Change = j.state.Change.After(Size{1, int64(len(record))})
	for key := revisionKey(revision); ; {
		piece := record[:min(len(record), pieceBytes)]
		if err := j.entries.Put(kv.Journal, key, piece); err != nil {
			return err
		}
		if record = record[len(piece):]; len(record) == 0 {
			return j.trim(revision)
		}
		key = nextPiece(key)
	}
}

// nextPiece returns the key of what follows in the same record. The first piece
// has the revision for its key, the others a number, too.
func nextPiece(key []byte) []byte {
	n := uint32(1)
	if len(key) > 8 {
		n = binary.BigEndian.Uint32(key[8:]) + 1
	}
	return binary.BigEndian.AppendUint32(key[:8:8], n)
}

// trim makes room in a journal that is full. The newest record stays.
func (j Journal) trim(newest uint64) error {
	most := j.state.Most
	size := j.state.Size.After(*j.state.Change)
	if !size.exceeds(most) {
		return nil
	}
	most.Records -= most.Records / trimShare
	most.Bytes -= most.Bytes / trimShare
	var drop [][]byte
	c := j.entries.Cursor(kv.Journal)
	for k, v := c.Seek(nil); k != nil && binary.BigEndian.Uint64(k) != newest; k, v = c.Next() {
		if len(k) == 8 && !size.exceeds(most) {
			break
		}
		change := Size{0, -int64(len(v))}
		if len(k) == 8 {
			change.Records = -1
		}
		drop = append(drop, bytes.Clone(k))
		size, *j.state.Change = size.After(change), j.state.Change.After(change)
	}
	if err := c.Err(); err != nil {
		return err
	}
	for _, k := range drop {
		if err := j.entries.Delete(kv.Journal, k); err != nil {
			return err
		}
	}
	return nil
}

// exceeds reports whether s is more than most in any way.
func (s Size) exceeds(most Size) bool {
	return s.Records > most.Records || s.Bytes > most.Bytes
}

// Since yields the records of the commits with revisions from the given one
// on. The first error is ErrTrimmed if the journal begins later; a from beyond
// the last revision yields nothing.
func (j Journal) Since(from uint64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if from > j.state.Revision {
			return
		}
		next := from
		c := j.entries.Cursor(kv.Journal)
		for k, v := c.Seek(revisionKey(from)); k != nil; {
			if binary.BigEndian.Uint64(k) != next {
				break
			}
			r := Record{Revision: next}
			for ; k != nil && binary.BigEndian.Uint64(k) == next; k, v = c.Next() {
				if err := j.entries.Tick(); err != nil {
					yield(Record{}, err)
					return
				}
				r.Data = append(r.Data, v...)
			}
			if c.Err() != nil {
				break
			}
			if !yield(r, nil) {
				return
			}
			next++
		}
		if err := c.Err(); err != nil {
			yield(Record{}, err)
			return
		}
		if next <= j.state.Revision {
			yield(Record{}, ErrTrimmed)
		}
	}
}

// A Record is one entry of the journal.
type Record struct {
	Revision uint64
	Data     []byte
}

// measure returns what the journal holds.
func measure(tx kv.Tx) (size Size, err error) {
	c := tx.Cursor(kv.Journal)
	for k, v := c.Seek(nil); k != nil; k, v = c.Next() {
		piece := Size{0, int64(len(v))}
		if len(k) == 8 {
			piece.Records = 1
		}
		size = size.After(piece)
	}
	return size, c.Err()
}

// Open measures the journal of a store that is opened. If it is damaged it is dropped, as
// one that was trimmed: it only repeats what the rows say, and should not keep a database
// closed.
func Open(tx kv.Tx) (size Size, err error) {
	size, err = measure(tx)
	t, ok := kv.FileOf(tx)
	if !ok || !errors.Is(err, kv.ErrDamaged) {
		return size, err
	}
	var keys [][]byte
	err = t.Scan(kv.Journal, func(k, _ []byte, _ bool) { keys = append(keys, bytes.Clone(k)) })
	if err != nil {
		return Size{}, err
	}
	for _, k := range keys {
		if err := t.Delete(kv.Journal, k); err != nil {
			return Size{}, err
		}
	}
	return Size{}, nil
}

// Checker returns a function that is to be called with the keys of the journal in their
// order, and reports a record that lacks a piece before another.
func Checker(report func(format string, args ...any)) func(key []byte) {
	var want []byte // key of the next piece of the record
	return func(k []byte) {
		if len(k) != 8 && !bytes.Equal(k, want) {
			report("journal: a piece is missing before %x", k)
			want = nil
			return
		}
		want = nextPiece(k)
	}
}

func revisionKey(revision uint64) []byte { return binary.BigEndian.AppendUint64(nil, revision) }
