package store

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// TakeWork reports whether transactions that were committed since it was last
// called left something to Reclaim or Build, or one of these has to try again.
func (s *Store) TakeWork() bool { return s.work.Swap(false) || s.aborted.some() }

// reclaimAtOnce is how many rows are freed before it is asked whether to stop.
const reclaimAtOnce = 32

// Reclaim frees about budget rows of what was unlinked, in a transaction of its
// own, and reports whether there is more to free. Call it when there is nothing
// better to do. It asks stop, unless that is nil, now and then whether something
// better has come up, and then ends with what it has.
//
// To unlink is constant work for the writer, and to free is not. So it is done in the
// background, in transactions of a bounded number of rows: a deletion of a large subtree
// in one transaction would delay all writes for as long as it takes.
//
// With a log, Reclaim has nothing to do here: the log frees what is unlinked while it
// applies commits to the file.
func (s *Store) Reclaim(budget int, stop func() bool) (more bool, err error) {
	if err := s.retryAborts(); err != nil {
		return false, err
	}
	if s.logged != nil {
		return false, nil // see reclaimApplied
	}
	tx, err := s.Begin(true)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	r := reclaimer{tx: tx, budget: budget, stop: stop}
	if err := r.run(); err != nil || r.freed == 0 {
		return false, err
	}
	next, err := r.first()
	if err != nil {
		return false, err
	}
	return next != nil, tx.Commit()
}

// Rows that are freed for each entry that is applied, and in addition. Together they are
// more than the entries of a file can become, so that it does not grow by what is replaced.
const (
	reclaimPerEntry = 2
	reclaimRows     = 2048
)

// reclaimApplied frees rows in a transaction of the file itself, when something is applied
// to it or nothing is. An entry of the queue in the file is reachable in no state that
// comes later, and no commit that is only in the log writes to it: the queue gets what commits
// unlink in the transaction that has the last of all they write. To free through the log
// would write everything twice, and each look at the queue would walk over what it has
// freed since the last time that something was applied.
func (s *Store) reclaimApplied(k kv.Tx, entries int) (more bool, err error) {
	tx := &Tx{store: s, kv: k, cache: newWriteCache()}
	if tx.state, err = readState(k); err != nil {
		return false, err
	}
	r := reclaimer{tx: tx, budget: reclaimRows + reclaimPerEntry*entries}
	if err := r.run(); err != nil || r.freed == 0 {
		return false, err
	}
	if err := countsOf(tx).write(); err != nil {
		return false, err
	}
	next, err := r.first()
	return next != nil, err
}

// An entry leaves the queue in the transaction that frees the last of what hangs on it. Until
// then each transaction begins with the same entry, and finds by seeking what is still there.
// So it needs no record of its progress, and a crash costs nothing.
type reclaimer struct {
	tx     *Tx
	budget int
	freed  int
	stop   func() bool
}

// limit returns how many rows may be freed before the next look at the budget.
func (r *reclaimer) limit() int {
	left := max(r.budget-r.freed, 0)
	if r.stop != nil {
		return min(left, reclaimAtOnce)
	}
	return left
}

// first returns the first key of the queue, nil if it is empty.
func (r *reclaimer) first() (key []byte, err error) {
	c := r.tx.kv.Cursor(kv.Reclaim)
	k, _ := c.Seek(nil)
	return bytes.Clone(k), c.Err()
}

func (r *reclaimer) run() error {
	for r.freed < r.budget && (r.freed == 0 || r.stop == nil || !r.stop()) {
		k, err := r.first()
		if k == nil || err != nil {
			return err
		}
		done, err := r.entry(k)
		if err != nil {
			return err
		}
		if done {
			r.freed++
			if err := r.tx.delete(kv.Reclaim, k); err != nil {
				return err
			}
		}
	}
	return nil
}

// entry works on one entry of the queue and reports whether nothing is left of
// it.
func (r *reclaimer) entry(k []byte) (done bool, err error) {
	if ids, ok := decodeRange(k[1:]); ok && k[0] == reclaimRange {
		return r.ids(ids)
	}
	if len(k) != 9 {
		return false, fmt.Errorf("%w: unreadable reclaim queue", ErrDamaged)
	}
	return r.free(k[0], binary.BigEndian.Uint64(k[1:]))
}

// free is entry for one container, blob or index.
func (r *reclaimer) free(kind byte, id uint64) (done bool, err error) {
	switch kind {
	case reclaimContainer:
		return r.container(id)
	case reclaimBlob:
		return r.deleteRange(kv.Blobs, idKey(id), idKey(id+1), r.limit())
	case reclaimIndex:
		return r.deleteRange(kv.Index, indexPrefix(uint32(id), 0), indexPrefix(uint32(id)+1, 0), r.limit())
	}
	return false, fmt.Errorf("%w: unknown entry %q in the reclaim queue", ErrDamaged, kind)
}

// The container or blob of a child joins the queue in the transaction that deletes the row of
// the child. So at each commit a row or the queue refers to it.
func (r *reclaimer) container(id uint64) (done bool, err error) {
	if done, err = r.entries(id, id+1); err != nil || !done {
		return false, err
	}
	countsOf(r.tx).set(id, 0)
	var unlinked []row
	for child, err := range r.tx.children(id) {
		if err != nil {
			return false, err
		}
		if len(unlinked) > r.limit() {
			break
		}
		unlinked = append(unlinked, child.row)
	}
	for _, row := range unlinked {
		if err := edits(r.tx).discard(row); err != nil {
			return false, err
		}
	}
	return r.deleteRange(kv.Rows, idKey(id), idKey(id+1), len(unlinked))
}

// entries frees the index entries of the containers with ids from one up to another.
func (r *reclaimer) entries(from, to uint64) (done bool, err error) {
	c, err := r.tx.Indexes().catalogue()
	if err != nil {
		return false, err
	}
	for _, ix := range append([]definition{priorityIndex}, c.all...) {
		done, err = r.deleteRange(kv.Index, indexPrefix(ix.id, from), indexPrefix(ix.id, to), r.limit())
		if err != nil || !done {
			return false, err
		}
	}
	return true, nil
}

// deleteRange deletes up to limit entries from a key up to another.
func (r *reclaimer) deleteRange(b kv.Bucket, from, to []byte, limit int) (done bool, err error) {
	n, done, err := edits(r.tx).deleteRange(b, from, to, limit)
	r.freed += n
	return done, err
}

// deleteRange deletes up to limit entries from a key up to another, which is not deleted
// itself; nil is the end of the bucket. It reports how many and whether none is left. The keys are collected first: to
// delete while seeking makes bbolt walk over the pages that were emptied again and again.
func (e editor) deleteRange(b kv.Bucket, from, to []byte, limit int) (n int, done bool, err error) {
	var keys [][]byte
	c := e.tx.kv.Cursor(b)
	k, _ := c.Seek(from)
	within := func() bool { return k != nil && (to == nil || bytes.Compare(k, to) < 0) }
	for ; within() && len(keys) < limit; k, _ = c.Next() {
		keys = append(keys, bytes.Clone(k))
	}
	if err := c.Err(); err != nil {
		return 0, false, err
	}
	done = !within()
	for _, k := range keys {
		if err := e.tx.delete(b, k); err != nil {
			return 0, false, err
		}
	}
	return len(keys), done, nil
}

// ids frees what has ids of a range: the rows of its containers, its blobs and
// its index entries. What hangs on the rows is in a range of the same load.
func (r *reclaimer) ids(of idRange) (done bool, err error) {
	if done, err = r.entries(of.from, of.to); err != nil || !done {
		return false, err
	}
	for _, b := range []kv.Bucket{kv.Rows, kv.Blobs, kv.Counts} {
		if done, err = r.deleteRange(b, idKey(of.from), idKey(of.to), r.limit()); err != nil || !done {
			return false, err
		}
	}
	return true, nil
}
