package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/entry"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// ErrTooBig is returned by a read that exceeds the limit it was given.
var ErrTooBig = errors.New("node exceeds the size limit")

// A Tx is a transaction: one consistent state, and what it writes on top. It
// belongs to one goroutine. Errors of a write leave it unusable: roll back.
//
// There are four kinds. A read transaction has a snapshot of the pool and an
// epoch. A write transaction has the write cache and no epoch. A draft
// ([Store.Draft]) has a snapshot below it, writes to memory, and cannot be
// committed. The transaction of reclaimApplied goes to the file below the log
// and sees nothing of the log. Code that depends on the kind asks for the
// field, not for a flag: epoch in Rollback, cache in childCounts, snapshot in
// Rollback.
//
// Writing invalidates every cursor of the transaction and what Get returned. So
// functions that walk and write collect what they found first (builder.found,
// deleteRange), and keys that must outlive a write are cloned.
type Tx struct {
	store *Store
	kv    kv.Tx       // nil for a read transaction that has ended
	epoch uint64      // of its snapshot; 0 for a write transaction
	cache *writeCache // of a write transaction or draft that has not ended, else nil
	state state       // written back at commit
	dirty bool        // state has changed
	known *catalogue  // as of this state; nil until asked for
	key   []byte      // of the last rowAt

	work  bool // it left something to Reclaim or Build
	stats Stats

	// Interrupt, if set, is asked now and then during long reads; an error ends
	// them.
	Interrupt func() error

	// Looked is what the filters of several reads spend together; nil: each read has a bound of its own
	// (tree.MaxLooked).
	Looked *tree.Looks

	// Hold, if set, is asked now and then while a read takes much memory, and before it
	// takes the memory of a large value: with all bytes that are held so far and then.
	// An error ends the read.
	Hold func(total int64) error

	// NoteKept, if set, gets the changes of the rows of declared data, for the log.
	NoteKept func(*entry.Kept)

	holds, asked int64 // bytes, for Hold
	brief        int   // rows and index entries read, from where on a read takes long; 0: no bound

	snapshot *Tx // that a draft writes in front of; nil: it is no draft, or has ended
}

// Stats counts what a transaction touched. Tests hold operations to these
// numbers, and explanations print them; they are the only measure of cost that
// does not depend on the machine.
type Stats struct {
	Read    int // rows and index entries read
	Visited int // children and index entries that cursors came by
	Written int // rows and index entries put or deleted
	Entries int // index entries among them
	Long    int // bytes of long strings that were read
}

// Stats returns what the transaction touched so far.
func (tx *Tx) Stats() Stats { return tx.stats }

var _ tree.Reader = (*Tx)(nil)

// Revision returns the revision of the state: the number of changes committed
// since the database was created.
func (tx *Tx) Revision() uint64 { return tx.state.revision }

// SetRevision stores the revision of the last change made in this transaction.
func (tx *Tx) SetRevision(r uint64) {
	tx.state.revision = r
	tx.dirty = true
}

func (tx *Tx) get(b kv.Bucket, key []byte) ([]byte, error) {
	tx.stats.Read++
	return tx.kv.Get(b, key)
}

// wrote notes that something is put or deleted.
func (tx *Tx) wrote(b kv.Bucket, key []byte) {
	tx.stats.Written++
	if b == kv.Index {
		tx.stats.Entries++
	}
	tx.cache.forget(b, key)
}

func (tx *Tx) put(b kv.Bucket, key, value []byte) error {
	tx.wrote(b, key)
	return tx.kv.Put(b, key, value)
}

// putRow puts a row.
func (tx *Tx) putRow(key []byte, r row) error {
	return tx.put(kv.Rows, key, tx.cache.encode(r))
}

func (tx *Tx) delete(b kv.Bucket, key []byte) error {
	tx.wrote(b, key)
	return tx.kv.Delete(b, key)
}

// A brief read takes less than about a millisecond. The caller bounds its text by
// BriefBytes. BriefBytes bounds the text of such a read, briefRows its rows and index
// entries, and briefLooked the looks of its filter. They are far above a usual small read and far below what would keep a
// processor busy: a read that exceeds one of them fails with ErrLong and begins again in
// the queue for large reads.
const (
	BriefBytes  = 64 << 10
	briefRows   = 512
	briefLooked = 64 << 10
)

// Brief makes reads end with ErrLong, from now on, if they are not brief, or no more.
func (tx *Tx) Brief(on bool) {
	if tx.brief = 0; on {
		tx.brief = tx.stats.Read + briefRows
	}
}

// tick counts a step of a cursor and asks Interrupt.
func (tx *Tx) tick() error {
	tx.stats.Read++
	if tx.brief > 0 && tx.stats.Read > tx.brief {
		return ErrLong
	}
	if tx.Interrupt != nil && tx.stats.Read%1024 == 0 {
		return tx.Interrupt()
	}
	return nil
}

func (tx *Tx) row(key []byte) (row, error) { return rowOf(tx, key, true) }

// rowOf returns a row. If it need not be whole, it may come without its priority.
//
// A long priority is held for what it is, since a row is read with each node. On the way to
// another row it costs no memory at all.
func rowOf(tx *Tx, key []byte, whole bool) (row, error) {
	if r, ok := tx.cache.row(key); ok && !(whole && r.cut) {
		return r, nil
	}
	v, err := tx.get(kv.Rows, key)
	if err == nil && whole && hasLongPriority(v) {
		tx.stats.Long += len(v)
		err = tx.hold(len(v))
	}
	if err != nil {
		return row{}, err
	}
	r, err := decodeRow(v, whole)
	tx.cache.learn(key, r)
	return r, err
}

// rowAt returns the row of a container's child.
func (tx *Tx) rowAt(container uint64, key string, whole bool) (row, error) {
	tx.key = appendRowKey(tx.key[:0], container, key)
	r, err := rowOf(tx, tx.key, whole)
	if err == nil {
		tx.cache.remember(tx.key, r)
	}
	return r, err
}

func (tx *Tx) newID() uint64 {
	id := tx.state.nextID
	tx.state.nextID++
	tx.dirty = true
	return id
}

// find follows p as far as rows go. It returns the last row on the way, absent
// if the way ends, and what is left of the path inside it. Below a packed row
// the path goes on inside the text, and below a blob it leads to nothing:
// callers have to tell the two apart by the row's tag. The row is whole if
// nothing is left of the path.
func (tx *Tx) find(p tree.Path) (row, tree.Path, error) { return found(tx, p, true) }

// found is find for those that may need no priority.
func found(tx *Tx, p tree.Path, whole bool) (row, tree.Path, error) {
	r, err := rowOf(tx, rootKey, whole && p.IsRoot())
	if err != nil {
		return r, p, err
	}
	return tx.follow(r, p, whole)
}

// follow is found from a row on.
func (tx *Tx) follow(r row, p tree.Path, whole bool) (row, tree.Path, error) {
	var err error
	for err == nil && r.tag == tagContainer {
		key, rest, ok := p.Cut()
		if !ok {
			break
		}
		p = rest
		r, err = tx.rowAt(r.id, key, whole && p.IsRoot())
	}
	return r, p, err
}

// state is what the store counts; one row of bucket m.
//
// A transaction reads the row when it begins and writes it once, when it
// commits, and only if something of it changed. Ids are taken from nextID by
// the writer and by loads, which reserve ranges. An id of a commit is never
// given again, also not one that a load reserved and did not use: otherwise old
// rows, which wait to be reclaimed, could become part of a new container.
type state struct {
	revision  uint64
	nextID    uint64 // of containers and blobs
	nextIndex uint32 // id of declared indexes
	catalogue uint32 // changes with the declared indexes
}

var stateKey = []byte("state")

func (s state) encode() []byte {
	b := binary.BigEndian.AppendUint64(nil, s.revision)
	b = binary.BigEndian.AppendUint64(b, s.nextID)
	b = binary.BigEndian.AppendUint32(b, s.nextIndex)
	return binary.BigEndian.AppendUint32(b, s.catalogue)
}

func decodeState(b []byte) (state, error) {
	if len(b) != 24 {
		return state{}, fmt.Errorf("%w: unreadable state", ErrDamaged)
	}
	be := binary.BigEndian
	return state{be.Uint64(b), be.Uint64(b[8:]), be.Uint32(b[16:]), be.Uint32(b[20:])}, nil
}

// largeValue is from where on a read asks for the memory that it takes, and a value is
// measured before it is read: to let its text grow would take twice the memory.
const largeValue = 1 << 20

// hold notes that n more bytes are about to be held by what the transaction reads, and
// asks Hold in steps of largeValue. What is read without Hold does not count.
//
// Steps of largeValue keep small reads away from the share of the client, which has a
// lock. For a large value it is asked before the memory is allocated, because a check
// that comes later could not prevent anything.
func (tx *Tx) hold(n int) error {
	if tx.brief > 0 && n > BriefBytes {
		return ErrLong
	}
	if tx.Hold == nil {
		return nil
	}
	if tx.holds += int64(n); tx.holds < tx.asked+largeValue {
		return nil
	}
	tx.asked = tx.holds
	return tx.Hold(tx.holds)
}
