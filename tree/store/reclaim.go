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
func (s *Store) Reclaim(budget int, stop func() bool) (more bool, err error) {
	if err := s.retryAborts(); err != nil {
		return false, err
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
		return r.deletePrefix(kv.Blobs, idKey(id))
	case reclaimIndex:
		return r.deletePrefix(kv.Index, binary.BigEndian.AppendUint32(nil, uint32(id)))
	}
	return false, fmt.Errorf("%w: unknown entry %q in the reclaim queue", ErrDamaged, kind)
}

func (r *reclaimer) container(id uint64) (done bool, err error) {
	c, err := r.tx.Indexes().catalogue()
	if err != nil {
		return false, err
	}
	for _, ix := range append([]definition{priorityIndex}, c.all...) {
		if done, err = r.deletePrefix(kv.Index, indexPrefix(ix.id, id)); err != nil || !done {
			return false, err
		}
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
	return r.deletePrefixed(kv.Rows, idKey(id), len(unlinked))
}

func (r *reclaimer) deletePrefix(b kv.Bucket, prefix []byte) (done bool, err error) {
	return r.deletePrefixed(b, prefix, r.limit())
}

// deletePrefixed deletes up to limit entries that begin with prefix. The keys
// are collected first: to delete while seeking makes bbolt walk over the pages
// that were emptied again and again.
func (r *reclaimer) deletePrefixed(b kv.Bucket, prefix []byte, limit int) (done bool, err error) {
	var keys [][]byte
	c := r.tx.kv.Cursor(b)
	k, _ := c.Seek(prefix)
	for ; hasPrefix(k, prefix) && len(keys) < limit; k, _ = c.Next() {
		keys = append(keys, bytes.Clone(k))
	}
	if err := c.Err(); err != nil {
		return false, err
	}
	done = !hasPrefix(k, prefix)
	for _, k := range keys {
		if err := r.tx.delete(b, k); err != nil {
			return false, err
		}
	}
	r.freed += len(keys)
	return done, nil
}

// ids frees what has ids of a range: the rows of its containers, its blobs and
// its index entries. What hangs on the rows is in a range of the same load.
func (f *reclaimer) ids(r idRange) (done bool, err error) {
	c, err := f.tx.Indexes().catalogue()
	if err != nil {
		return false, err
	}
	for _, ix := range append([]definition{priorityIndex}, c.all...) {
		done, err = f.deleteRange(kv.Index, indexPrefix(ix.id, r.from), indexPrefix(ix.id, r.to))
		if err != nil || !done {
			return false, err
		}
	}
	for _, b := range []kv.Bucket{kv.Rows, kv.Blobs, kv.Counts} {
		if done, err = f.deleteRange(b, idKey(r.from), idKey(r.to)); err != nil || !done {
			return false, err
		}
	}
	return true, nil
}

// deleteRange deletes entries from a key up to another, as many as the budget
// allows. See deletePrefixed.
func (f *reclaimer) deleteRange(b kv.Bucket, from, to []byte) (done bool, err error) {
	var keys [][]byte
	c := f.tx.kv.Cursor(b)
	k, _ := c.Seek(from)
	within := func() bool { return k != nil && bytes.Compare(k, to) < 0 }
	for limit := f.limit(); within() && len(keys) < limit; k, _ = c.Next() {
		keys = append(keys, bytes.Clone(k))
	}
	if err := c.Err(); err != nil {
		return false, err
	}
	done = !within()
	for _, k := range keys {
		if err := f.tx.delete(b, k); err != nil {
			return false, err
		}
	}
	f.freed += len(keys)
	return done, nil
}
