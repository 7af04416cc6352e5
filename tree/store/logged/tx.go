package logged

import (
	"errors"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// A Tx is a transaction of a Store. It belongs to one goroutine.
//
// Its writes are in own, in memory, until the commit: the file and other
// transactions see nothing of it, and a rollback forgets it. The writer's own
// layer is the first of Layers, so it reads what it has written.
type Tx struct {
	kv.Layered
	store    *Store
	writable bool
	dense    bool
	ended    bool
	epoch    uint64
	own      kv.Layer
	change   []byte
}

// Put puts an entry.
func (t *Tx) Put(b kv.Bucket, key, value []byte) error {
	t.own.Put(b, key, value)
	return nil
}

// Delete deletes an entry, if there is one.
func (t *Tx) Delete(b kv.Bucket, key []byte) error {
	t.own.Delete(b, key)
	return nil
}

// Dense says that the transaction writes much in the order of keys. Here it also goes past the
// log: its commit is one of the file.
func (t *Tx) Dense() { t.dense = true }

// SetChange gives the commit what clients can observe of it, in the form of package entry.
// It must stay as it is until the end of the transaction.
func (t *Tx) SetChange(entries []byte) { t.change = entries }

// Cursor returns a cursor of a bucket.
func (t *Tx) Cursor(b kv.Bucket) kv.Cursor { return t.Layered.Cursor(b, nil) }

// File returns the transaction of the file, which lacks what is in the layers.
func (t *Tx) File() kv.Tx { return t.Base }

var errEnded = errors.New("commit of a transaction that does not write, or has ended")

// Commit makes the writes durable and visible. After an error none of them is, unless the
// error is kv.ErrUnknown.
func (t *Tx) Commit() error {
	if !t.writable || t.ended {
		return errEnded
	}
	defer t.Rollback()
	if t.own.Empty() && len(t.change) == 0 {
		return nil
	}
	return t.store.commit(t)
}

// Rollback ends the transaction without its writes. After Commit it does nothing.
func (t *Tx) Rollback() {
	if t.ended {
		return
	}
	t.ended = true
	t.store.giveBack(t.Base, t.epoch)
	if t.writable {
		t.store.writer.Unlock()
	}
}
