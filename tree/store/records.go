package store

import (
	"github.com/dogwooddb/dogwood/tree/store/dedup"
	"github.com/dogwooddb/dogwood/tree/store/kept"
	"github.com/dogwooddb/dogwood/tree/store/kv"
	"github.com/dogwooddb/dogwood/tree/store/logged"
)

// A WriteID names one write of one client, by which it is recognized when it is sent
// again.
type WriteID = dedup.ID

// Bounds of what is kept of writes.
const (
	DefaultWriterLimit = dedup.DefaultLimit
	MaxWriteNumber     = dedup.MaxNumber
	WriterLife         = dedup.WriterLife
)

// Dedup returns the writes on record as of the transaction.
//
// The record of an id is written in the transaction of the write that has it.
// Either both are durable or neither is: a write that is sent again is carried
// out exactly if it was not.
func (tx *Tx) Dedup() dedup.Writes { return dedup.Of(entries{tx}, tx.store.options.WriterLimit) }

// Kept returns the rows of declared data as of a transaction.
func Kept(tx *Tx) kept.Rows { return kept.Of(entries{tx}, tx.NoteKept) }

// Declare has the file say that there is a data document, durably: versions of Dogwood that
// apply none refuse it from then on. It must come before the commit of the document.
func Declare(s *Store) error {
	set := func(k kv.Tx) error {
		_, err := kv.SetDeclared(k)
		return err
	}
	if s.logged != nil {
		return logged.Aside(s.logged, 0, set)
	}
	mark, err := s.kv.Begin(true)
	if err != nil {
		return err
	}
	defer mark.Rollback()
	changed, err := kv.SetDeclared(mark)
	if err != nil || !changed {
		return err
	}
	return mark.Commit()
}

// entries are those of a transaction for packages that know nothing of the tree. It
// counts what they read and write.
type entries struct{ tx *Tx }

func (e entries) Get(b kv.Bucket, key []byte) ([]byte, error) { return e.tx.get(b, key) }
func (e entries) Put(b kv.Bucket, key, value []byte) error    { return e.tx.put(b, key, value) }
func (e entries) Delete(b kv.Bucket, key []byte) error        { return e.tx.delete(b, key) }
func (e entries) Cursor(b kv.Bucket) kv.Cursor                { return e.tx.kv.Cursor(b) }
