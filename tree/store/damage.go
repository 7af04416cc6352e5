package store

import (
	"bytes"
	"errors"
	"sync/atomic"
)

// A damageCount counts damaged entries that were come by.
type damageCount struct {
	found atomic.Uint64
}

// Damaged returns how often something read an entry that is damaged, since the store
// was opened. Each was an error for its reader.
func (s *Store) Damaged() uint64 { return s.damage.found.Load() }

func (s *Store) noteDamage(err error) {
	s.damage.found.Add(1)
	if s.options.OnDamage != nil {
		s.options.OnDamage(err)
	}
}

// openJournal measures the journal. If it is damaged it is dropped, as one that was
// trimmed: it only repeats what the rows say, and should not keep a database closed.
func (tx *Tx) openJournal() (size journalSize, err error) {
	size, err = tx.measureJournal()
	t, ok := fileOf(tx.kv)
	if !ok || !errors.Is(err, ErrDamaged) {
		return size, err
	}
	keys, err := t.keys(bucketJournal)
	if err != nil {
		return journalSize{}, err
	}
	for _, k := range keys {
		if err := t.delete(bucketJournal, k); err != nil {
			return journalSize{}, err
		}
	}
	return journalSize{}, nil
}

// keys returns all keys of a bucket, of damaged entries too.
func (t *sumTx) keys(b bucket) (keys [][]byte, err error) {
	defer t.guard(b, nil, mayFault(), &err)
	c := t.boltTx.cursor(b)
	for k, _ := c.seek(nil); k != nil; k, _ = c.next() {
		keys = append(keys, bytes.Clone(k))
	}
	return keys, nil
}
