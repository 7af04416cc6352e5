package kv

import (
	"errors"
	"io"
	"iter"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// compactTx is about how many bytes CompactTo writes in a transaction.
const compactTx = 4 << 20

// CompactTo writes a copy into a new file, without the space that deleted entries have
// left.
func (k *boltKV) CompactTo(file string) error {
	dst, err := bolt.Open(file, 0o600, &bolt.Options{NoFreelistSync: true, NoSync: true, OpenFile: durable.OpenFile})
	if err != nil {
		return err
	}
	err = bolt.Compact(dst, k.db, compactTx)
	if err == nil {
		err = dst.Sync()
	}
	return errors.Join(err, dst.Close())
}

// FreeBytes returns how much of the file the next writes can use, or readers still hold.
func (k *boltKV) FreeBytes() int64 {
	stats := k.db.Stats()
	return int64(stats.FreePageN+stats.PendingPageN) * int64(k.db.Info().PageSize)
}

// WriteTime returns how long all commits so far took to write to the file and to sync
// it. It never blocks.
func (k *boltKV) WriteTime() time.Duration {
	stats := k.db.Stats()
	return stats.TxStats.GetWriteTime()
}

// WriteTo writes the file as of the transaction to w.
func (t *boltTx) WriteTo(w io.Writer) (size int64, err error) { return t.tx.WriteTo(w) }

// Size returns how many bytes WriteTo writes.
func (t *boltTx) Size() int64 { return t.tx.Size() }

// CheckPages yields what is wrong with the pages of the file. The list of free pages is
// that of the last commit, so no write transaction may run meanwhile.
func (t *boltTx) CheckPages() iter.Seq[error] {
	return func(yield func(error) bool) {
		found := t.tx.Check()
		defer func() {
			for range found { // else bbolt's goroutine would wait for ever
			}
		}()
		for err := range found {
			if !yield(err) {
				return
			}
		}
	}
}
