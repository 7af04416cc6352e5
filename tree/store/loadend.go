package store

import (
	"fmt"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// The functions in this file take back loads that were not linked.

// Abort ends a load that was not linked and leaves what it stored to the
// reclaimer. After Link, or twice, it does nothing. If it fails, as on a full
// disk, Reclaim tries again.
func (l *Load) Abort() error { return l.AbortBy(l.update) }

// AbortBy is Abort whose step is carried out by update, as in [LoadOptions].
func (l *Load) AbortBy(update func(step func(*Tx) error) error) error {
	l.read = false
	err := update(func(tx *Tx) error { return endLoad(tx, l.key) })
	if err != nil {
		l.store.aborted.add(l.key)
	}
	return err
}

// endLoad moves a load to the reclaim queue, if it is on record.
func endLoad(tx *Tx, key []byte) error {
	v, err := tx.get(kv.Meta, key)
	if v == nil || err != nil {
		return err
	}
	ids, ok := decodeRanges(v)
	if !ok {
		return errLoadRecord
	}
	return leaveLoad(tx, key, ids)
}

var errLoadRecord = fmt.Errorf("%w: unreadable record of a load", ErrDamaged)

// retryAborts ends the loads whose Abort failed.
func (s *Store) retryAborts() error {
	keys := s.aborted.take()
	for i, key := range keys {
		if err := s.Update(func(tx *Tx) error { return endLoad(tx, key) }); err != nil {
			for _, key := range keys[i:] {
				s.aborted.add(key)
			}
			return err
		}
	}
	return nil
}

// leaveLoad moves a load from its record to the reclaim queue. The ids go as
// ranges, not one by one: what hangs on them is found by the ids themselves, so
// rows that were stored and never linked are freed without following any
// reference.
func leaveLoad(tx *Tx, key []byte, ids []idRange) error {
	tx.work = true
	for _, r := range ids {
		if err := tx.put(kv.Reclaim, r.reclaimKey(), nil); err != nil {
			return err
		}
	}
	return tx.delete(kv.Meta, key)
}

// leaveLoads does so for all loads: when a file is opened, nobody works on them.
func leaveLoads(tx *Tx) error {
	found, err := loadRecords(tx)
	if err != nil {
		return err
	}
	for _, f := range found {
		if err := leaveLoad(tx, f.key, f.ids); err != nil {
			return err
		}
	}
	return nil
}

// A loadRecord is what bucket m says about a load.
type loadRecord struct {
	key []byte
	ids []idRange
}

// loadRecords returns the records of all loads that are not linked.
func loadRecords(tx *Tx) (found []loadRecord, err error) {
	c := tx.kv.Cursor(kv.Meta)
	for k, v := c.Seek(loadPrefix); hasPrefix(k, loadPrefix); k, v = c.Next() {
		ids, ok := decodeRanges(v)
		if !ok {
			return nil, errLoadRecord
		}
		found = append(found, loadRecord{append([]byte(nil), k...), ids})
	}
	return found, c.Err()
}
