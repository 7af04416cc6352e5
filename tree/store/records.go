package store

import (
	"github.com/dogwooddb/dogwood/tree/store/dedup"
	"github.com/dogwooddb/dogwood/tree/store/journal"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// A WriteID names one write of one client, by which it is recognized when it is sent
// again.
type WriteID = dedup.ID

// A Record is one entry of the journal.
type Record = journal.Record

// Bounds of what is kept of commits and writes.
const (
	DefaultJournalBytes = journal.DefaultBytes
	DefaultJournalLimit = journal.DefaultLimit
	DefaultWriterLimit  = dedup.DefaultLimit
	MaxWriteNumber      = dedup.MaxNumber
	WriterLife          = dedup.WriterLife
)

// ErrTrimmed is returned for a revision that the journal no longer holds.
var ErrTrimmed = journal.ErrTrimmed

// Journal returns the journal as of the transaction.
func (tx *Tx) Journal() journal.Journal {
	return journal.Of(entries{tx}, journal.State{
		Revision: tx.state.revision,
		Most:     journal.Size{Records: tx.store.options.JournalLimit, Bytes: tx.store.options.JournalBytes},
		Size:     tx.store.journal,
		Change:   &tx.journaled,
	})
}

// Dedup returns the writes on record as of the transaction.
func (tx *Tx) Dedup() dedup.Writes { return dedup.Of(entries{tx}, tx.store.options.WriterLimit) }

// entries are those of a transaction for packages that know nothing of the tree. It
// counts what they read and write.
type entries struct{ tx *Tx }

func (e entries) Get(b kv.Bucket, key []byte) ([]byte, error) { return e.tx.get(b, key) }
func (e entries) Put(b kv.Bucket, key, value []byte) error    { return e.tx.put(b, key, value) }
func (e entries) Delete(b kv.Bucket, key []byte) error        { return e.tx.delete(b, key) }
func (e entries) Cursor(b kv.Bucket) kv.Cursor                { return e.tx.kv.Cursor(b) }
func (e entries) Tick() error                                 { return e.tx.tick() }
