package store

import (
	"encoding/binary"
	"errors"
	"iter"
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

// Journal appends the record of a commit and drops the oldest records beyond
// the ring's limits. Revisions must ascend.
func (tx *Tx) Journal(revision uint64, record []byte) error {
	if err := tx.put(bucketJournal, idKey(revision), record); err != nil {
		return err
	}
	tx.journaled = tx.journaled.after(journalSize{1, int64(len(record))})
	return tx.trimJournal()
}

func (tx *Tx) trimJournal() error {
	o := tx.store.options
	size := tx.store.journal.after(tx.journaled)
	over := func() bool { return size.records > o.JournalLimit || size.bytes > o.JournalBytes }
	if !over() {
		return nil
	}
	var drop [][]byte
	c := tx.kv.cursor(bucketJournal)
	for k, v := c.seek(nil); k != nil && over(); k, v = c.next() {
		drop = append(drop, append([]byte(nil), k...))
		change := journalSize{-1, -int64(len(v))}
		size, tx.journaled = size.after(change), tx.journaled.after(change)
	}
	for _, k := range drop {
		if err := tx.delete(bucketJournal, k); err != nil {
			return err
		}
	}
	return nil
}

// Commits yields the records of the commits with revisions from the given one
// on. The first error is ErrTrimmed if the journal begins later; a from beyond
// the last revision yields nothing.
func (tx *Tx) Commits(from uint64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if from > tx.state.revision {
			return
		}
		next := from
		c := tx.kv.cursor(bucketJournal)
		for k, v := c.seek(idKey(from)); k != nil; k, v = c.next() {
			if err := tx.tick(); err != nil {
				yield(Record{}, err)
				return
			}
			if binary.BigEndian.Uint64(k) != next {
				break
			}
			if !yield(Record{next, append([]byte(nil), v...)}, nil) {
				return
			}
			next++
		}
		if next <= tx.state.revision {
			yield(Record{}, ErrTrimmed)
		}
	}
}

// A Record is one entry of the journal.
type Record struct {
	Revision uint64
	Data     []byte
}

func (tx *Tx) measureJournal() journalSize {
	var size journalSize
	c := tx.kv.cursor(bucketJournal)
	for k, v := c.seek(nil); k != nil; k, v = c.next() {
		size = size.after(journalSize{1, int64(len(v))})
	}
	return size
}
