package store

import (
	"fmt"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// The functions in this file take back loads that were not linked.

// Abort ends a load that was not linked and leaves what it stored to the
// reclaimer. After Link, or twice, it does nothing. If it fails, as on a full
// disk, Reclaim tries again.
func (l *Load) Abort() error {
	l.read = false
	err := l.update(func(tx *Tx) error { return loadsOf(tx).end(l.key) })
	if err != nil {
		l.store.aborted.add(l.key)
	}
	return err
}

// end moves a load to the reclaim queue, if it is on record.
func (lr loadRecords) end(key []byte) error {
	v, err := lr.tx.get(kv.Meta, key)
	if v == nil || err != nil {
		return err
	}
	ids, ok := decodeRanges(v)
	if !ok {
		return errLoadRecord
	}
	return lr.leave(key, ids)
}

var errLoadRecord = fmt.Errorf("%w: unreadable record of a load", ErrDamaged)

// retryAborts ends the loads whose Abort failed.
func (s *Store) retryAborts() error {
	keys := s.aborted.take()
	for i, key := range keys {
		if err := s.Update(func(tx *Tx) error { return loadsOf(tx).end(key) }); err != nil {
			for _, key := range keys[i:] {
				s.aborted.add(key)
			}
			return err
		}
	}
	return nil
}

// leave moves a load from its record to the reclaim queue.
func (lr loadRecords) leave(key []byte, ids []idRange) error {
	lr.tx.work = true
	for _, r := range ids {
		if err := lr.tx.put(kv.Reclaim, r.reclaimKey(), nil); err != nil {
			return err
		}
	}
	return lr.tx.delete(kv.Meta, key)
}

// leaveAll does so for all loads: when a file is opened, nobody works on them.
func (lr loadRecords) leaveAll() error {
	found, err := lr.all()
	if err != nil {
		return err
	}
	for _, f := range found {
		if err := lr.leave(f.key, f.ids); err != nil {
			return err
		}
	}
	return nil
}

// loadRecords are the records of the loads that are not linked.
type loadRecords struct{ tx *Tx }

func loadsOf(tx *Tx) loadRecords { return loadRecords{tx} }

// A loadRecord is what bucket m says about a load.
type loadRecord struct {
	key []byte
	ids []idRange
}

func (lr loadRecords) all() (found []loadRecord, err error) {
	c := lr.tx.kv.Cursor(kv.Meta)
	for k, v := c.Seek(loadPrefix); hasPrefix(k, loadPrefix); k, v = c.Next() {
		ids, ok := decodeRanges(v)
		if !ok {
			return nil, errLoadRecord
		}
		found = append(found, loadRecord{append([]byte(nil), k...), ids})
	}
	return found, c.Err()
}
