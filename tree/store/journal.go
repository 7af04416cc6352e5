package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"iter"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// Defaults of the journal ring.
const (
	DefaultJournalBytes = 16 << 20
	DefaultJournalLimit = 4096
)

// ErrTrimmed is returned for a revision that the journal no longer holds.
var ErrTrimmed = errors.New("the journal no longer holds this revision")

// journalSize is what the journal ring holds.
type journalSize struct {
	records int
	bytes   int64
}

func (j journalSize) after(change journalSize) journalSize {
	return journalSize{j.records + change.records, j.bytes + change.bytes}
}

// pieceBytes is how much of a record is in one row. bbolt puts at least two rows
// into a leaf and, when one is added, writes up to four again: two of these, with
// what belongs to them, are two pages.
const pieceBytes = 4060 - kv.SumBytes

// trimShare is the share of the journal that is dropped when it is full. Less at
// a time would make every commit change its first page, too.
const trimShare = 16

// A Journal is the ring of the records of the last commits.
type Journal struct{ tx *Tx }

// Journal returns the journal as of the transaction.
func (tx *Tx) Journal() Journal { return Journal{tx} }

// Append appends the record of a commit and drops the oldest records if the ring
// is full. Revisions must ascend. The record must not change before the
// transaction ends.
func (j Journal) Append(revision uint64, record []byte) error {
	j.tx.journaled = j.tx.journaled.after(journalSize{1, int64(len(record))})
	for key := idKey(revision); ; {
		piece := record[:min(len(record), pieceBytes)]
		if err := j.tx.put(kv.Journal, key, piece); err != nil {
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
	most := journalSize{j.tx.store.options.JournalLimit, j.tx.store.options.JournalBytes}
	size := j.tx.store.journal.after(j.tx.journaled)
	if !size.exceeds(most) {
		return nil
	}
	most.records -= most.records / trimShare
	most.bytes -= most.bytes / trimShare
	var drop [][]byte
	c := j.tx.kv.Cursor(kv.Journal)
	for k, v := c.Seek(nil); k != nil && binary.BigEndian.Uint64(k) != newest; k, v = c.Next() {
		if len(k) == 8 && !size.exceeds(most) {
			break
		}
		change := journalSize{0, -int64(len(v))}
		if len(k) == 8 {
			change.records = -1
		}
		drop = append(drop, bytes.Clone(k))
		size, j.tx.journaled = size.after(change), j.tx.journaled.after(change)
	}
	if err := c.Err(); err != nil {
		return err
	}
	for _, k := range drop {
		if err := j.tx.delete(kv.Journal, k); err != nil {
			return err
		}
	}
	return nil
}

// exceeds reports whether j is more than most in any way.
func (j journalSize) exceeds(most journalSize) bool {
	return j.records > most.records || j.bytes > most.bytes
}

// Since yields the records of the commits with revisions from the given one
// on. The first error is ErrTrimmed if the journal begins later; a from beyond
// the last revision yields nothing.
func (j Journal) Since(from uint64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if from > j.tx.state.revision {
			return
		}
		next := from
		c := j.tx.kv.Cursor(kv.Journal)
		for k, v := c.Seek(idKey(from)); k != nil; {
			if binary.BigEndian.Uint64(k) != next {
				break
			}
			r := Record{Revision: next}
			for ; k != nil && binary.BigEndian.Uint64(k) == next; k, v = c.Next() {
				if err := j.tx.tick(); err != nil {
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
		if next <= j.tx.state.revision {
			yield(Record{}, ErrTrimmed)
		}
	}
}

// A Record is one entry of the journal.
type Record struct {
	Revision uint64
	Data     []byte
}

func (j Journal) measure() (size journalSize, err error) {
	c := j.tx.kv.Cursor(kv.Journal)
	for k, v := c.Seek(nil); k != nil; k, v = c.Next() {
		piece := journalSize{0, int64(len(v))}
		if len(k) == 8 {
			piece.records = 1
		}
		size = size.after(piece)
	}
	return size, c.Err()
}

// open measures the journal. If it is damaged it is dropped, as one that was
// trimmed: it only repeats what the rows say, and should not keep a database closed.
func (j Journal) open() (size journalSize, err error) {
	size, err = j.measure()
	t, ok := kv.FileOf(j.tx.kv)
	if !ok || !errors.Is(err, ErrDamaged) {
		return size, err
	}
	var keys [][]byte
	err = t.Scan(kv.Journal, func(k, _ []byte, _ bool) { keys = append(keys, bytes.Clone(k)) })
	if err != nil {
		return journalSize{}, err
	}
	for _, k := range keys {
		if err := t.Delete(kv.Journal, k); err != nil {
			return journalSize{}, err
		}
	}
	return journalSize{}, nil
}

// journal checks that no piece of a record is missing before another.
func (c *checker) journal() {
	var want []byte // key of the next piece of the record
	c.each(kv.Journal, func(k []byte) {
		if len(k) != 8 && !bytes.Equal(k, want) {
			c.report("journal: a piece is missing before %x", k)
			want = nil
			return
		}
		want = nextPiece(k)
	})
}
